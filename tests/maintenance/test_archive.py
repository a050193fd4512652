"""An archive of a repository with its `.git` folder, and a journal of a stranger in that."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from holdfast.hooks.run import respond_to
from holdfast.kernel import latch
from holdfast.kernel.workspace import discover
from tests.conftest import Git
from tests.gates.person import does
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
        ["resume"],
        ["resume", "--recheck"],
        ["resume", "--list"],
        ["status"],
        ["note", "mine"],
        ["tracker", "sync"],
        ["checkpoint", "--task", "mine", "--issue", "MINE-1"],
        ["doctor"],
        ["doctor", "--fix"],
        ["history"],
        ["verify"],
        ["gate", "list"],
        ["snapshot", "create"],
        ["agent", "list"],
        ["guard", "check"],
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


def test_a_session_that_continues_the_strangers_does_not_comment_on_their_issue(
    archive: Path, holdfast: Holdfast, linear: FakeLinear
) -> None:
    assert "another clone of this repository" in holdfast("resume").err
    assert "ENG-12" in holdfast("resume", "--accept-foreign").out
    done = holdfast("checkpoint", "--task", "goes on")
    assert done.code == 0, done.err
    assert "if it is yours, give --issue ENG-12 once" in " ".join(done.out.split())
    for event in ("SessionStart", "Stop", "SessionEnd"):
        payload = {"session_id": "s9", "cwd": str(archive), "hook_event_name": event}
        respond_to("claude", event, payload, may_leave=False)
    assert holdfast("checkpoint", "--auto").code == 0
    assert holdfast("tracker", "sync").code in (0, 1)
    assert linear.on("ENG-12") == []
    assert holdfast("checkpoint", "--task", "goes on", "--issue", "ENG-12").code == 0
    assert len(linear.on("ENG-12")) == 1, "the user named it"
    assert holdfast("checkpoint", "--task", "still goes on").code == 0
    assert "still goes on" in linear.on("ENG-12")[0].body


QUESTION = ("gate", "decide", "Deploy?", "--option", "yes", "Yes", "p", "c", "--option", "no", "No")
ASKED = (*QUESTION, "p", "c", "--name", "deploy", "--context", "why")


@pytest.mark.matrix
@pytest.mark.parametrize("path_is_guessed", [False, True])
@pytest.mark.parametrize("number_is_removed", [False, True])
@pytest.mark.parametrize("is_set_up", [False, True])
def test_an_answer_in_the_strangers_journal_is_none_of_mine(
    path_is_guessed: bool,
    number_is_removed: bool,
    is_set_up: bool,
    repository: Path,
    holdfast: Holdfast,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as stranger:
        stranger.setenv("XDG_STATE_HOME", str(tmp_path / "state of the stranger"))
        assert (asked := holdfast(*ASKED)).code in (0, 8), asked.err
        assert does("gate", "answer", "deploy", "yes").code == 0
        assert holdfast("gate", "wait", "deploy", "--timeout", "0").code == 0
        if number_is_removed:
            journal = discover().file()
            journal.connection().execute("DELETE FROM meta WHERE key LIKE '%origin%'")
            journal.connection().execute("INSERT INTO meta VALUES ('origin:', '0')")
    if not path_is_guessed:
        shutil.move(repository, tmp_path / "unpacked")
        monkeypatch.chdir(tmp_path / "unpacked")
    assert holdfast("gate", "wait", "deploy", "--timeout", "0").code == 8
    if is_set_up:
        assert holdfast("init", "--client", "claude").code == 0
        assert holdfast("gate", "wait", "deploy", "--timeout", "0").code == 8
    assert "given in another place" in holdfast("gate", "show", "deploy").out
    again = holdfast(*ASKED, "--once", "--json")
    assert again.data["id"] == "deploy.2", "it is asked anew"
    assert holdfast("gate", "wait", "deploy", "--timeout", "0").code == 8
    assert does("gate", "answer", "deploy.2", "no").code == 0
    # The journal is another home's, too, in a container: what is answered after that counts there.
    shown = holdfast("gate", "show", "deploy.2").out
    assert "Answered by" in shown
    assert "does not count" not in shown
    (journal_word,) = holdfast("trust", "--show", "--json").data["settings"]
    assert (journal_word["name"], journal_word["trusted"]) == ("journal", False)
    assert does("trust").code == 0
    assert "does not count" not in holdfast("gate", "show", "deploy").out


def test_two_homes_share_a_repository(
    repository: Path, holdfast: Holdfast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container works in the repository of its host: its agent asks, and the person answers outside."""
    assert holdfast("note", "of the host").code == 0
    for name in ("deploy", "again"):
        with monkeypatch.context() as container:
            container.setenv("XDG_STATE_HOME", str(tmp_path / "state of the container"))
            assert holdfast(*ASKED, "--name", name).code in (0, 8)
        assert does("gate", "answer", name, "yes").code == 0
        with monkeypatch.context() as container:
            container.setenv("XDG_STATE_HOME", str(tmp_path / "state of the container"))
            assert holdfast("gate", "wait", name, "--timeout", "0").code == 0
        assert holdfast("gate", "wait", name, "--timeout", "0").code == 0
