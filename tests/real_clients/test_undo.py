"""Three prompts in the real clients, then an undo: what a shell and the client's own tools did is taken back byte for byte."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Git
from tests.real_clients.world import PATIENCE, Client, Codex
from tests.undo.scene import picture_of

pytestmark = pytest.mark.clients

FORMAT = "for f in one two three; do sed -i 's/line 2/LINE 2/' $f.py; echo more >> $f.py; done"
CLEAN_UP = "rm notes.txt; chmod 755 two.py; rmdir hollow; ln -s one.py link"
COMMIT = (
    "git add --all; git -c user.name=a -c user.email=a@example.invalid commit --quiet -m 'tidy up'"
)


@pytest.fixture
def project(repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Codex, "model", "gpt-5.5")
    for name in ("one", "two", "three", "four"):
        (repository / f"{name}.py").write_text("line 1\nline 2\nline 3\n")
    git("add", ".", at=repository)
    git("commit", "--quiet", "--message", "first", at=repository)
    (repository / "notes.txt").write_text("what only I know\n")
    (repository / "hollow").mkdir()
    return repository


def test_the_last_of_three_prompts_is_taken_back(client: Client, project: Path, git: Git) -> None:
    client.install()
    client.run("Explain the code", [client.read("one.py"), {"text": "It has lines."}])
    wait_for(client, "Explain the code")
    edit = client.edit("four.py", "line 1", "line one")
    client.run("Change four", [client.read("four.py"), edit, {"text": "Changed."}])
    wait_for(client, "Change four")
    assert "line one" in (project / "four.py").read_text()
    before = picture_of(project)
    script = [
        client.read("four.py"),
        client.shell(FORMAT),
        client.shell(CLEAN_UP),
        client.edit("four.py", "line 3", "line three"),
        client.shell(COMMIT),
        {"text": "All is tidy."},
    ]
    run = client.run("Tidy up everything", script)
    assert run.code == 0, run.told
    assert not (project / "notes.txt").exists(), run.told
    assert "tidy up" in git("log", "-1", "--format=%s", at=project), run.told
    row = wait_for(client, "Tidy up everything")
    after = picture_of(project)
    assert row["client"] == client.name
    assert row["how"] != "interrupted", "its end was seen"

    shown = client.holdfast("undo")
    assert "Tidy up everything" in shown
    assert "tidy up" in shown
    client.holdfast("undo", "--yes")
    assert picture_of(project) == before
    client.holdfast("redo", "--yes")
    assert picture_of(project) == after


def wait_for(client: Client, text: str) -> Any:
    """Return the row of a prompt once its end is kept."""
    end = time.monotonic() + PATIENCE
    rows: Any = []
    while time.monotonic() < end:
        rows = json.loads(client.holdfast("undo", "--list", "--json"))["data"]["prompts"]
        found = [row for row in rows if text in row["text"] and not row["is_running"]]
        if found:
            return found[0]
        time.sleep(0.2)
    pytest.fail(f"the prompt was not kept: {rows}")
