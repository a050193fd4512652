"""Two sessions of the real client in one worktree edit the same file: both agents read of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.clients import program_of

from tests.real_clients.world import Client

pytestmark = pytest.mark.clients


def test_both_agents_read_that_the_other_edits_the_file(claude: Client) -> None:
    claude.install()
    Path("notes.txt").write_text("one\n")
    second = [str(program_of("claude")), *claude.words("Change it, too.")]
    run = claude.start(
        ["--permission-mode", "acceptEdits", "Change the notes."],
        [
            claude.read("notes.txt"),
            claude.edit("notes.txt", "one", "two"),
            {"text": "FIRST-DONE"},
            claude.read("notes.txt"),
            claude.edit("notes.txt", "two", "three"),
            {"text": "SECOND-DONE"},
            {"text": "THIRD-DONE"},
        ],
        steps=[
            {"sees": "FIRST-DONE", "type": []},
            {"run": {"command": second}, "type": ["Go on.", "\r"]},
            {"sees": "THIRD-DONE", "type": ["/exit", "\r"]},
        ],
    )
    assert Path("notes.txt").read_text() == "three\n", run.told
    start = run.asked[3]
    assert "also at work in this worktree" in start, "the second, at its start"
    assert "Change the notes." in start, "and on what"
    assert "works in this worktree too and edited notes.txt" in run.asked[5]
    assert "now edits notes.txt, which you edited" in run.asked[6]


def test_the_second_agents_edit_is_denied_where_the_setting_says_so(claude: Client) -> None:
    Path("holdfast.toml").write_text('[session]\nsame_file = "deny"\n')
    claude.install()
    Path("notes.txt").write_text("one\n")
    second = [str(program_of("claude")), *claude.words("Change it, too.")]
    run = claude.start(
        ["--permission-mode", "acceptEdits", "Change the notes."],
        [
            claude.read("notes.txt"),
            claude.edit("notes.txt", "one", "two"),
            {"text": "FIRST-DONE"},
            claude.read("notes.txt"),
            claude.edit("notes.txt", "two", "three"),
            {"text": "SECOND-DONE"},
        ],
        steps=[
            {"sees": "FIRST-DONE", "type": []},
            {"run": {"command": second}, "type": ["/exit", "\r"]},
        ],
    )
    assert Path("notes.txt").read_text() == "two\n", run.told
    denied = run.asked[5]
    assert "works in this worktree too and edited" in denied
    assert "Change another file, or tell your person that both of you need this one." in denied
