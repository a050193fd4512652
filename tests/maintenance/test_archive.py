"""An archive of a repository with its `.git` folder, and a journal of a stranger in that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.hooks.run import respond_to
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.session import world
from tests.session.world import WORK, Holdfast
from tests.trackers.fake_linear import FakeLinear

holdfast = world.holdfast
linear_server, linear = world.linear_server, world.linear


@pytest.fixture
def archive(
    repository: Path,
    git: Git,
    holdfast: Holdfast,
    linear: FakeLinear,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The stranger's repository, unpacked: a claim that runs a command, a comment on an issue of theirs
    that waits to be sent, a program for git, and a file in the inbox. It is the current folder."""
    owned = tmp_path / "owned"
    with monkeypatch.context() as stranger:
        stranger.setenv("XDG_STATE_HOME", str(tmp_path / "state of the stranger"))
        stranger.setenv("LINEAR_API_URL", "http://127.0.0.1:9/")
        stranger.setenv("HOLDFAST_TRACKER_LINEAR_URL", "http://127.0.0.1:9/")
        claim = ("--claim", "it works", f"run:touch {owned}")
        done = holdfast("checkpoint", *WORK, "--decision", "of the stranger", *claim)
        assert done.code == 0, done.err
    owned.unlink()
    assert discover().journal.effects(kinds=["tracker"]), "the comment waits"
    assert linear.on("ENG-12") == []
    git("config", "core.fsmonitor", f"touch {owned}; false")
    git("config", "core.hooksPath", str(repository / "hooks"))
    (repository / "hooks").mkdir()
    for name in ("post-index-change", "post-commit", "pre-commit", "reference-transaction"):
        hook = repository / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {owned}\n")
        hook.chmod(0o755)
    mine = tmp_path / "unpacked"
    shutil.move(repository, mine)
    monkeypatch.chdir(mine)
    return mine


def test_entering_it_runs_nothing_and_sends_nothing(
    archive: Path, holdfast: Holdfast, linear: FakeLinear, tmp_path: Path
) -> None:
    for words in (
        *(["resume"], ["resume", "--recheck"], ["resume", "--list"], ["status"], ["note", "mine"]),
        *(["tracker", "sync"], ["checkpoint", "--task", "mine", "--issue", "MINE-1"]),
        *(["doctor"], ["doctor", "--fix"], ["history"], ["verify"], ["gate", "list"]),
        *(["snapshot", "create"], ["agent", "list"], ["guard", "check"]),
    ):
        answer = holdfast(*words)
        assert answer.code in (0, 1, 3, 8), (words, answer.err)
        assert not (tmp_path / "owned").exists(), words
    assert linear.on("ENG-12") == [], "no comment of the stranger is sent with my token"
    for event in ("SessionStart", "Stop", "SessionEnd"):
        payload = {"session_id": "s9", "cwd": str(archive), "hook_event_name": event}
        respond_to("claude", event, payload, may_leave=False)
        assert not (tmp_path / "owned").exists(), event


def test_the_doctor_says_where_the_journal_comes_from(
    archive: Path, repository: Path, holdfast: Holdfast
) -> None:
    said = " ".join(holdfast("doctor").out.split())
    assert f"The journal wrote its files in {repository}, and never here." in said
    assert "no checkpoint of yours was about ENG-12 here" in " ".join(
        holdfast("tracker", "sync").out.split()
    )


def test_a_comment_for_an_issue_of_mine_is_sent_later(
    repository: Path, holdfast: Holdfast, linear: FakeLinear, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same waiting comment in the clone that made it: the issue is known here."""
    with monkeypatch.context() as away:
        away.setenv("HOLDFAST_TRACKER_LINEAR_URL", "http://127.0.0.1:9/")
        assert holdfast("checkpoint", *WORK).code == 0
    assert linear.on("ENG-12") == []
    assert holdfast("tracker", "sync").code == 0
    assert len(linear.on("ENG-12")) == 1


def test_a_latch_of_the_archive_only_stops(
    archive: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    place = latch.places(discover())[0]
    Path(place).write_text(f"stopped by $(touch {tmp_path / 'owned'})\n")
    assert holdfast("status").code == 0
    assert not (tmp_path / "owned").exists()
