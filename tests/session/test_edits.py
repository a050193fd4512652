"""Edits of a session that the work tree lost, had back from its client's transcript."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bench.continuity.record import RECORDINGS
from scripts import readme
from scripts.page_stories import leave_session

import holdfast as library
from holdfast.clients.table import NAMES
from holdfast.kernel.text import split_words
from tests.clients.conformance.cases import CASES, put_session
from tests.conftest import Git
from tests.session import world
from tests.session.world import TRANSCRIPT as SESSION
from tests.session.world import Conversation, Holdfast

PROJECT = RECORDINGS.parent / "project"
BEFORE = "2026-11-10T00:00:00Z"
home, conversation = world.home, world.conversation


@pytest.fixture
def project(repository: Path, home: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project that the recorded sessions worked on, committed before them."""
    shutil.copytree(PROJECT, repository, dirs_exist_ok=True)
    commit(git, monkeypatch)
    return repository


def commit(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is there, as the only commit, made before every session."""
    with monkeypatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", BEFORE)
        git("add", ".")
        git("commit", "--quiet", "--amend", "--message", "Before the session")


def states(data: dict[str, Any]) -> dict[str, str]:
    return {file["path"]: file["state"] for file in data["files"]}


# The story


def test_edits_that_were_discarded_are_had_back(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    leave_session(project)
    said = holdfast("resume").out
    assert said.startswith("Holdfast: DRIFTED. ")
    assert "\n## What is not as it was\n- edits of the session were undone or lost" in said
    assert "`holdfast edits --session 022bdfed-56c` shows the edits of that session" in said
    shown = holdfast("edits").out
    assert "  missing    tally/export_csv.py       3 edits" in shown
    assert "  removed    scratch/try_thousands.py  1 edit   the session removed it later" in shown
    assert "+    writer = csv.writer(buffer)\n" in shown
    assert git("status", "--porcelain") == "", "showing writes nothing"

    done = holdfast("edits", "--apply")
    assert "Wrote tally/export_csv.py\n" in done.out
    assert "To undo it: holdfast snapshot restore " in done.out
    assert "csv.writer" in Path("tally/export_csv.py").read_text()
    assert not Path("scratch").exists()
    has_all = "the work tree has all edits of this session, which has no checkpoint"
    assert holdfast("resume").out.startswith(f"Holdfast: {has_all}.")
    again = holdfast("edits", "--apply").out
    assert "The work tree lacks no edit that can be brought back." in again
    assert "Nothing was written." in again


def test_a_history_that_was_made_anew_since_is_no_conflict(
    project: Path, holdfast: Holdfast, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebase or an amend gives every commit a new date."""
    leave_session(project)
    for written in (BEFORE, "2026-12-01T00:00:00Z"):
        monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-12-01T00:00:00Z")
        git("commit", "--quiet", "--amend", "--no-edit", "--date", written)
        assert "Wrote tally/export_csv.py\n" in holdfast("edits", "--apply").out
        found = states(holdfast("edits", "--json").data)
        assert set(found.values()) == {"present", "removed"}
        git("checkout", "--quiet", ".")


def test_edits_that_were_discarded_after_a_checkpoint_are_named(
    project: Path, holdfast: Holdfast, git: Git
) -> None:
    leave_session(project)
    session = holdfast("edits", "--apply", "--json").data["session"]
    holdfast("checkpoint", "--session", session, "--skip-git")
    assert "holdfast edits" not in holdfast("resume").out
    Path("README.md").write_text("Another change.\n")
    assert "holdfast edits" not in holdfast("resume").out, "no file that the session edited"
    git("checkout", "--", "tally")
    said = holdfast("resume").out
    assert "changed since: README.md, tally/amounts.py, tally/export_csv.py" in said
    assert f"`holdfast edits --session {session[:12]}` shows the edits" in said
    assert set(holdfast("edits", ".", "--apply", "--json").data["written"]) == {
        "tally/amounts.py",
        "tally/export_csv.py",
    }


def test_a_list_with_missing_edits_names_the_command_that_brings_them_back(
    project: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    leave_session(project)
    start = "To bring the missing edits back: holdfast edits"
    session = f"{start} --session 022bdfed-56c --apply"
    shown = holdfast("edits").out
    assert shown.partition("\n--- ")[0].endswith(f"\n{session}"), "above the diff, in a pipe too"
    assert f"\n{session} tally/amounts.py\n" in holdfast("edits", "tally/amounts.py").out
    path = tmp_path / "its transcript.jsonl"
    path.write_bytes(readme.begun_session().replace(b"/home/dev/tally", bytes(project)))
    said = f"\n{start} --transcript '{path}' --apply\n"
    assert said in holdfast("edits", "--transcript", str(path)).out
    holdfast("edits", "--apply")
    assert start not in holdfast("edits").out


def test_bringing_edits_back_can_be_undone(project: Path, holdfast: Holdfast, git: Git) -> None:
    leave_session(project)
    Path("README.md").write_text("My own words.\n")
    before = git("status", "--porcelain")
    made = holdfast("edits", "--apply", "--json").data
    assert "tally/export_csv.py" in made["written"]
    holdfast("snapshot", "restore", made["before"])
    assert git("status", "--porcelain") == before
    assert Path("README.md").read_text() == "My own words.\n"


@pytest.mark.parametrize(
    "name", ["claude-short.jsonl", "codex-short.jsonl", "gemini-short.jsonl", "opencode-short.db"]
)
def test_the_tests_of_a_recorded_session_pass_on_what_is_brought_back(
    name: str, project: Path, tmp_path: Path, holdfast: Holdfast
) -> None:
    transcript = tmp_path / name
    packed = RECORDINGS / name.partition("-")[0] / f"{name}.gz"
    transcript.write_bytes(gzip.decompress(packed.read_bytes()))
    done = holdfast("edits", "--apply", "--transcript", str(transcript), "--json").data
    assert (
        {"missing", "removed"} <= set(states(done).values()) <= {"missing", "removed", "elsewhere"}
    )
    assert not any(file["problems"] for file in done["files"])
    ran = subprocess.run([sys.executable, "-m", "unittest"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("client", NAMES)
def test_every_client_has_its_edits_read(
    client: str,
    repository: Path,
    home: Path,
    git: Git,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    words = repository / "words.py"
    words.write_text('def parse(line):\n    return line.split(" ")\n')
    commit(git, monkeypatch)
    put_session(client, home, repository)
    shown = holdfast("edits", "--json").data
    assert (shown["client"], shown["session"]) == (client, CASES[client].session)
    assert states(shown) == {"words.py": "missing"}
    holdfast("edits", "--apply")
    assert words.read_text() == "def parse(line):\n    return line.split()\n"
    assert states(holdfast("edits", "--json").data) == {"words.py": "present"}


# Nothing is overwritten


def test_what_changed_elsewhere_in_the_file_stays(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    Path("a.txt").write_text("".join(lines))
    commit(git, monkeypatch)
    conversation.edit("a.txt", "line 2\n", "line two\n")
    conversation.leave()
    lines[15] = "mine\n"
    Path("a.txt").write_text("".join(lines))
    holdfast("edits", "--apply")
    lines[2] = "line two\n"
    assert Path("a.txt").read_text() == "".join(lines)


def test_a_comment_two_lines_below_is_no_conflict(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old text stands in the file once, whatever was written beside it."""
    before = "def total(items):\n    result = 0\n    return result\n"
    Path("a.py").write_text(before)
    commit(git, monkeypatch)
    conversation.edit("a.py", "    result = 0\n", "    result = sum(items)\n")
    conversation.leave()
    Path("a.py").write_text(before.replace("    return", "    # mine\n    return"))
    assert states(holdfast("edits", "--json").data) == {"a.py": "missing"}
    assert holdfast("edits", "--apply").code == 0
    assert Path("a.py").read_text() == (
        "def total(items):\n    result = sum(items)\n    # mine\n    return result\n"
    )


def test_the_same_lines_changed_since_are_a_conflict(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.txt").write_text("one\n")
    Path("b.txt").write_text("one\n")
    commit(git, monkeypatch)
    conversation.edit("a.txt", "one", "two")
    conversation.edit("b.txt", "one", "two")
    conversation.leave()
    Path("a.txt").write_text("three\n")
    done = holdfast("edits", "--apply")
    assert done.code == 5
    assert "conflict   a.txt  1 edit  the same lines were changed since" in done.out
    assert Path("a.txt").read_text() == "three\n"
    assert Path("b.txt").read_text() == "two\n", "what can be brought back is"
    failed = json.loads(holdfast("edits", "--apply", "--json").out)
    assert failed["error"]["kind"] == "conflict"


def test_an_insertion_is_not_made_twice(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its old text still stands there, once, after it was made and changed again."""
    Path("a.py").write_text("import os\n")
    commit(git, monkeypatch)
    conversation.edit("a.py", "import os\n", "import os\nimport re\nimport io\nimport csv\n")
    conversation.edit("a.py", "import re\n", "import json\n")
    conversation.leave()
    Path("a.py").write_text("import os\nimport json\nimport io\nimport csv\n")
    assert states(holdfast("edits", "--json").data) == {"a.py": "present"}
    git("add", ".")
    git("commit", "--quiet", "--message", "Done by the session")
    assert states(holdfast("edits", "--json").data) == {"a.py": "present"}
    Path("a.py").write_text("import os\nimport json  # for the report\nimport io\nimport csv\n")
    assert states(holdfast("edits", "--json").data) == {"a.py": "present"}


def test_a_file_that_is_there_with_other_content_is_left_alone(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.write("new.txt", "the session's\n")
    conversation.leave()
    Path("new.txt").write_text("mine\n")
    assert holdfast("edits", "--apply").code == 5
    assert Path("new.txt").read_text() == "mine\n"


def test_what_no_snapshot_holds_is_not_overwritten(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".gitignore").write_text("*.env\n")
    commit(git, monkeypatch)
    Path("a.env").write_text("A=1\n")
    conversation.edit("a.env", "A=1", "A=2")
    conversation.leave()
    done = holdfast("edits", "--apply")
    assert done.code == 5
    assert Path("a.env").read_text() == "A=1\n"
    assert "no snapshot holds what is there now" in done.out


def test_edits_that_failed_or_have_no_known_end_are_not_made(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.txt").write_text("one\n")
    Path("b.txt").write_text("one\n")
    commit(git, monkeypatch)
    conversation.edit("a.txt", "one", "two", ends=True)
    conversation.edit("b.txt", "one", "two", ends=None)
    conversation.leave()
    shown = holdfast("edits", "--json").data
    assert states(shown) == {"b.txt": "conflict"}
    assert shown["files"][0]["why"] == "the transcript does not say that it succeeded"


@pytest.mark.parametrize("text", ["a\r\nb\r\n", "a\nb"])
def test_line_breaks_and_mode_stay(
    text: str,
    conversation: Conversation,
    git: Git,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = Path("run.sh")
    path.write_bytes(text.encode())
    path.chmod(0o755)
    commit(git, monkeypatch)
    conversation.edit("run.sh", "a\nb", "a\nc\nb")
    conversation.leave()
    holdfast("edits", "--apply")
    assert (
        path.read_bytes()
        == text.replace("b", "c" + ("\r\n" if "\r" in text else "\n") + "b").encode()
    )
    assert os.access(path, os.X_OK)


def test_only_the_named_files_are_written(
    conversation: Conversation, holdfast: Holdfast, tmp_path: Path
) -> None:
    conversation.write("src/a.txt", "a\n")
    conversation.write("docs/b.txt", "b\n")
    conversation.leave()
    assert holdfast("edits", "docs", "--apply", "--json").data["written"] == ["docs/b.txt"]
    assert not Path("src").exists()
    missing = holdfast("edits", "nosuch.txt")
    assert (missing.code, "edited none of these: nosuch.txt" in missing.err) == (3, True)


# Hostile and secret


def test_no_path_of_a_transcript_leads_out_of_the_work_tree(
    conversation: Conversation, holdfast: Holdfast, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    Path("link").symlink_to(outside)
    Path("file-link").symlink_to(outside / "x")
    for name in (
        *split_words("../outside/x link/x file-link .git/hooks/post-checkout sub/.GIT/config"),
        ".claude/settings.json",
        ".mcp.json",
        "a\x1bb",
    ):
        conversation.write(name, "planted\n")
    conversation.leave()
    done = holdfast("edits", "--apply", "--json").data
    assert set(states(done).values()) == {"elsewhere"}
    assert done["written"] == []
    assert list(outside.iterdir()) == []
    assert not Path(".git/hooks/post-checkout").exists()


def test_a_secret_is_not_shown_and_is_written_as_it_was(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    conversation.write("config.py", f'TOKEN = "{secret[:40]}"\n')
    conversation.leave()
    shown = holdfast("edits")
    assert secret[:40] not in shown.out
    assert "holds what looks like a secret" in shown.err
    assert secret[:40] not in json.dumps(holdfast("edits", "--json").data)
    holdfast("edits", "--apply")
    assert secret[:40] in Path("config.py").read_text()


def test_with_transcripts_turned_off_only_a_named_one_is_read(
    conversation: Conversation, holdfast: Holdfast
) -> None:
    conversation.write("a.txt", "a\n")
    conversation.leave()
    Path("holdfast.toml").write_text("[session]\nobserve = false\n")
    refused = holdfast("edits")
    assert (refused.code, "`session.observe` is false" in refused.err) == (3, True)


def test_without_git_the_diff_is_shown_and_nothing_is_written(
    tmp_path: Path, home: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    conversation = Conversation(folder)
    conversation.write("a.txt", "a\n")
    conversation.leave()
    assert "+a\n" in holdfast("edits").out
    refused = holdfast("edits", "--apply")
    assert (refused.code, "no git repository" in refused.err) == (1, True)
    assert list(folder.iterdir()) == []


def test_the_library_shows_and_brings_back(conversation: Conversation) -> None:
    conversation.write("a.txt", "a\n")
    conversation.leave()
    with library.open() as workspace:
        assert workspace.edits()["files"][0]["diff"].endswith("+a\n")
        assert workspace.apply_edits(session=SESSION[:8])["written"] == ["a.txt"]
    assert Path("a.txt").read_text() == "a\n"


def test_a_moved_file_takes_its_text_along(
    repository: Path,
    home: Path,
    tmp_path: Path,
    git: Git,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("d.py").write_text("x\nz\n")
    commit(git, monkeypatch)
    patch = "*** Begin Patch\n*** Update File: d.py\n*** Move to: e.py\n@@\n-x\n+y\n*** End Patch"
    stamp = {"timestamp": "2026-11-12T10:00:00.000Z"}
    call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": patch}
    end = {
        "type": "custom_tool_call_output",
        "call_id": "c1",
        "output": "Exit code: 0\nOutput:\nDone",
    }
    lines = [
        {**stamp, "type": "session_meta", "payload": {"id": SESSION, "cwd": str(repository)}},
        {**stamp, "type": "response_item", "payload": call},
        {**stamp, "type": "response_item", "payload": end},
    ]
    path = home / ".codex/sessions/2026/11/12" / f"rollout-2026-11-12T10-00-00-{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert states(holdfast("edits", "--json").data) == {"d.py": "missing", "e.py": "missing"}
    holdfast("edits", "--apply")
    assert not Path("d.py").exists()
    assert Path("e.py").read_text() == "y\nz\n"


# Subagents and notebooks of Claude Code


def sidechain(conversation: Conversation, path: str, old: str, new: str) -> list[dict[str, Any]]:
    """The lines of an edit that a subagent made, taken out of the conversation."""
    before = len(conversation.lines)
    conversation.edit(path, old, new)
    lines = [{**line, "isSidechain": True} for line in conversation.lines[before:]]
    del conversation.lines[before:]
    return lines


@pytest.mark.parametrize("is_apart", [True, False])
def test_edits_of_a_subagent_are_brought_back(
    is_apart: bool,
    conversation: Conversation,
    git: Git,
    holdfast: Holdfast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("a.txt").write_text("one\n")
    commit(git, monkeypatch)
    conversation.edit("a.txt", "one", "two")
    lines = sidechain(conversation, "a.txt", "two", "three")
    lines += sidechain(conversation, "b.txt", "", "new\n")
    if not is_apart:
        conversation.lines += lines
    conversation.edit("a.txt", "three", "four")
    conversation.leave()
    if is_apart:
        folder = Path(conversation.path.removesuffix(".jsonl")) / "subagents"
        folder.mkdir(parents=True)
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / "agent-a1b2.jsonl").write_text(text)
    assert states(holdfast("edits", "--json").data) == {"a.txt": "missing", "b.txt": "missing"}
    holdfast("edits", "--apply")
    assert Path("a.txt").read_text() == "four\n"
    assert Path("b.txt").read_text() == "new\n"
    assert "2 edits" in holdfast("resume").out, "what a subagent did is not what the session knows"


def test_an_edit_of_a_subagent_that_failed_is_none(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.txt").write_text("one\n")
    commit(git, monkeypatch)
    conversation.edit("b.txt", "", "new\n")
    lines = sidechain(conversation, "a.txt", "one", "two")
    lines[1]["message"]["content"][0]["is_error"] = True
    conversation.lines += lines
    conversation.leave()
    assert states(holdfast("edits", "--json").data) == {"b.txt": "missing"}


def test_an_edit_of_a_notebook_is_brought_back_from_the_file_after_it(
    conversation: Conversation, git: Git, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = json.dumps({"cells": [{"id": "c1", "source": "one"}], "pad": "x" * 5000}, indent=1)
    after = before.replace("one", "two")
    Path("a.ipynb").write_text(before)
    Path("b.ipynb").write_text(before)
    commit(git, monkeypatch)
    for name in ("a.ipynb", "b.ipynb"):
        path = str(conversation.root / name)
        given = {"notebook_path": path, "cell_id": "c1", "new_source": "two"}
        conversation.call("NotebookEdit", given, False)
        if name == "a.ipynb":
            details = {"notebook_path": path, "original_file": before, "updated_file": after}
            conversation.lines[-1]["toolUseResult"] = details
    conversation.leave()
    shown = holdfast("edits", "--json").data
    assert states(shown) == {"a.ipynb": "missing", "b.ipynb": "conflict"}
    assert shown["files"][1]["why"] == "the transcript does not hold its text"
    holdfast("edits", "a.ipynb", "--apply")
    assert Path("a.ipynb").read_text() == after
