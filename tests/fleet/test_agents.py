"""A life from its start to its end: heartbeats, phases, blocks, backups, broken files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.fleet import updates
from holdfast.fleet.context import FleetAgent
from holdfast.fleet.rules.verdict import is_due
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, NotFound, Usage
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, START, A, B, C, Scene

if TYPE_CHECKING:
    from holdfast.kernel.commit import Order, Outcome


@pytest.mark.clause("FLEET-25", "FLEET-27", "FLEET-28", "FLEET-29", "FLEET-30", "FLEET-31")
def test_the_first_checkpoint(scene: Scene) -> None:
    assert not (scene.folder / "agent_checkpoints").exists()
    told = scene.start()
    at = "2026-01-15T14:30:00Z"
    assert scene.file() == {
        "agent_id": "Secondary-A",
        "agent_type": "secondary",
        "session_id": told.session,
        "feature": FEATURE,
        "stage": "S2.P1",
        "phase": "Research Phase - Starting",
        "last_checkpoint": at,
        "next_checkpoint_expected": "2026-01-15T14:45:00Z",
        "status": "IN_PROGRESS",
        "can_resume": True,
        "blockers": [],
        "files_modified": [],
        "recovery_instructions": "Just started S2.P1. No work done yet. Start from beginning of "
        "S2.P1 Research Phase guide.",
        "current_step": "Reading S2.P1 guide",
        "completed_steps": [
            "Received handoff package",
            "Verified epic path",
            "Created checkpoint file",
        ],
        "next_steps": [
            "Read S2.P1 guide",
            "Phase 0: Discovery Context Review",
            "Phase 1: Targeted Research",
        ],
        "coordination_state": {
            "last_inbox_check": at,
            "unread_messages": 0,
            "last_epic_readme_update": at,
            "last_status_update": at,
        },
    }


@pytest.mark.clause("FLEET-25", "FLEET-26", "FLEET-32", "FLEET-59")
def test_a_pasted_package_starts_and_pasted_again_resumes(
    scene: Scene, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "package.txt"
    package.write_text(holdfast("agent", "handoff", A, "--feature", FEATURE).out)
    first = holdfast("agent", "start", "--handoff", str(package))
    assert first.code == 0
    assert first.out.splitlines()[1] == "Initial checkpoint created"
    again = holdfast("agent", "start", "--handoff", str(package))
    assert again.code == 0
    assert again.out.splitlines()[0] == "Found existing checkpoint, resuming..."


@pytest.mark.clause("FLEET-19")
def test_nothing_is_written_for_a_silent_agent(scene: Scene) -> None:
    scene.start()
    before = (scene.path().read_bytes(), os.stat(scene.path()).st_mtime_ns)
    scene.later(120)
    scene.listing()
    scene.check()
    assert (scene.path().read_bytes(), os.stat(scene.path()).st_mtime_ns) == before


@pytest.mark.clause("FLEET-20", "FLEET-33")
def test_a_heartbeat_is_due_every_fifteen_minutes(scene: Scene) -> None:
    scene.start()
    last = clock.parse(scene.file()["last_checkpoint"])
    assert not is_due(last, START + 15 * clock.MINUTE - 1000)
    assert is_due(last, START + 15 * clock.MINUTE)


@pytest.mark.clause("FLEET-22")
def test_a_blocker_is_in_the_checkpoint(scene: Scene) -> None:
    scene.start()
    scene.update(do="block", blocker="The ranking file is missing")
    assert scene.file()["status"] == "BLOCKED"
    assert scene.file()["blockers"] == ["The ranking file is missing"]
    scene.update(do="block", blocker="And the other one")
    scene.update(do="unblock", blocker="The ranking file is missing")
    assert (scene.file()["status"], scene.file()["blockers"]) == ("BLOCKED", ["And the other one"])
    with pytest.raises(Usage):
        scene.update(do="unblock", blocker="What?")
    scene.update(do="unblock")
    assert (scene.file()["status"], scene.file()["blockers"]) == ("IN_PROGRESS", [])


@pytest.mark.clause("FLEET-21", "FLEET-85")
def test_the_last_checkpoint_of_a_stage_carries_the_next(scene: Scene) -> None:
    scene.start()
    scene.update(do="phase", stage="S2.P2", next_steps=["Write the requirements"])
    saved = scene.file()
    assert (saved["stage"], saved["phase"]) == ("S2.P2", "Specification - Starting")
    assert saved["completed_steps"][-1] == "S2.P1 complete"
    assert saved["next_steps"] == ["Write the requirements"]
    assert saved["recovery_instructions"] == "Resume from beginning of S2.P2"
    scene.update(do="phase", stage="S2.P3")
    saved = scene.file()
    assert (saved["stage"], saved["phase"]) == ("S2.P3", "Refinement - Starting")
    assert saved["completed_steps"][-1] == "S2.P2 complete"
    assert saved["next_steps"]
    assert saved["recovery_instructions"] == "Resume from beginning of S2.P3"


@pytest.mark.clause("FLEET-86")
def test_a_stage_that_was_not_saved_stops_the_transition(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    write = FleetAgent.commit

    def written_over(agent: FleetAgent, orders: list[Order], **options: Any) -> list[Outcome]:
        outcomes = write(agent, orders, **options)
        content = {**scene.file(), "stage": "S2.P1"}
        scene.path().write_text(json.dumps(content))
        return outcomes

    monkeypatch.setattr(FleetAgent, "commit", written_over)
    with pytest.raises(Conflict) as refused:
        scene.update(do="phase", stage="S2.P2")
    assert refused.value.kind == "stage_not_saved"


@pytest.mark.clause("AMB-FLEET-23")
def test_a_stage_never_goes_back_except_by_a_restart(scene: Scene) -> None:
    scene.start()
    scene.beat(stage="S2.P3")
    with pytest.raises(Usage):
        scene.beat(stage="S2.P2")
    updates.complete(scene.context(), A)
    scene.later(5).beat(current_step="Still here")
    assert (scene.file()["status"], scene.file()["stage"]) == ("COMPLETE", "S2.P3")
    scene.restart(yes=True)
    assert scene.file()["stage"] == "S2.P1"


@pytest.mark.clause("FLEET-34", "FLEET-35", "FLEET-38", "FLEET-39", "FLEET-83")
def test_a_heartbeat_reads_rewrites_and_verifies(scene: Scene) -> None:
    session = scene.start().session
    told = scene.later(15).update(
        set={
            "stage": "S2.P2",
            "current_step": "Writing Acceptance Criteria",
            "recovery_instructions": "Complete the criteria, then the checklist.",
        },
        completed_steps=["S2.P1 complete"],
        files_modified=["spec.md"],
    )
    assert told.lines == ["Checkpoint updated", "Checkpoint valid"]
    saved = scene.file()
    assert saved["session_id"] == session
    assert saved["last_checkpoint"] == "2026-01-15T14:45:00Z"
    assert saved["next_checkpoint_expected"] == "2026-01-15T15:00:00Z"
    assert saved["stage"] == "S2.P2"
    assert saved["current_step"] == "Writing Acceptance Criteria"
    assert saved["completed_steps"][-1] == "S2.P1 complete"
    assert saved["files_modified"] == ["spec.md"]
    assert saved["recovery_instructions"].startswith("Complete the criteria")


@pytest.mark.clause("FLEET-37")
def test_coordination_times_move_only_with_what_was_done(scene: Scene) -> None:
    (scene.folder / FEATURE).mkdir()
    scene.start()
    scene.later(15).beat(current_step="Still research")
    state = scene.file()["coordination_state"]
    assert state["last_inbox_check"] == "2026-01-15T14:45:00Z"
    assert state["last_status_update"] == "2026-01-15T14:30:00Z"
    assert state["last_epic_readme_update"] == "2026-01-15T14:30:00Z"
    scene.later(15).update(do="phase", stage="S2.P2")
    state = scene.file()["coordination_state"]
    assert state["last_status_update"] == "2026-01-15T15:00:00Z"


def test_unread_messages_are_counted_at_each_heartbeat(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    assert holdfast("agent", "send", A, "--subject", "Hello").code == 0
    told = scene.beat()
    assert scene.file()["coordination_state"]["unread_messages"] == 1
    assert told.lines[-1] == "You have 1 unread message"
    holdfast("agent", "inbox", A)
    assert scene.beat().lines[-1] == "Checkpoint valid"


@pytest.mark.clause("FLEET-40")
def test_a_file_broken_during_an_update_is_restored(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.start()
    before = scene.file()
    write = FleetAgent.commit

    def broken(agent: FleetAgent, orders: list[Order], **options: Any) -> list[Outcome]:
        outcomes = write(agent, orders, **options)
        command: Any = orders[0].command
        if command["do"] == "beat":
            scene.path().write_text('{"agent_id": "Secon')
        return outcomes

    with monkeypatch.context() as patch:
        patch.setattr(FleetAgent, "commit", broken)
        told = scene.later(5).beat(current_step="Lost")
    assert told.lines[1] == "ERROR: Checkpoint corrupted during update"
    assert told.lines[2].startswith("Restoring from backup: ")
    assert told.lines[3] == "Checkpoint restored"
    assert scene.file() == before


@pytest.mark.clause("FLEET-77", "FLEET-79", "AMB-FLEET-09")
def test_every_update_backs_up_what_was_there(scene: Scene) -> None:
    scene.start()
    for number in range(12):
        before = scene.path().read_bytes()
        scene.later(1).beat(current_step=f"Step {number}")
        assert before in [path.read_bytes() for path in scene.backups()]
    assert len(scene.backups()) == 10
    assert scene.backups()[-1].name == "secondary_a_20260115_144200.json"


@pytest.mark.clause("FLEET-34", "FLEET-87")
def test_a_missing_file_is_made_again(scene: Scene) -> None:
    scene.start()
    scene.beat(current_step="Half way")
    scene.path().unlink()
    told = scene.later(5).beat()
    assert told.lines[:2] == [
        "WARNING: Checkpoint file missing",
        "Creating fresh checkpoint from current state...",
    ]
    assert scene.file()["current_step"] == "Half way"


@pytest.mark.clause("FLEET-88", "AMB-FLEET-10", "AMB-FLEET-11")
@pytest.mark.parametrize(
    "broken", [b"not JSON", b"{", b"[]", b"null", b"\xff", b'{"a": NaN}', b"{} {}"]
)
def test_a_broken_file_is_restored_from_the_newest_valid_backup(
    scene: Scene, broken: bytes
) -> None:
    scene.start()
    scene.later(1).beat(current_step="One")
    scene.later(1).beat(current_step="Two")
    good = scene.backups()[-1].read_bytes()
    (scene.folder / "agent_checkpoints/backups/secondary_a_20260115_235959.json").write_text("{ ")
    scene.path().write_bytes(broken)
    told = scene.later(1).beat(phase="Research Phase - Going on")
    assert told.lines[:2] == ["ERROR: Checkpoint corrupted", "Attempting to restore from backup..."]
    assert told.lines[2].startswith("Restoring from backup: ")
    assert "Checkpoint restored" in told.lines
    assert scene.file()["current_step"] == json.loads(good)["current_step"] == "One"
    assert scene.file()["phase"] == "Research Phase - Going on"
    assert not [path for path in scene.backups() if path.read_bytes() == broken]


@pytest.mark.clause("FLEET-88", "FLEET-81")
def test_a_broken_file_without_a_backup_is_made_anew(scene: Scene) -> None:
    scene.start()
    scene.path().write_text("not JSON")
    told = scene.later(1).beat(current_step="Going on")
    assert told.lines[:4] == [
        "ERROR: Checkpoint corrupted",
        "Attempting to restore from backup...",
        "ERROR: No backup found",
        "No backup available, creating fresh checkpoint",
    ]
    assert scene.file()["current_step"] == "Going on"
    assert "Checkpoint valid" in told.lines


@pytest.mark.clause("FLEET-80", "FLEET-81")
def test_restore_by_hand(scene: Scene, holdfast: Holdfast) -> None:
    scene.start()
    none = holdfast("agent", "restore", A)
    assert (none.code, "ERROR: No backup found" in none.err) == (1, True)
    before = scene.file()
    scene.later(3).beat(current_step="Wrong")
    answer = holdfast("agent", "restore", A)
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0].startswith("Restoring from backup: ")
    assert lines[0].endswith("agent_checkpoints/backups/secondary_a_20260115_143300.json")
    assert lines[1] == "Checkpoint restored"
    assert scene.file() == before


@pytest.mark.clause("FLEET-23")
def test_a_sync_point_has_a_checkpoint_before_and_after(scene: Scene, holdfast: Holdfast) -> None:
    scene.start(A)
    scene.start(B, "feature_03_other")
    first = holdfast("agent", "sync", A, "S2-S3", "--json")
    assert first.data["sync"]["state"] == "WAITING"
    assert first.data["sync"]["missing"] == [B]
    assert scene.file()["status"] == "WAITING"
    second = holdfast("agent", "sync", B, "S2-S3", "--json")
    assert second.data["sync"]["state"] == "COMPLETE"
    kinds = [record["kind"] for record in scene.workspace.journal.read("agent:secondary_b")]
    assert kinds == ["started", "arrive", "leave"]
    last = holdfast("agent", "sync", A, "S2-S3")
    assert last.out.splitlines()[-1] == "Sync S2-S3 complete"
    assert scene.file()["status"] == "IN_PROGRESS"
    assert scene.file()["completed_steps"][-1] == "Sync S2-S3 complete"
    assert holdfast("agent", "sync", A, "S9-S10").code == 2


def test_completion(scene: Scene) -> None:
    (scene.folder / FEATURE).mkdir()
    scene.start()
    updates.complete(scene.context(), A)
    saved = scene.file()
    assert (saved["stage"], saved["phase"]) == ("S2.P3", "Refinement - Complete")
    assert (saved["status"], saved["can_resume"]) == ("COMPLETE", False)
    status = (scene.folder / FEATURE / "STATUS").read_text()
    assert "READY_FOR_SYNC: true" in status
    assert "COMPLETE - feature_02_team_penalty" in scene.messages("secondary_a_to_primary")
    scene.start(B)  # the feature is free again


@pytest.mark.clause("FLEET-90")
def test_one_heartbeat_is_far_below_its_second(scene: Scene) -> None:
    import time

    scene.start()
    began = time.monotonic()
    scene.beat(current_step="Timed")
    # The protocol allows a second for each of four parts; a loaded machine needs milliseconds.
    assert time.monotonic() - began < 4


@pytest.mark.clause("FLEET-92")
@pytest.mark.parametrize("cause", ["tab crash", "network loss", "compaction", "closed"])
def test_resuming_does_not_ask_why(scene: Scene, cause: str) -> None:
    scene.start()
    scene.beat(current_step=f"Before the {cause}")
    assert f"**Resuming from:** Before the {cause}" in scene.resume().lines[-1]


def test_two_agents_do_not_own_one_feature(scene: Scene) -> None:
    scene.start(A)
    with pytest.raises(Conflict) as refused:
        scene.start(B)
    assert refused.value.kind == "feature_taken"
    scene.write("secondary_b", feature="feature_09_outside")
    with pytest.raises(Conflict) as refused:
        scene.start(C, "feature_09_outside")
    assert refused.value.kind == "feature_taken"


def test_the_same_agent_twice_is_told(scene: Scene) -> None:
    scene.start(A)
    with pytest.raises(Conflict) as refused:
        scene.start(A, "feature_07")
    assert refused.value.exit_code == 5
    assert refused.value.kind == "agent_at_work"


def test_a_beat_without_a_life_here_is_refused(scene: Scene, git: Git) -> None:
    with pytest.raises(NotFound):
        scene.beat()
    scene.start()
    other = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(other), at=scene.root)
    elsewhere = Scene(other)
    assert elsewhere.listing()[A]["fence"] == 1
    with pytest.raises(FenceLost):
        elsewhere.beat()
    elsewhere.update(fence=1, set={"current_step": "By a script"})
    assert scene.file()["current_step"] == "By a script"
    assert not (other / "agent_checkpoints").exists()


def test_the_primary_is_an_agent_too(scene: Scene) -> None:
    scene.start(PRIMARY, "feature_01_player_json")
    assert scene.file("primary")["agent_type"] == "primary"
    scene.beat(PRIMARY, current_step="Watching")
    assert scene.file("primary")["current_step"] == "Watching"
    assert not (scene.folder / "agent_comms").exists()


def test_a_secret_in_a_step_reaches_no_file(scene: Scene) -> None:
    scene.start()
    secret = "ghp_" + "a1B2" * 9
    scene.beat(current_step=f"Using {secret}")
    assert secret not in scene.path().read_text()
    assert "Using" in scene.file()["current_step"]


def test_an_epic_in_a_folder(repository: Path, holdfast: Holdfast) -> None:
    epic = repository / "epics" / "KAI-6"
    missing = holdfast("agent", "start", A, "--feature", FEATURE, "--epic", "epics/KAI-6")
    assert missing.code == 3
    assert "ERROR: Epic path not found: " in missing.err
    epic.mkdir(parents=True)
    assert holdfast("agent", "start", A, "--feature", FEATURE, "--epic", "epics/KAI-6").code == 0
    assert (epic / "agent_checkpoints" / "secondary_a.json").is_file()
    assert holdfast("agent", "start", A, "--feature", FEATURE).code == 0  # another epic: the top
    assert holdfast("agent", "beat", A, "--epic", "epics/KAI-6", "--step", "Here").code == 0
    data = holdfast("agent", "list", "--json", "--epic", "epics/KAI-6").data
    assert [(entry["agent_id"], entry["current_step"]) for entry in data["agents"]] == [(A, "Here")]
    assert len(holdfast("agent", "list", "--json").data["agents"]) == 1
    (repository / "holdfast.toml").write_text('[fleet]\nepic = "epics/KAI-6"\n')
    assert holdfast("agent", "list", "--json").data["epic"] == str(epic)


@pytest.mark.parametrize("agent", ["../../etc", "Secondary-../A", "Secondary-A/B", "-x"])
def test_an_id_that_leaves_the_folder_is_refused(
    repository: Path, holdfast: Holdfast, agent: str
) -> None:
    answer = holdfast("agent", "start", "--feature", FEATURE, "--", agent)
    assert answer.code == 2
    assert not (repository / "agent_checkpoints").exists()


def test_a_folder_that_is_a_link(scene: Scene, tmp_path: Path) -> None:
    inside = scene.root / "elsewhere"
    inside.mkdir()
    (scene.root / "agent_checkpoints").symlink_to("elsewhere")
    scene.start()
    scene.beat(current_step="Through the link")
    assert json.loads((inside / "secondary_a.json").read_text())["current_step"]
    assert A in scene.listing()


def test_a_folder_that_is_a_link_out_of_the_workspace_is_refused(
    scene: Scene, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (scene.root / "agent_checkpoints").symlink_to(outside)
    with pytest.raises(HoldfastError) as refused:
        scene.start()
    assert refused.value.exit_code == 4
    assert list(outside.iterdir()) == []


def test_a_note_on_a_file_is_shown_with_it_whatever_folder_it_was_given_from(
    scene: Scene, holdfast: Holdfast
) -> None:
    folder = scene.folder / FEATURE
    folder.mkdir()
    (folder / "spec.md").touch()
    holdfast("agent", "start", A, "--feature", FEATURE)
    note = ("--file", "spec.md", "--file-note", "spec.md=80% complete")
    assert holdfast("agent", "beat", A, *note, "-C", str(folder)).code == 0
    assert scene.file()["files_modified"] == [f"{FEATURE}/spec.md"]
    assert "- spec.md: 80% complete" in holdfast("agent", "resume", A).out


def test_a_package_pasted_again_resumes_an_agent_that_wrote_its_file_itself(
    scene: Scene, holdfast: Holdfast, tmp_path: Path
) -> None:
    scene.write("secondary_b")
    package = tmp_path / "package"
    text = holdfast("agent", "handoff", B, "--feature", "feature_03_other").out
    package.write_text(text)
    pasted = holdfast("agent", "start", "--handoff", str(package))
    assert pasted.code == 0
    assert "Resuming from: S2.P2" in pasted.out
