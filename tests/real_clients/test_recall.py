"""An earlier session edited a file: the agent reads one line about it when a prompt names the file, and Claude Code's also when it
edits the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Git
from tests.real_clients.world import Client, Codex

pytestmark = pytest.mark.clients
LINE = "an earlier session edited four.py"


@pytest.fixture
def project(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Codex, "model", "gpt-5.5")
    (repository / "four.py").write_text("line 1\nline 2\nline 3\n")
    git("add", ".", at=repository)
    git("commit", "--quiet", "--message", "first", at=repository)
    return repository


def test_an_agent_is_reminded_of_an_earlier_session(client: Client, project: Path) -> None:
    client.install()
    edit = client.edit("four.py", "line 1", "line one")
    first = client.run("Change four.py", [client.read("four.py"), edit, {"text": "Changed."}])
    assert LINE not in str(first.asked), "nobody edited it before"
    client.holdfast("remember")

    looked = client.run("What does four.py do?", [{"text": "It has lines."}])
    assert looked.asked[0].count(LINE) == 1, looked.told
    other = client.run("What is the weather like?", [{"text": "Fine."}])
    assert LINE not in other.asked[0]

    edit = client.edit("four.py", "line 2", "line two")
    edits = client.run("Correct the last file", [client.read("four.py"), edit, {"text": "Done."}])
    assert LINE not in edits.asked[0]
    assert (LINE in edits.asked[-1]) == (client.name == "claude"), edits.told
