"""A journal that version 0.1.0 wrote: it opens, verifies, and its work is resumed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import holdfast as library
from holdfast.fleet.rules import agent
from holdfast.kernel.state import load
from holdfast.kernel.workspace import discover
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast
DUMP = Path(__file__).parent / "fixtures" / "journal-0.1.0.sql"
SESSION = "11111111-old"


@pytest.fixture
def journal(repository: Path) -> Path:
    """The old journal in the place of this repository's."""
    path = Path(discover().journal_path)
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text("utf-8"))
    connection.commit()
    connection.close()
    return path


def test_an_old_journal_verifies_and_has_all_its_records(journal: Path, holdfast: Holdfast) -> None:
    assert holdfast("verify").code == 0
    records = holdfast("history", "--json").data["records"]
    kinds = {record["stream"].partition(":")[0] for record in records}
    assert kinds >= {"note", "session", "agent", "loop", "gate", "rfc", "budget"}
    assert {"noted", "captured"} <= {record["kind"] for record in records}
    assert holdfast("status").code == 0


def test_the_work_of_an_old_session_is_resumed(journal: Path, holdfast: Holdfast) -> None:
    words = ("resume", "--session", SESSION, "--accept-foreign", "--json")
    found = holdfast(*words).data
    assert found["verdict"] == "FOREIGN", "it was captured in another folder"
    for said in (
        "Resume CIA-7. Current task: task 2 of 3. Key files: a.py.",
        "Next action: make parse() keep quoted words together.",
        "Decision: split on blanks: quotes come second",
        "Remaining: Docs",
        "The parser is done; the renderer is next.",
    ):
        assert said in found["pack"]


def test_old_streams_go_on(journal: Path, holdfast: Holdfast) -> None:
    assert holdfast("note", "More was noted.").code == 0
    assert (
        holdfast("checkpoint", "--session", SESSION, "--status", "nearly", "--skip-git").code == 0
    )
    assert "nearly" in Path(".ccc-progress.md").read_text("utf-8")
    assert "More was noted." in Path(".notes/default.md").read_text("utf-8")
    with library.open() as workspace:
        assert len(workspace.gates.waiting()) == 1
        (head,) = workspace.journal.heads("agent:")
        state = load(workspace.journal, agent, head["stream"])[0]
    assert state["checkpoint"]["current_step"] == "Writing the acceptance criteria"
    assert holdfast("verify").code == 0
