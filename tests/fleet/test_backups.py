"""Backups of checkpoints: made before each update, the last ten an agent, the newest valid restored."""

from __future__ import annotations

import multiprocessing
import os
import re
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet import backups
from holdfast.fleet.epic import Epic
from holdfast.fleet.rules.verdict import is_minimal_work
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import NotAllowed, StoreAway
from holdfast.kernel.workspace import discover
from tests.fleet.examples import NOW, saved, text_of
from tests.fleet.world import Scene

FOLDER = Path("agent_checkpoints/backups")


@pytest.fixture
def epic(repository: Path) -> Epic:
    return Epic(discover(), "")


def content(**changes: Any) -> bytes:
    return text_of(saved(**changes)).encode()


def put(name: str, what: bytes) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_bytes(what)


def kept() -> list[str]:
    return sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.clause("FLEET-77", "FLEET-78")
def test_a_backup_is_the_checkpoint_byte_for_byte(epic: Epic) -> None:
    before = b'{"agent_id":"Secondary-A",\r\n "own": "\xc3\xa9"}\n\n'
    name = backups.write(epic, "Secondary-A", before, NOW)
    assert name == "agent_checkpoints/backups/secondary_a_20260115_143000.json"
    assert re.fullmatch(r"secondary_a_\d{8}_\d{6}\.json", os.path.basename(name))
    assert Path(name).read_bytes() == before
    assert kept() == ["secondary_a_20260115_143000.json"], "and nothing beside it"


def test_in_an_epic_that_is_a_folder_of_the_repository(repository: Path) -> None:
    Path("epics/one").mkdir(parents=True)
    name = backups.write(Epic(discover(), "epics/one"), "Agent-Primary", b"{}", NOW)
    assert name == "agent_checkpoints/backups/primary_20260115_143000.json"
    assert (Path("epics/one") / name).read_bytes() == b"{}"


@pytest.mark.clause("AMB-FLEET-07")
def test_backups_of_the_same_second_get_a_number(epic: Epic) -> None:
    names = [
        os.path.basename(
            backups.write(epic, "Secondary-A", content(phase=str(number)), NOW + number)
        )
        for number in range(11)
    ]
    assert names[:2] == ["secondary_a_20260115_143000.json", "secondary_a_20260115_143000_2.json"]
    assert names[-1] == "secondary_a_20260115_143000_11.json"
    assert backups.listing(epic, "Secondary-A") == [f"{FOLDER}/{name}" for name in reversed(names)]


@pytest.mark.clause("FLEET-79", "AMB-FLEET-06")
def test_the_ten_newest_of_each_agent_are_kept(epic: Epic) -> None:
    others = ["secondary_b_20260101_000000.json", "secondary_a_new_20260101_000000.json"]
    for name in (*others, "secondary_a_notes.json", "secondary_a_2026_01.json"):
        put(name, b"{}")
    strangers = kept()
    made = []
    for number in range(12):
        now = NOW + number * 15 * MINUTE
        made.append(backups.write(epic, "Secondary-A", content(ago=-15 * number), now))
        backups.prune(epic, "Secondary-A")
    assert kept() == sorted([*strangers, *(os.path.basename(name) for name in made[2:])])
    assert backups.listing(epic, "Secondary-A") == made[:1:-1]


@pytest.mark.clause("AMB-FLEET-06")
def test_an_agents_backups_are_told_from_those_of_a_longer_name(epic: Epic) -> None:
    for number in range(12):
        backups.write(
            epic, "Secondary-A-New", content(agent="Secondary-A-New"), NOW + number * MINUTE
        )
    backups.write(epic, "Secondary-A", content(), NOW)
    backups.prune(epic, "Secondary-A")
    assert len(backups.listing(epic, "Secondary-A-New")) == 12
    assert len(backups.listing(epic, "Secondary-A")) == 1


@pytest.mark.clause("AMB-FLEET-08")
def test_newest_is_by_the_time_inside_and_then_by_name(epic: Epic) -> None:
    """Neither by when the file was copied, nor by the local time in the name."""
    put("secondary_a_20260115_230000.json", content(ago=90))
    put("secondary_a_20260115_120000.json", content(ago=10, phase="newest"))
    put("secondary_a_20260115_130000.json", content(ago=10, phase="by name"))
    os.utime(FOLDER / "secondary_a_20260115_230000.json", ns=(NOW * 2_000_000,) * 2)
    assert [os.path.basename(name) for name in backups.listing(epic, "Secondary-A")] == [
        "secondary_a_20260115_130000.json",
        "secondary_a_20260115_120000.json",
        "secondary_a_20260115_230000.json",
    ]


