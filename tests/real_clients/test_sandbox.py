"""An agent inside Codex's own sandbox, in a linked worktree: it cannot write the journal, and is heard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.kernel.text import split_words
from tests.conftest import Git
from tests.real_clients.world import Client, Codex

pytestmark = pytest.mark.clients

# Else the sandbox would leave the folder writable that the repository of this test stands in.
SANDBOX = split_words(
    "--sandbox workspace-write -c sandbox_workspace_write.exclude_slash_tmp=true "
    "-c sandbox_workspace_write.exclude_tmpdir_env_var=true"
)


def test_a_gate_and_a_heartbeat_come_through_the_inbox(
    codex: Client, repository: Path, git: Git, tmp_path: Path
) -> None:
    side = repository.parent / "side"
    git("worktree", "add", "--quiet", str(side), at=repository)
    agent = Codex(side, codex.home)
    agent.sandbox = SANDBOX
    agent.holdfast("agent", "start", "Secondary-A", "--feature", "feature_02")
    agent.install()
    run = agent.run(
        "go on",
        [
            agent.shell(f"touch inside; touch {repository}/.git/outside"),
            agent.shell("holdfast gate verify --built Dashboard --how 'It is blue' --name blue"),
            agent.shell("holdfast agent beat Secondary-A --step 'Painting it blue'"),
            {"text": "Done."},
        ],
    )
    assert run.code == 0, run.told
    assert (side / "inside").exists()
    assert not (repository / ".git" / "outside").exists(), "this is a sandbox"
    assert "Queued in .holdfast/inbox as blue" in run.asked[2]
    assert "queued as" in run.asked[3]
    # Hooks run outside of the sandbox: what was queued stood in the journal when the turn was over.
    assert list((side / ".holdfast" / "inbox").glob("*.json")) == []
    waiting = json.loads(agent.holdfast("gate", "list", "--json"))["data"]
    assert "blue" in json.dumps(waiting)
    assert "Painting it blue" in agent.holdfast("agent", "list")
