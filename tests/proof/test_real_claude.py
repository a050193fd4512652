"""The hooks in Claude Code itself: installed by `init`, started by the client, read by its model.

Needs npm for the client and the right to make a network namespace; without them it fails and says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.conftest import Git

pytestmark = pytest.mark.proof

PACKAGE = "@anthropic-ai/claude-code-linux-x64"
VERSION = "2.1.325"
RUNNER = Path(__file__).with_name("real_claude.py")


@pytest.fixture(scope="session")
def claude(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The client's own binary, from its npm package."""
    assert shutil.which("npm"), "this proof needs npm"
    folder = tmp_path_factory.mktemp("claude")
    subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--force", f"{PACKAGE}@{VERSION}"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return str(folder / "node_modules" / PACKAGE / "claude")


def run(claude: str, project: Path, home: Path) -> dict[str, Any]:
    home.mkdir(exist_ok=True)
    command = ["unshare", "--net", sys.executable, str(RUNNER), claude, str(project), str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert result["code"] == 0, result
    return result


def call(*words: str) -> None:
    environment = {key: value for key, value in os.environ.items() if "CLAUDE" not in key}
    subprocess.run(
        [sys.executable, "-m", "holdfast", *words], check=True, capture_output=True, env=environment
    )


def end(session: str, project: Path) -> None:
    payload = json.dumps({"session_id": session, "cwd": str(project), "reason": "other"})
    subprocess.run(
        [sys.executable, "-m", "holdfast", "hook", "claude", "SessionEnd"],
        input=payload,
        text=True,
        check=True,
        capture_output=True,
    )


def test_a_new_session_starts_where_the_last_one_ended(
    claude: str, repository: Path, git: Git, tmp_path: Path
) -> None:
    call("checkpoint", "--session", "before", "--issue", "CIA-7", "--next", "keep the quotes")
    end("before", repository)
    call("init")
    result = run(claude, repository, tmp_path / "home")
    first = result["requests"][0]
    assert "SessionStart hook additional context: Holdfast: CLEAN." in first
    assert "Next action: keep the quotes." in first
    with holdfast.open() as workspace:
        records = workspace.history(stream="session:*")
    told = {(record["kind"], record["stream"] == "session:before") for record in records}
    assert ("adopted", True) in told, "it took the ended session over"
    assert {("captured", False), ("ended", False)} <= told, "Stop and SessionEnd captured it"


def test_open_tasks_drive_it_on_and_the_counter_ends_that(
    claude: str, repository: Path, tmp_path: Path
) -> None:
    loop = {"linearIssue": "CIA-7", "phase": "execution", "taskIndex": 0, "totalTasks": 2}
    Path(".ccc-state.json").write_text(json.dumps({**loop, "maxTaskIterations": 2}))
    call("init")
    result = run(claude, repository, tmp_path / "home")
    assert len(result["requests"]) == 3, "the prompt, and two stops that were answered"
    assert (
        "Stop hook feedback:\\nResume CIA-7. Current task: task 1 of 2." in result["requests"][-1]
    )
