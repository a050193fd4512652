"""What a newcomer with only the README ran into."""

from __future__ import annotations

import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.session.world import is_running, wait_for
from tests.trusting import trust_settings

pytestmark = pytest.mark.usefixtures("repository")


def test_an_id_of_another_note_is_a_conflict(holdfast: Holdfast) -> None:
    holdfast("note", "one", "--id", "k")
    answer = holdfast("note", "two", "--id", "k", "--to", "other", "--json")
    assert answer.code == 5
    assert answer.envelope["error"]["kind"] == "id_taken"
    assert "two" in str(holdfast("doctor", "--json").data["refused"])


def test_an_empty_note_or_id_is_no_note(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    assert holdfast("note", "").code == 2
    assert holdfast("note", "two", "--id", "").code == 2


def test_doctor_survives_a_journal_with_damaged_pages(holdfast: Holdfast) -> None:
    for number in range(40):
        holdfast("note", "x" * 2000, "--to", f"n{number}")
    holdfast("gc")
    with Path(".git/holdfast/journal.db").open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(3000))
    answer = holdfast("doctor")
    assert answer.code == 1
    assert "damaged" in answer.out


@pytest.mark.parametrize("name", ["", " ", ".", "./"])
def test_a_scope_is_never_the_whole_tree(holdfast: Holdfast, git: Git, name: str) -> None:
    Path("README.md").write_text("changed")
    assert holdfast("checkpoint", "--file", name).code == 2
    assert git("status", "--porcelain").split() == ["M", "README.md"]


@pytest.mark.parametrize("name", ["", ".", "./", "x/.."])
def test_nor_when_the_engines_file_says_so(holdfast: Holdfast, git: Git, name: str) -> None:
    Path("README.md").write_text("changed")
    Path(".ccc-state.json").write_text(f'{{"activeTaskFiles": ["{name}"]}}')
    answer = holdfast("checkpoint", "--json")
    assert answer.data["steps"][1]["status"] == "skipped"
    assert " M README.md" in git("status", "--porcelain")


@pytest.mark.parametrize("rule", ["", ".*", "a?"])
def test_a_rule_that_matches_everything_is_refused(holdfast: Holdfast, rule: str) -> None:
    Path("holdfast.toml").write_text(f"[redact.rules]\na = '{rule}'\n")
    answer = holdfast("note", "x", "--json")
    assert answer.envelope["error"]["kind"] == "bad_config"
    assert "matches everything" in holdfast("status").out


def test_a_greedy_rule_leaves_the_fields_of_records_alone(holdfast: Holdfast) -> None:
    Path("holdfast.toml").write_text("[redact.rules]\na = '[a-z]'\n")
    trust_settings()
    assert holdfast("note", "secret words").code == 0
    assert holdfast("verify").code == 0


def test_a_linked_settings_file_stays_a_link(holdfast: Holdfast, tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text('{"mine": true}')
    real.chmod(0o644)
    Path(".claude").mkdir()
    Path(".claude/settings.local.json").symlink_to(real)
    holdfast("init", "--client", "claude")
    holdfast("uninstall")
    assert Path(".claude/settings.local.json").is_symlink()
    assert real.read_text() == '{"mine": true}'
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_a_copy_into_a_folder_that_is_not_there(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    answer = holdfast("backup", "nowhere/copy.db")
    assert answer.code == 3
    assert "There is no folder" in answer.err


def test_a_text_that_is_no_utf8_is_refused(
    holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9")))
    assert holdfast("note", "-").code == 2


def test_a_closed_standard_output_is_no_bug() -> None:
    command = f"{sys.executable} -m holdfast note closed >&-"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0


def test_a_full_standard_output_does_not_ask_for_a_second_note(holdfast: Holdfast) -> None:
    command = f"{sys.executable} -m holdfast note once >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "What was asked for is done" in done.stderr
    assert holdfast("note").out.count("once") == 1


def test_a_purge_drops_the_snapshots_that_hold_the_secret(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("plan.txt").write_text("harmless")
    holdfast("snapshot", "create")
    holdfast("note", "the word is swordfish99")
    holdfast("checkpoint", "--task", "say swordfish99")
    monkeypatch.setattr(sys, "stdin", io.StringIO("swordfish99"))
    answer = holdfast("purge", "--matching", "--yes", "--json")
    assert len(answer.data["snapshots"]) == 1
    (kept,) = git("for-each-ref", "--format=%(refname)", "refs/holdfast").split()
    found = subprocess.run(["git", "grep", "-q", "swordfish99", kept], check=False)
    assert found.returncode == 1


def test_a_purge_of_several_lines_leaves_other_snapshots_alone(
    holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of the secret may be empty, or stand in every file."""
    Path("plan.txt").write_text("first line\n\nharmless\n")
    holdfast("snapshot", "create")
    Path("plan.txt").write_text("first line\n\nswordfish99\n")
    holdfast("snapshot", "create")
    holdfast("note", "so that there is a journal")
    monkeypatch.setattr(sys, "stdin", io.StringIO("first line\n\nswordfish99"))
    answer = holdfast("purge", "--matching", "--yes", "--json")
    assert len(answer.data["snapshots"]) == 1
    assert len(git("for-each-ref", "refs/holdfast").splitlines()) == 1


def test_a_claim_that_does_not_hold_is_said(holdfast: Holdfast) -> None:
    answer = holdfast("checkpoint", "--claim", "it is there", "file:nowhere.txt")
    assert "Unverified: it is there (nowhere.txt does not exist)" in answer.out


def test_a_note_whose_file_was_removed_says_how_to_get_it_back(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    Path(".notes/default.md").unlink()
    answer = holdfast("note", "two")
    assert "was removed and stays so" in answer.err
    command = answer.err.split("`")[1].split()[1:]
    assert "Would write again" in holdfast(*command, "--dry-run").out
    holdfast(*command)
    assert "two" in Path(".notes/default.md").read_text()


def test_interrupting_a_checkpoint_ends_its_probe(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    program = tmp_path / "probe"
    program.write_text(f"#!/bin/sh\necho $$ >{begun}.new\nmv {begun}.new {begun}\nexec sleep 60\n")
    program.chmod(0o755)
    waiting = warm.start(
        [sys.executable, "-m", "holdfast", "checkpoint", "--claim", "slow", f"run:{program}"],
        stderr=warm.PIPE,
        text=True,
    )
    wait_for(begun.exists)
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    assert said.startswith("Interrupted in the probe `")
    assert said.endswith("`: nothing was saved, and the probe was ended.\n")
    assert not Path(".ccc-progress.md").exists()
    wait_for(lambda: not is_running(int(begun.read_text())))


@pytest.mark.parametrize(
    "words",
    [
        ("The server is misused",),
        ("The", "server", "is misused"),
        ("--reason", "The server is misused"),
    ],
)
def test_a_stop_takes_its_reason_as_it_is_typed(holdfast: Holdfast, words: tuple[str, ...]) -> None:
    answer = holdfast("estop", *words, "--json")
    assert (answer.code, answer.data["reason"]) == (0, "The server is misused")
    assert "The server is misused" in holdfast("status").out
