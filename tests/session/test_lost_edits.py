"""What a resume says of edits that the work tree lost, before a checkpoint and after one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.after_turn import after_turn
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.session.checkpoint import checkpoint
from holdfast.session.resume import resume
from holdfast.session.world import MOST_FILES
from tests.clients.conformance.cases import put_session
from tests.conftest import Git
from tests.session import world
from tests.session.test_edits import commit, states
from tests.session.world import TRANSCRIPT as SESSION
from tests.session.world import Conversation, Holdfast

home, conversation = world.home, world.conversation

# Without a checkpoint


def agree(holdfast: Holdfast) -> list[str]:
    """The files that lack edits: `resume` names those that `edits` calls missing."""
    found = states(holdfast("edits", "--json").data)
    missing = [path for path, state in found.items() if state == "missing"]
    data = holdfast("resume", "--json").data
    told = [one["what"] for one in data["reasons"] if "undone or lost" in one["what"]]
    named = told[0].rpartition(": ")[2].split(", ") if told else []
    assert named == missing
    assert data["verdict"] == ("DRIFTED" if missing else "UNKNOWN")
    return missing


def test_a_commit_of_another_file_hides_no_lost_edit(
    repository: Path, home: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("words.py").write_text('def parse(line):\n    return line.split(" ")\n')
    commit(git, monkeypatch)
    put_session("codex", home, repository)
    Path("README.md").write_text("Words\n")
    git("add", "README.md")
    git("commit", "--quiet", "--message", "A colleague's")
    assert agree(holdfast) == ["words.py"]
    said = holdfast("resume").out
    assert said.startswith("Holdfast: DRIFTED. ")
    assert (
        "\n## What is not as it was\n- edits of the session were undone or lost: words.py\n" in said
    )
    assert "`holdfast edits --session 01a1e7a6-a73` shows the edits of that session" in said
    at_start = resume(discover(str(repository)), {"quick": True}, now=clock.now())
    assert at_start["verdict"] == "DRIFTED", "a session's start asks git alone"


def test_lost_edits_are_named_before_the_first_commit(
    repository: Path, home: Path, holdfast: Holdfast, git: Git
) -> None:
    git("update-ref", "-d", "HEAD")
    Path("words.py").write_text('def parse(line):\n    return line.split(" ")\n')
    put_session("codex", home, repository)
    assert agree(holdfast) == ["words.py"]
    Path("words.py").write_text("def parse(line):\n    return line.split()\n")
    assert agree(holdfast) == []


def test_each_file_is_compared_by_itself(
    repository: Path,
    conversation: Conversation,
    holdfast: Holdfast,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("kept.py", "lost.py", "theirs.py", "committed.py"):
        Path(name).write_text("def first(): ...\n\n\n\n\ndef old(): ...\n")
    commit(git, monkeypatch)
    for name in ("kept.py", "lost.py", "theirs.py", "committed.py"):
        conversation.edit(name, "def old(): ...\n", f"def new_{name[:4]}(): ...\n")
    conversation.write("created.py", "def created(): ...\n")
    conversation.leave()
    for name in ("kept.py", "committed.py"):
        text = Path(name).read_text()
        Path(name).write_text(text.replace("def old()", f"def new_{name[:4]}()"))
    Path("theirs.py").write_text(Path("theirs.py").read_text().replace("first", "firstly"))
    git("add", "committed.py", "theirs.py")
    git("commit", "--quiet", "--message", "Two files")
    assert agree(holdfast) == ["lost.py", "theirs.py", "created.py"]
    at_start = resume(discover(str(repository)), {"quick": True}, now=clock.now())
    assert at_start["reasons"][0]["what"].endswith("lost: lost.py, created.py"), (
        "git alone sees these"
    )


# After a checkpoint


@pytest.fixture
def captured(
    conversation: Conversation, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> Conversation:
    """A session that edited two files, with a checkpoint of its own after its last turn."""
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("one\n")
    commit(git, monkeypatch)
    for name in ("a.txt", "b.txt"):
        conversation.edit(name, "one", "two")
        Path(name).write_text("two\n")
    conversation.leave()
    turn_ends(conversation)
    return conversation


def turn_ends(conversation: Conversation) -> None:
    """What the hooks do: a checkpoint, and after it a look at the transcript and at the work tree."""
    workspace = discover(str(conversation.root))
    request: Any = {"profile": "automated", "session": SESSION}
    checkpoint(workspace, request, actor="claude", now=clock.now())
    after_turn(workspace, "claude", SESSION, conversation.path, clock.now())
    workspace.close()


def verdicts(root: Path) -> set[str]:
    """The verdict of `holdfast resume`, and of a session's start."""
    return {
        resume(discover(str(root)), {"session": SESSION, "quick": quick}, now=clock.now())[
            "verdict"
        ]
        for quick in (True, False)
    }


