"""A home folder with sessions of clients, and a project that they worked in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli import conftest as command_line
from tests.session import world

holdfast = command_line.holdfast
home = world.home

Put = Callable[..., Path]
SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def claude_lines(project: str, session: str, said: list[tuple[str, str]], day: str) -> list[Any]:
    """The lines of a session of Claude Code: each text with who wrote it, or the tool that got it."""
    lines = []
    for number, (who, text) in enumerate(said):
        line: dict[str, Any] = {
            "sessionId": session,
            "uuid": f"{session}-{number}",
            "cwd": project,
            "gitBranch": "main",
            "timestamp": f"{day}T10:{number // 60:02}:{number % 60:02}.000Z",
            "type": "user" if who == "user" else "assistant",
        }
        content: Any = [{"type": "text", "text": text}]
        if who == "Bash":
            use = {"id": f"t{number}", "name": who, "input": {"command": text}}
            content = [{"type": "tool_use", **use}]
        elif who == "Edit":
            path, old, new = text.split("|")
            given = {"file_path": path, "old_string": old, "new_string": new}
            content = [{"type": "tool_use", "id": f"t{number}", "name": who, "input": given}]
        elif who in ("failed", "passed"):
            line["type"] = "user"
            content = [
                {
                    "type": "tool_result",
                    "tool_use_id": f"t{number - 1}",
                    "is_error": who == "failed",
                    "content": text,
                }
            ]
        role = "user" if line["type"] == "user" else "assistant"
        line["message"] = {"role": role, "id": f"m{number}", "content": content}
        lines.append(line)
    return lines


@pytest.fixture
def put(home: Path) -> Put:
    """`put(project, "id", [("user", "text"), ("Edit", "path|old|new")], day)`: the transcript of a session."""

    def put(
        project: Path, session: str, said: list[tuple[str, str]], day: str = "2026-11-10"
    ) -> Path:
        folder = "".join(letter if letter.isalnum() else "-" for letter in str(project))
        path = home / ".claude" / "projects" / folder / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = claude_lines(str(project), session, said, day)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        return path

    return put


@pytest.fixture
def shop(repository: Path, put: Put) -> Path:
    """A project with three sessions: one dropped a retry, one parsed dates, one wrote docs."""
    file = repository / "pay.py"
    put(
        repository,
        "11111111-aaaa-4000-8000-000000000001",
        [
            (
                "user",
                "Why does the payment client retry on 503? Drop the retry, the gateway does that.",
            ),
            ("assistant", "The gateway retries already, so I drop the retry on 503 in chargeCard."),
            ("Edit", f"{file}|retry(503)|send_once()"),
            ("Bash", "pytest tests/test_pay.py"),
            ("failed", "FAILED tests/test_pay.py::test_timeout - TimeoutError: gateway"),
        ],
    )
    put(
        repository,
        "22222222-bbbb-4000-8000-000000000002",
        [
            ("user", "Parse dates of the import in UTC."),
            ("assistant", "Dates are parsed by parse_date now, in UTC."),
            ("Edit", f"{repository / 'dates.py'}|local()|utc()"),
        ],
        "2026-11-12",
    )
    put(
        repository,
        "33333333-cccc-4000-8000-000000000003",
        [("user", "Write the docs of the command line."), ("assistant", "The docs are written.")],
        "2026-11-14",
    )
    return repository
