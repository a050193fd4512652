"""A pipe, a folder, a dangling link or an endless device in the place of a file stops one thing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import bad_files
from tests.cli.conftest import Holdfast
from tests.fleet.world import PRIMARY, A, B, Scene

spoil, quick = bad_files.spoil, bad_files.quick


@pytest.fixture
def fleet(scene: Scene, holdfast: Holdfast) -> Scene:
    (scene.folder / "EPIC_README.md").write_text("# Epic\n", "utf-8")
    (scene.folder / "f2").mkdir()
    for agent, feature in ((PRIMARY, "f1"), (A, "f2"), (B, "f3")):
        assert holdfast("agent", "start", agent, "--feature", feature).code == 0
        assert holdfast("agent", "beat", agent).code == 0
    return scene


def test_in_the_place_of_a_checkpoint(
    fleet: Scene, quick: Holdfast, spoil: Callable[[Path], None]
) -> None:
    spoil(fleet.path("secondary_a"))
    entries = {each["agent_id"]: each for each in quick("agent", "list", "--json").data["agents"]}
    assert entries[A]["verdict"] == "corrupted"
    assert entries[A]["problem"]
    assert entries[B]["verdict"] == "active"
    assert quick("agent", "beat", B).code == 0
    beat = quick("agent", "beat", A, "--step", "On and on")
    assert beat.code == 0, "the journal has it"
    assert f"{A}: CORRUPTED" in quick("agent", "check").out or "link" in entries[A]["problem"]
    assert quick("agent", "takeover", A, "--by", "Secondary-C", "--yes").code == 0


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["agent_comms", "agent_comms/primary_to_secondary_a.md"])
def test_in_the_place_of_messages(
    fleet: Scene, quick: Holdfast, spoil: Callable[[Path], None], name: str
) -> None:
    spoil(fleet.folder / name)
    answer = quick("agent", "send", A, "--subject", "Hello")
    file = fleet.folder / "agent_comms" / "primary_to_secondary_a.md"
    # A link was moved to quarantine, and the file is there; whatever else stays is named.
    is_there = file.is_file() and not file.is_symlink()
    assert is_there or "primary_to_secondary_a.md was not written" in answer.err or answer.code
    shown = quick("agent", "inbox", A)
    assert "it is there now" not in shown.err
    assert quick("agent", "beat", A).code == 0
    assert quick("agent", "beat", B).code == 0


def test_in_the_place_of_the_readme(
    fleet: Scene, quick: Holdfast, spoil: Callable[[Path], None]
) -> None:
    spoil(fleet.folder / "EPIC_README.md")
    assert quick("agent", "block", A, "No data").code == 0
    assert fleet.file()["status"] == "BLOCKED"
    assert quick("agent", "list").code == 0


def test_in_the_place_of_the_backups(
    fleet: Scene, quick: Holdfast, spoil: Callable[[Path], None]
) -> None:
    spoil(fleet.folder / "agent_checkpoints" / "backups")
    answer = quick("agent", "beat", A, "--step", "On and on")
    assert answer.code == 0
    assert fleet.file()["current_step"] == "On and on"
    assert quick("agent", "restore", B).code in (0, 1)


def test_in_the_place_of_what_the_worktree_remembers(
    fleet: Scene, quick: Holdfast, spoil: Callable[[Path], None]
) -> None:
    for path in (fleet.root / ".git" / "holdfast" / "worktree" / "lives").iterdir():
        spoil(path)
    answer = quick("agent", "beat", A)
    assert answer.code == 5
    assert "No life of Secondary-A began in this worktree." in answer.err
    assert quick("agent", "list").code == 0


def test_an_agents_words_carry_no_escapes_into_files(fleet: Scene, quick: Holdfast) -> None:
    evil = "before\x1b]0;owned\x07after\x1b[2J\x9b2J\x7f\u202e"
    assert quick("agent", "beat", A, "--step", evil, "--recovery", evil, "--done", evil).code == 0
    assert quick("agent", "block", A, evil).code == 0
    assert quick("agent", "send", A, "--subject", evil, "--details", evil).code == 0
    assert quick("agent", "complete", B).code == 0
    assert (fleet.folder / "f2" / "STATUS").is_file()
    for path in fleet.folder.rglob("*"):
        if path.is_file() and not {".git", ".holdfast"} & set(path.parts):
            content = path.read_text("utf-8", "replace")
            raw = [letter for letter in "\x1b\x07\x9b\x7f\u202e" if letter in content]
            assert raw == [], path
    assert fleet.file()["current_step"] == evil, "escaped, and not changed"