def test_an_edit_that_is_lost_between_two_checkpoints_is_named(
    repository: Path, captured: Conversation, holdfast: Holdfast, git: Git
) -> None:
    assert verdicts(repository) == {"CLEAN"}
    git("checkout", "--", "a.txt")
    assert verdicts(repository) == {"DRIFTED"}
    turn_ends(captured)
    assert verdicts(repository) == {"DRIFTED"}
    said = holdfast("resume").out
    assert said.startswith("Holdfast: DRIFTED. ")
    assert "\n## What is not as it was\n- edits of the session were undone or lost: a.txt\n" in said
    assert f"`holdfast edits --session {SESSION[:12]}` shows the edits" in said
    holdfast("edits", "--apply")
    turn_ends(captured)
    assert verdicts(repository) == {"CLEAN"}


def test_an_edit_that_was_lost_before_the_work_tree_was_looked_at_is_named(
    repository: Path, captured: Conversation, holdfast: Holdfast, git: Git
) -> None:
    holdfast("checkpoint", "--auto", "--session", SESSION)
    assert holdfast("resume").out.startswith("Holdfast: nobody looked whether the work tree")
    git("checkout", "--", "a.txt")
    assert holdfast("resume").out.startswith("Holdfast: DRIFTED. ")


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- a.txt",
        "git restore 'a.txt'",
        "git stash",
        "git reset --hard",
        "git checkout .",
    ],
)
def test_what_the_session_took_back_itself_is_not_lost(
    command: str, repository: Path, captured: Conversation, git: Git
) -> None:
    git("checkout", "--", "a.txt")
    captured.call("Bash", {"command": command}, False)
    captured.leave()
    turn_ends(captured)
    assert verdicts(repository) == {"CLEAN"}


def test_an_edit_that_was_committed_or_reversed_is_not_lost(
    repository: Path, captured: Conversation, git: Git
) -> None:
    captured.edit("a.txt", "two", "one")
    Path("a.txt").write_text("one\n")
    captured.leave()
    git("commit", "--quiet", "--all", "--message", "b.txt alone")
    turn_ends(captured)
    assert verdicts(repository) == {"CLEAN"}


def test_a_person_who_states_what_is_there_is_not_told_of_a_lost_edit(
    repository: Path, captured: Conversation, holdfast: Holdfast, git: Git
) -> None:
    git("checkout", "--", "a.txt")
    holdfast("checkpoint", "--session", SESSION, "--next", "go on without a.txt", "--skip-git")
    assert verdicts(repository) == {"CLEAN"}


def test_a_change_behind_very_many_changed_files_is_not_called_clean(
    repository: Path, holdfast: Holdfast
) -> None:
    for number in range(MOST_FILES + 1):
        Path(f"file{number:04}.txt").write_text("one\n")
    holdfast("checkpoint", "--next", "go on", "--skip-git")
    assert holdfast("resume", "--json").data["verdict"] == "CLEAN"
    Path(f"file{MOST_FILES:04}.txt").unlink()
    assert holdfast("resume", "--json").data["verdict"] == "UNKNOWN"
