"""A person is asked in the real client: Holdfast shows it elsewhere, and no longer once it is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real_clients.world import Client

pytestmark = pytest.mark.clients


def look_until(client: Client, file: Path, *, is_asked: bool) -> str:
    """A line for a shell: the status, as soon as a session waits or none does any more. The client shows
    its prompt while its hook still runs."""
    found = "" if is_asked else "! "
    status = f"{client.program('holdfast')} status --json >{file}"
    return f"for i in 1 2 3 4 5 6 7 8; do {status}; {found}grep -q 'waits for you' {file} && break; sleep 0.5; done"


def test_a_permission_prompt_waits_for_the_person_until_it_is_answered(
    claude: Client, tmp_path: Path
) -> None:
    claude.install()
    while_asked, after = tmp_path / "asked.json", tmp_path / "after.json"

    def look(file: Path) -> dict[str, list[str]]:
        return {"command": ["sh", "-c", look_until(claude, file, is_asked=file == while_asked)]}

    run = claude.start(
        ["--permission-mode", "default", "Make a file."],
        [claude.shell("touch made.txt"), {"text": "FINISHED"}],
        steps=[
            {"sees": "Do you want to proceed", "type": []},
            {"run": look(while_asked), "type": ["\r"]},
            {"sees": "FINISHED", "type": []},
            {"run": look(after), "type": ["/exit", "\r"]},
        ],
    )
    assert (claude.project / "made.txt").exists(), run.told
    asked = [one["what"] for one in json.loads(while_asked.read_text())["data"]["attention"]]
    (told,) = [what for what in asked if "waits for you" in what]
    assert told.startswith("Claude Code ")
    assert told.endswith(f" waits for you in {claude.project}: May Bash run: touch made.txt?")
    later = [one["what"] for one in json.loads(after.read_text())["data"]["attention"]]
    assert not [what for what in later if "waits for you" in what]


def test_a_question_of_the_agent_waits_though_every_tool_is_allowed(
    claude: Client, tmp_path: Path
) -> None:
    claude.install()
    while_asked, after = tmp_path / "asked.json", tmp_path / "after.json"
    options = [
        {"label": "SQLite", "description": "a file"},
        {"label": "Postgres", "description": "a server"},
    ]
    question = {
        "question": "Which database?",
        "header": "Database",
        "options": options,
        "multiSelect": False,
    }
    run = claude.start(
        ["--permission-mode", "default", "Ask me."],
        [{"tool": "AskUserQuestion", "input": {"questions": [question]}}, {"text": "FINISHED"}],
        steps=[
            {"sees": "Which database?", "type": []},
            {
                "run": {"command": ["sh", "-c", look_until(claude, while_asked, is_asked=True)]},
                "type": ["\r"],
            },
            {"sees": "FINISHED", "type": []},
            {
                "run": {"command": ["sh", "-c", look_until(claude, after, is_asked=False)]},
                "type": ["/exit", "\r"],
            },
        ],
    )
    assert after.exists(), run.told
    asked = [one["what"] for one in json.loads(while_asked.read_text())["data"]["attention"]]
    assert [what for what in asked if what.endswith(": Which database?")], asked
    later = [one["what"] for one in json.loads(after.read_text())["data"]["attention"]]
    assert not [what for what in later if "waits for you" in what]
