"""`holdfast doctor`: each thing that can go wrong is found, explained, and fixed where it can be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw
import pytest

import holdfast as library
from holdfast.kernel import clock, failures, filesystem, inbox, latch
from holdfast.kernel.errors import FenceLost
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast
from tests.dying import die_at

pytestmark = pytest.mark.usefixtures("repository")


def check(holdfast: Holdfast, id: str, *options: str) -> dict[str, Any]:
    answer = holdfast("doctor", "--json", *options)
    (found,) = [one for one in answer.data["checks"] if one["id"] == id]
    assert isinstance(found, dict)
    return found


def test_all_is_well_in_a_fresh_workspace(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    answer = holdfast("doctor")
    assert answer.code == 0
    assert answer.out.endswith("All is well.\n")


def test_before_anything_was_written(holdfast: Holdfast) -> None:
    assert holdfast("doctor").code == 0


def test_every_finding_says_what_why_and_what_to_do(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    Path(".notes/default.md").write_text("not a note")
    holdfast("note", "two")
    found = check(holdfast, "quarantine")
    assert found["status"] == "warning"
    assert "1 file in" in found["what"]
    assert found["why"]
    assert found["fix"]


def test_an_sqlite_with_the_known_race_is_a_problem(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    assert check(holdfast, "sqlite")["status"] == "problem"
    assert holdfast("doctor").code == 1


@pytest.mark.parametrize(("kind", "status"), [("nfs4", "problem"), ("virtiofs", "warning")])
def test_a_shared_file_system_is_named(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, kind: str, status: str
) -> None:
    monkeypatch.setattr(filesystem, "kind_of", lambda *_: kind)
    assert check(holdfast, "filesystem")["status"] == status


def test_a_journal_on_a_network_file_system_is_not_made(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "kind_of", lambda *_: "9p")
    answer = holdfast("note", "one", "--json")
    assert answer.code == 1
    assert answer.envelope["error"]["kind"] == "unsafe_filesystem"
    assert "HOLDFAST_HOME" in answer.envelope["error"]["hint"]


def test_settings_that_cannot_be_read(holdfast: Holdfast) -> None:
    Path("holdfast.toml").write_text("[retention]\ndasy = 3\n")
    found = check(holdfast, "settings")
    assert found["status"] == "problem"
    assert "retention.days" in found["fix"]


def test_a_view_that_a_crash_kept_back_is_brought_up_to_date(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    die_at("before projection", "note", "two")
    assert "two" not in Path(".notes/default.md").read_text()
    assert check(holdfast, "views")["status"] == "warning"
    assert check(holdfast, "views", "--fix")["fixed"] == "1 of 1 brought up to date"
    assert "two" in Path(".notes/default.md").read_text()


def test_what_sandboxed_agents_left_is_taken_in(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    command = {"add": "from the sandbox", "by": "codex"}
    inbox.put(
        discover(),
        {
            "id": "queued-1",
            "stream": "note:default",
            "command": command,
            "actor": "codex",
            "fence": None,
            "at": clock.precise(clock.now()),
        },
    )
    assert "wait" in holdfast("status").out
    assert check(holdfast, "inbox")["status"] == "warning"
    assert check(holdfast, "inbox", "--fix")["fixed"] == "1 taken in"
    assert "from the sandbox" in holdfast("note").out


def test_what_a_zombie_tried_is_kept_and_shown(holdfast: Holdfast) -> None:
    with library.open() as workspace:
        workspace.note("one")
    writer = open_writer(discover())
    command = {"add": "too late", "by": "zombie"}
    with pytest.raises(FenceLost):
        writer.execute("note:default", command, actor="zombie", now=0, fence=99)
    assert check(holdfast, "refused")["status"] == "warning"
    (refused,) = holdfast("doctor", "--json").data["refused"]
    assert refused["drafts"][0]["body"]["text"] == "too late"


def test_failed_hooks_are_named_until_somebody_took_note(holdfast: Holdfast) -> None:
    failures.note(discover(), "claude Stop", "the disk was full", 0)
    assert "the disk was full" in check(holdfast, "hooks")["what"]
    assert check(holdfast, "hooks", "--fix")["fixed"] == "1 taken note of"
    assert check(holdfast, "hooks")["status"] == "ok"


def test_a_stop_is_named(holdfast: Holdfast) -> None:
    latch.engage(discover(), "enough", by="somebody", now=0)
    assert check(holdfast, "latch")["what"] == "Stopped: enough"


def test_an_ignore_file_that_went_missing_is_written_again(holdfast: Holdfast) -> None:
    discover().prepare_tool_folder()
    Path(".holdfast/.gitignore").unlink()
    assert check(holdfast, "ignored")["status"] == "warning"
    check(holdfast, "ignored", "--fix")
    assert Path(".holdfast/.gitignore").read_text() == "*\n"


def test_old_leftovers_are_found_and_removed(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    Path(discover().prepare_tool_folder("views"))
    earlier = Path(".holdfast/views/0123456789abcdef.123")  # as earlier versions staged
    for left in (earlier, Path(".notes/.default.md.holdfast.123")):
        left.write_text("staged, never committed")
        assert check(holdfast, "leftovers")["status"] == "ok", "it may be somebody's work right now"
        os.utime(left, (0, 0))
        assert check(holdfast, "leftovers")["status"] == "warning"
        assert check(holdfast, "leftovers", "--fix")["fixed"] == "1 removed"
        assert not left.exists()


def test_who_holds_the_lock_is_named(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    with discover().lock():
        assert f"Process {os.getpid()} holds" in check(holdfast, "lock")["what"]
    assert check(holdfast, "lock")["status"] == "ok"
