"""A colleague, in another clone, takes over what a session left."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients.conformance.cases import CASES, put_session
from tests.conftest import Git
from tests.session.world import Holdfast
from tests.test_docs import blocks

SESSION = CASES["codex"].session
BEFORE = "2026-11-10T00:00:00Z"
EDITED = "def parse(line):\n    return line.split()\n"


class Clones:
    """Two clones of one origin. A Codex session worked in the first; its transcript lies beside both."""

    def __init__(self, mine: Path, theirs: Path, transcript: Path) -> None:
        self.mine, self.theirs, self.transcript = mine, theirs, transcript


@pytest.fixture
def clones(repository: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clones:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    Path("words.py").write_text('def parse(line):\n    return line.split(" ")\n')
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", BEFORE)
        git("add", ".")
        git("commit", "--quiet", "--amend", "--message", "Words")
    origin, theirs = tmp_path / "origin.git", tmp_path / "theirs"
    git("clone", "--quiet", "--bare", str(repository), str(origin))
    git("remote", "add", "origin", str(origin))
    git("clone", "--quiet", str(origin), str(theirs))
    Path("words.py").write_text(EDITED)
    sent = tmp_path / "session.jsonl"
    shutil.copyfile(put_session("codex", home, repository), sent)
    return Clones(repository, theirs, sent)


def take_along(clones: Clones, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint of the session, and the journal's copy restored in the other clone."""
    words = ("--session", SESSION, "--skip-git", "--task", "Keep quotes", "--next", "use shlex")
    assert holdfast("checkpoint", *words).code == 0
    assert holdfast("backup", "../copy.db").code == 0
    monkeypatch.chdir(clones.theirs)
    assert holdfast("backup", "../copy.db", "--restore").code == 0


def test_the_suggested_command_works_in_a_colleagues_clone(
    clones: Clones, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_along(clones, holdfast, monkeypatch)
    wanted = f"holdfast resume --session {SESSION[:8]} --accept-foreign"
    assert holdfast().out.splitlines()[-2].strip() == wanted
    assert holdfast("resume", "--list", "--json").envelope["next"] == [wanted]
    refused = holdfast("resume")
    assert refused.code == 3
    assert "No session of this worktree waits; 1 is known of other places." in refused.err
    assert f"`{wanted}`" in refused.err
    assert holdfast(*shlex.split(wanted)[1:]).code == 0


def test_accepted_work_of_another_clone_is_not_forbidden(
    clones: Clones, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_along(clones, holdfast, monkeypatch)
    said = holdfast("resume", "--session", SESSION[:8], "--accept-foreign").out
    assert said.startswith("Holdfast: FOREIGN. ")
    assert f"- another clone of this repository: {clones.mine}\n" in said
    assert "another repository" not in said
    assert "without being asked" not in said
    assert "You were asked to continue it here" in said


def test_a_progress_file_is_known_by_the_record_that_came_with_the_journal(
    clones: Clones, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_along(clones, holdfast, monkeypatch)
    shutil.copyfile(clones.mine / ".ccc-progress.md", ".ccc-progress.md")
    refused = holdfast("resume", "--json").envelope["error"]
    assert refused["kind"] == "foreign"
    data = holdfast("resume", "--accept-foreign", "--json").data
    assert data["session"] == SESSION
    assert "that no record knows" not in data["pack"]
    Path(".ccc-progress.md").write_text("# Session Progress\n\nAnother tool's.\n")
    assert holdfast("resume", "--json").data["session"] == ""


def test_the_commands_of_the_page_hand_the_work_over(
    clones: Clones, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []
    for block in blocks("docs/how-to/colleague.md", ""):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if "--in" in words:
                continue  # it starts a client
            monkeypatch.chdir(
                clones.mine if "# you" in line and "# your" not in line else clones.theirs
            )
            if words[0] == "git":
                subprocess.run(words, check=True, capture_output=True)
                continue
            words = [ids[-1] if word == "ID" else word for word in words[1:]]
            if words[:2] == ["backup", "../journal-copy.db"] and len(words) == 2:
                holdfast("checkpoint", "--session", SESSION, "--skip-git", "--task", "Quotes")
            answer = holdfast(*words)
            assert answer.code == 0, (line, answer)
            if words[:2] == ["snapshot", "create"]:
                ids.append(holdfast("snapshot", "list", "--json").data["snapshots"][0]["id"])
            if words == ["resume", "--transcript", "../session.jsonl"]:
                lacks = "DRIFTED\n  this work tree lacks edits of the session: words.py\n"
                assert answer.out.startswith(lacks)
                assert f"`holdfast edits --transcript {clones.transcript}` shows" in answer.out
            if words[-1] == "--apply":
                assert Path("words.py").read_text() == EDITED
            if words == ["resume", "--list"]:
                ids.append(SESSION[:8])
