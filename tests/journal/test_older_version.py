"""Journals that other versions wrote: they open, verify, and their work is resumed.

`docs/formats.md` promises it. A fixture is the SQL dump of a journal that the version itself made; a
version that is released adds its own, and none is ever changed.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import holdfast as library
from holdfast.fleet.rules import agent
from holdfast.kernel.state import load
from holdfast.kernel.workspace import discover
from holdfast.version import __version__
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast
FIXTURES = Path(__file__).parent / "fixtures"
SESSION = "11111111-old"
ALL_KINDS = {"note", "session", "agent", "feature", "comms", "gate", "rfc", "budget"}
# Each journal with the kinds of streams and the number of records in it.
KEPT = {
    "journal-0.1.0-first.sql": ({"note"}, 2),
    "journal-0.1.0-last.sql": (ALL_KINDS, 13),
    "journal-0.2.0.sql": (ALL_KINDS, 13),
}


def place(name: str) -> Path:
    """The journal of a fixture in the place of this repository's."""
    path = Path(discover().journal_path)
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / name).read_text("utf-8"))
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def journal(repository: Path) -> Path:
    return place("journal-0.1.0.sql")


def test_every_version_has_a_journal_here() -> None:
    assert (FIXTURES / f"journal-{__version__}.sql").exists(), "a release adds its own journal"
    assert {path.name for path in FIXTURES.glob("*.sql")} == {*KEPT, "journal-0.1.0.sql"}


def kept_records(holdfast: Holdfast) -> list[dict[str, str]]:
    """All records except those about people's acts: the latch of the journal's stop is not here, which is
    noticed and recorded."""
    records: list[dict[str, str]] = holdfast("history", "--json").data["records"]
    return [record for record in records if record["stream"] != "people:workspace"]


@pytest.mark.parametrize("name", KEPT)
def test_a_journal_of_another_version_opens_and_goes_on(
    repository: Path, holdfast: Holdfast, name: str
) -> None:
    place(name)
    expected, count = KEPT[name]
    assert len(records := kept_records(holdfast)) == count
    assert {record["stream"].partition(":")[0] for record in records} == expected
    assert holdfast("verify").code == 0
    assert holdfast("status").code == 0
    # A stop of a budget in it still stops agents; a note is no agent's act.
    assert holdfast("note", "More was noted.").code == 0
    noted = Path(".notes/default.md").read_text("utf-8")
    for text in ("The parser is done; the renderer is next.", "Step 3 is done.", "More was noted."):
        assert text in noted
    assert holdfast("verify").code == 0
    assert len(kept_records(holdfast)) == count + 1


@pytest.mark.parametrize("name", [name for name in KEPT if "first" not in name])
def test_what_another_version_stopped_and_asked_still_holds(
    repository: Path, holdfast: Holdfast, name: str
) -> None:
    place(name)
    pack = holdfast("resume", "--session", "22222222-old", "--accept-foreign", "--json").data[
        "pack"
    ]
    assert "split on blanks: quotes come second" in pack
    assert "make parse() keep quoted words together" in pack
    with library.open() as workspace:
        (gate,) = workspace.gates.waiting()
    assert gate.id == "quotes"
    Path(".autopilot").mkdir(exist_ok=True)
    assert holdfast("guard", "check").code == 7, "a stop is lifted by a person, not by an upgrade"


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
