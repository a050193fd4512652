"""Whose session a process belongs to that no variable tells it, such as an MCP server."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.kernel.workspace import discover
from holdfast.session import client_process
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


def captured(holdfast: Holdfast) -> str:
    """The session that a checkpoint without a name went to."""
    done = holdfast("checkpoint", "--next", "go on", "--json")
    assert done.code == 0, done.err
    return str(json.loads(done.out)["data"]["session"])


def test_it_is_the_session_of_the_client_that_started_it(
    repository: Path, holdfast: Holdfast
) -> None:
    client_process.began(discover(), "the-clients", "codex", alone=True)
    assert captured(holdfast) == "the-clients"


def test_a_server_with_one_session_is_known_by_its_process(
    repository: Path, holdfast: Holdfast
) -> None:
    client_process.began(discover(), "ses_one", "opencode", alone=False)
    assert captured(holdfast) == "ses_one"


def test_of_two_sessions_nobody_guesses(repository: Path) -> None:
    workspace = discover()
    client_process.began(workspace, "ses_one", "opencode", alone=False)
    client_process.began(workspace, "ses_two", "opencode", alone=False)
    assert client_process.at_work(workspace) == ""


def test_the_client_of_somebody_else_is_not_ours(repository: Path) -> None:
    workspace = discover()
    client_process.began(workspace, "theirs", "codex", alone=True)
    (kept,) = Path(".git/holdfast/worktree/slots").glob("*/client")
    value = json.loads(kept.read_text())
    value["process"]["pid"] = 1
    kept.write_text(json.dumps(value))
    assert client_process.at_work(workspace) == ""
    kept.write_text("not JSON")
    assert client_process.at_work(workspace) == ""
