"""What the files of the protocol say is so: times, counts, archives, backups, messages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from holdfast.fleet import updates
from holdfast.kernel import clock
from holdfast.kernel.errors import FenceLost, HoldfastError
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, A, C, Scene


@pytest.fixture
def readme(scene: Scene) -> Path:
    path = scene.folder / "EPIC_README.md"
    path.write_text("# Epic\n", "utf-8")
    return path


@pytest.fixture
def other(scene: Scene, git: Git) -> Scene:
    """A second worktree, with its own copy of EPIC_README.md."""
    root = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(root), at=scene.root)
    (root / "EPIC_README.md").write_text("# Epic\n", "utf-8")
    return Scene(root)


# EPIC_README.md


@pytest.mark.clause("FLEET-56")
def test_an_escalation_reaches_the_primarys_file(scene: Scene, readme: Path, other: Scene) -> None:
    scene.start(PRIMARY, "feature_01")
    other.start(A)
    scene.later(61).check()
    assert f"{A}: STALE (likely crashed)" in readme.read_text("utf-8")
    assert (other.folder / "EPIC_README.md").read_text("utf-8") == "# Epic\n"
    other.now = scene.now
    updates.beat(other.context(), A)
    text = readme.read_text("utf-8")
    assert "STALE" not in text
    assert "BEGIN SECONDARY-A PROGRESS" in text


@pytest.mark.clause("FLEET-37")
def test_the_time_of_the_readme_moves_only_when_it_was_written(
    scene: Scene, readme: Path, holdfast: Holdfast
) -> None:
    scene.start()
    first = readme.read_bytes()

    def told() -> str:
        return str(scene.file()["coordination_state"]["last_epic_readme_update"])

    assert told() == "2026-01-15T14:30:00Z"
    updates.beat(scene.later(15).context(), A, step="Research")
    assert readme.read_bytes() == first
    assert told() == "2026-01-15T14:30:00Z"
    updates.block(scene.later(15).context(), A, blocker="No file")
    assert readme.read_bytes() != first
    assert told() == "2026-01-15T15:00:00Z"
    assert scene.file()["last_checkpoint"] == "2026-01-15T15:00:00Z"
    # An edit that fails moves nothing until it is made.
    readme.unlink()
    readme.mkdir()
    result = updates.unblock(scene.later(15).context(), A)
    assert "EPIC_README.md was not written" in result.warnings[0]
    assert told() == "2026-01-15T15:00:00Z"
    readme.rmdir()
    readme.write_text("# Epic\n", "utf-8")
    updates.beat(scene.later(15).context(), A)
    assert "**Blockers:** none" in readme.read_text("utf-8")
    assert told() == "2026-01-15T15:30:00Z"


# Messages


@pytest.mark.clause("FLEET-18")
def test_unread_messages_are_right_after_the_inbox(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    holdfast("agent", "send", A, "--subject", "one")
    scene.beat()
    assert scene.file()["coordination_state"]["unread_messages"] == 1
    said = scene.file()["last_checkpoint"]
    assert holdfast("agent", "inbox", A).code == 0
    saved = scene.file()
    assert saved["coordination_state"]["unread_messages"] == 0
    assert saved["coordination_state"]["last_inbox_check"] > said
    assert saved["last_checkpoint"] == said, "reading messages is no heartbeat"


@pytest.mark.parametrize("gone", ["one", "two"])
def test_a_message_deleted_by_hand_stays_deleted(
    scene: Scene, holdfast: Holdfast, gone: str
) -> None:
    scene.start()
    for subject in ("one", "two"):
        holdfast("agent", "send", A, "--subject", subject)
    path = scene.folder / "agent_comms" / "primary_to_secondary_a.md"
    above, *blocks = path.read_text("utf-8").split("## Message ")
    kept = [block for block in blocks if f"**Subject:** {gone}" not in block]
    path.write_text("## Message ".join([above, *kept]), "utf-8")
    shown = holdfast("agent", "inbox", A).out
    assert gone not in shown
    holdfast("agent", "send", A, "--subject", "three")
    assert f"**Subject:** {gone}" not in path.read_text("utf-8")
    assert path.read_text("utf-8").count("## Message ") == 2


# A refused command


def test_a_refused_heartbeat_repairs_nothing(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.later(1).beat(stage="S2.P2")
    scene.later(1).beat()
    scene.path().write_text("{ broken", "utf-8")
    assert holdfast("agent", "beat", A, "--stage", "S2.P1").code == 2
    assert scene.path().read_text("utf-8") == "{ broken"
    first = scene.agent().head
    assert first is not None
    scene.takeover(A, A)
    scene.path().write_text("{ broken", "utf-8")
    assert holdfast("agent", "beat", A, "--fence", str(first["fence"])).code == 5
    assert scene.path().read_text("utf-8") == "{ broken"


# Archives by hand


@pytest.mark.clause("FLEET-70")
@pytest.mark.parametrize("word", ["crashed", "aborted"])
def test_a_file_that_is_archived_by_hand_ends_the_life(
    scene: Scene, holdfast: Holdfast, word: str
) -> None:
    scene.start()
    archive = scene.path(f"secondary_a_{word}_1768490000")
    os.rename(scene.path(), archive)  # mv, as in the protocol's own script
    assert scene.listing() == {}
    answer = holdfast("agent", "beat", A)
    assert answer.code == 5
    assert "was archived by hand" in answer.err
    assert scene.names() == [archive.name]
    # Its feature is free, and goes on from the archive.
    assert holdfast("agent", "start", C, "--feature", FEATURE, "--from", str(archive)).code == 0
    assert holdfast("agent", "beat", A).code == 5
    assert scene.names() == [archive.name, "secondary_c.json"]


def test_a_feature_is_free_once_its_owners_file_is_archived_by_hand(scene: Scene) -> None:
    scene.start()
    os.rename(scene.path(), scene.path("secondary_a_crashed_1768490000"))
    scene.start(C)
    with pytest.raises(FenceLost):
        scene.beat()


def test_a_copy_in_an_archive_ends_nothing(scene: Scene) -> None:
    scene.start()
    shutil.copy(scene.path(), scene.path("secondary_a_crashed_1768490000"))
    scene.beat()
    scene.path().unlink()
    (scene.path("secondary_a_crashed_1768490000")).unlink()
    assert scene.beat().lines[0] == "WARNING: Checkpoint file missing"


# Complete agents


@pytest.mark.clause("AMB-FLEET-04")
def test_a_complete_agent_never_crashed(scene: Scene, holdfast: Holdfast) -> None:
    scene.now = clock.now() - 3 * clock.HOUR
    scene.start()
    updates.complete(scene.context(), A)
    for words in (
        ["check"],
        ["list"],
        ["check", "--json"],
        ["resume", A],
        ["takeover", A, "--by", C],
    ):
        answer = holdfast("agent", *words)
        said = (answer.out + answer.err).lower()
        assert "crashed" not in said
        assert "stale" not in said, words
    assert f"✅ {A}: COMPLETE (180 min ago)" in holdfast("agent", "check").out


# Backups


@pytest.mark.clause("FLEET-79")
def test_the_ten_newest_backups_of_one_second_are_kept(scene: Scene) -> None:
    scene.start()
    for number in range(27):
        scene.beat(current_step=f"Step {number}")
    texts = [path.read_text("utf-8") for path in scene.backups()]
    kept = {number for number in range(27) if any(f'"Step {number}"' in text for text in texts)}
    assert kept == set(range(16, 26))


@pytest.mark.clause("FLEET-80")
def test_the_newest_backup_is_the_one_written_last(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.later(60 * 24 * 365).beat(current_step="While the clock was a year ahead")
    scene.later(-60 * 24 * 365)
    for number in range(12):
        scene.later(1).beat(current_step=f"Step {number}")
    scene.path().write_text("{ broken", "utf-8")
    answer = holdfast("agent", "restore", A)
    assert answer.code == 0
    assert scene.file()["current_step"] == "Step 10"
    assert not any("year ahead" in path.read_text("utf-8") for path in scene.backups())
    assert len(scene.backups()) == 10


def test_a_newer_backup_of_a_script_is_the_newest(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    scene.later(1).beat(current_step="One")
    scene.later(1).beat(current_step="Two")
    scene.later(10).write(
        "secondary_a", current_step="By a script", session_id=scene.file()["session_id"]
    )
    shutil.copy(
        scene.path(), scene.folder / "agent_checkpoints/backups/secondary_a_20260115_144200.json"
    )
    scene.path().write_text("{ broken", "utf-8")
    assert holdfast("agent", "restore", A).code == 0
    assert scene.file()["current_step"] == "By a script"


def test_what_cannot_be_restored_is_said(scene: Scene) -> None:
    scene.start()
    with pytest.raises(HoldfastError, match="No backup found"):
        updates.restore(scene.context(), A)