@pytest.mark.clause("AMB-FLEET-08", "AMB-FLEET-10")
def test_broken_ones_are_last_and_never_chosen(epic: Epic) -> None:
    put("secondary_a_20260101_000000.json", content(ago=500, phase="good"))
    put("secondary_a_20260102_000000.json", b'{"cut off": ')
    put("secondary_a_20260103_000000.json", b"")
    put("secondary_a_20260104_000000.json", content(last_checkpoint="never"))
    (FOLDER / "secondary_a_20260105_000000.json").symlink_to("secondary_a_20260101_000000.json")
    (FOLDER / "secondary_a_20260106_000000.json").mkdir()
    ordered = [os.path.basename(name)[18:20] for name in backups.listing(epic, "Secondary-A")]
    assert [*ordered[:2], *sorted(ordered[2:])] == ["01", "04", "02", "03", "05", "06"]
    found = backups.newest_valid(epic, "Secondary-A")
    assert found is not None
    assert found[0] == "agent_checkpoints/backups/secondary_a_20260101_000000.json"
    assert found[1]["phase"] == "good"


def test_no_backup_at_all(epic: Epic) -> None:
    assert backups.newest_valid(epic, "Secondary-A") is None
    assert backups.listing(epic, "Secondary-A") == []
    backups.prune(epic, "Secondary-A")
    put("secondary_a_20260102_000000.json", b"{")
    assert backups.newest_valid(epic, "Secondary-A") is None


def test_broken_ones_go_before_good_ones(epic: Epic) -> None:
    for day in range(1, 13):
        put(f"secondary_a_202601{day:02d}_000000.json", b"{" if day > 10 else content(ago=-day))
    backups.prune(epic, "Secondary-A")
    assert kept() == [f"secondary_a_202601{day:02d}_000000.json" for day in range(1, 11)]


@pytest.mark.clause("AMB-FLEET-12", "FLEET-73")
@pytest.mark.parametrize(("seconds", "minimal"), [(29 * 60 + 59, True), (30 * 60, False)])
def test_work_began_with_the_oldest_backup(epic: Epic, seconds: int, minimal: bool) -> None:
    current = NOW
    assert backups.work_began(epic, "Secondary-A", current) == current, "none: it began just now"
    put("secondary_a_20260115_000000.json", content(ago=seconds / 60))
    put("secondary_a_20260115_000001.json", content(ago=5))
    put("secondary_a_20260114_000000.json", b"{")
    put("secondary_b_20260114_000000.json", content(ago=900))
    began = backups.work_began(epic, "Secondary-A", current)
    assert began == NOW - seconds * 1000
    assert is_minimal_work(began, current) is minimal


def test_after_a_clock_stepped_back_work_began_with_the_earlier_time(epic: Epic) -> None:
    put("secondary_a_20260115_153000.json", content(ago=-60))
    assert backups.work_began(epic, "Secondary-A", NOW) == NOW


def test_a_folder_that_leads_out_of_the_workspace_is_refused(epic: Epic, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    FOLDER.parent.mkdir()
    FOLDER.symlink_to(outside)
    with pytest.raises(NotAllowed, match="leaves the workspace"):
        backups.write(epic, "Secondary-A", b"{}", NOW)
    assert list(outside.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said(epic: Epic) -> None:
    FOLDER.parent.mkdir()
    FOLDER.write_text("a file where the folder should be")
    with pytest.raises(StoreAway, match="backup of the checkpoint"):
        backups.write(epic, "Secondary-A", b"{}", NOW)


def many(root: str, number: int) -> None:
    epic = Epic(discover(root), "")
    for turn in range(20):
        name = backups.write(epic, "Secondary-A", content(phase=f"{number}/{turn}"), NOW)
        assert name
        backups.prune(epic, "Secondary-A")


def test_two_processes_of_one_agent_at_the_same_second(epic: Epic, repository: Path) -> None:
    """Nothing is overwritten, nothing half written is seen, and ten remain."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=many, args=(str(repository), number)) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    backups.prune(epic, "Secondary-A")
    assert len(kept()) == 10
    assert all(backups._parse((FOLDER / name).read_bytes()) for name in kept())


@pytest.mark.clause("FLEET-79")
def test_backups_of_other_programs_are_counted_at_every_tenth_heartbeat(repository: Path) -> None:
    scene = Scene(repository)
    scene.start()
    for number in range(12):
        put(f"secondary_a_20250101_0000{number:02d}.json", content(ago=600_000 + number))
    for number in range(12):
        scene.beat(current_step=f"Step {number}")
        if number >= 10:
            assert len(kept()) == 10
    assert not [name for name in kept() if "_20250101_" in name]
