"""The Primary's scan, and files that others write."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from holdfast.fleet import updates
from tests.cli.conftest import Holdfast
from tests.conftest import Git
from tests.fleet.world import FEATURE, PRIMARY, A, B, Scene


@pytest.mark.clause("FLEET-41", "AMB-FLEET-21")
def test_the_primary_looks_at_the_secondaries(scene: Scene) -> None:
    scene.start(PRIMARY, "feature_01_player_json")
    scene.start(A)
    assert [entry["agent_id"] for entry in scene.check().agents] == [A]
    both = scene.check(primary=True).agents
    assert [entry["agent_id"] for entry in both] == [PRIMARY, A]


@pytest.mark.clause("FLEET-42")
def test_nobody_is_no_error(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("agent", "check")
    assert (answer.code, answer.out, answer.err) == (0, "", "")


@pytest.mark.clause("FLEET-47", "FLEET-48", "AMB-FLEET-01", "AMB-FLEET-03")
def test_a_silent_agent_is_warned_once(scene: Scene) -> None:
    scene.start()
    scene.later(30 + 59 / 60)
    assert scene.check().lines == ["✅ Secondary-A: ACTIVE (30 min ago)"]
    scene.later(1 / 60)
    found = scene.check()
    assert found.lines == ["⚠️ Secondary-A: WARNING (31 min) - May be slow"]
    assert [action["action"] for action in found.actions] == ["warned"]
    text = scene.messages("primary_to_secondary_a")
    assert "**Subject:** CHECKPOINT WARNING - No Update in 30 Minutes" in text
    assert "**Details:** Your last checkpoint was at 14:30 (31 minutes ago)" in text
    assert scene.later(15).check().actions == []
    assert scene.messages("primary_to_secondary_a").count("## Message") == 1
    scene.beat()
    scene.later(31).check()
    assert scene.messages("primary_to_secondary_a").count("## Message") == 2


@pytest.mark.clause("FLEET-56", "FLEET-57", "FLEET-58", "AMB-FLEET-03", "AMB-FLEET-15")
def test_a_stale_agent_is_reported_once(scene: Scene, holdfast: Holdfast) -> None:
    readme = scene.folder / "EPIC_README.md"
    readme.write_text("# Epic\n\nText that stays.\n")
    scene.start()
    scene.later(60 + 59 / 60)
    assert scene.check().notices == []
    scene.later(1 / 60)
    found = scene.check()
    assert found.lines == ["❌ Secondary-A: STALE (61 min) - Likely crashed"]
    assert found.notices == ["Secondary-A hasn't updated checkpoint in 60 minutes"]
    assert "Secondary-A: STALE (likely crashed)" in readme.read_text()
    assert readme.read_text().startswith("# Epic\n\nText that stays.\n")
    ways = ("resume", "takeover", "restart", "defer", "absorb")
    assert [command.split()[2] for command in found.decide] == list(ways)
    again = scene.later(15).check()
    assert (again.actions, again.notices) == ([], [])
    assert again.decide  # still somebody's decision
    updates.beat(scene.context(), A)
    assert "STALE" not in readme.read_text()
    assert [action["action"] for action in scene.later(61).check().actions] == ["escalated"]


@pytest.mark.clause("AMB-FLEET-04")
def test_a_complete_agent_is_left_in_peace(scene: Scene) -> None:
    scene.start()
    updates.complete(scene.context(), A)
    found = scene.later(90).check()
    assert found.lines == ["✅ Secondary-A: COMPLETE (90 min ago)"]
    assert (found.actions, found.decide) == ([], [])
    assert scene.listing()[A]["liveness"] == "COMPLETE"
    assert scene.listing()[A]["verdict"] == "done"


@pytest.mark.clause("AMB-FLEET-04")
@pytest.mark.parametrize("status", ["WAITING", "BLOCKED"])
def test_waiting_and_blocked_agents_are_watched_as_usual(scene: Scene, status: str) -> None:
    scene.start()
    scene.beat(status=status)
    assert [action["action"] for action in scene.later(31).check().actions] == ["warned"]


@pytest.mark.clause("AMB-FLEET-01")
def test_the_sibling_document_s_reading_is_a_setting(scene: Scene) -> None:
    (scene.root / "holdfast.toml").write_text("[fleet]\ninclusive = true\n")
    scene.start()
    assert scene.later(30).check().lines == ["⚠️ Secondary-A: WARNING (30 min) - May be slow"]
    assert scene.later(30).check().lines[0].startswith("❌ Secondary-A: STALE (60 min)")


@pytest.mark.clause("AMB-FLEET-20", "FLEET-88")
def test_a_broken_file_is_reported_and_the_scan_goes_on(scene: Scene) -> None:
    scene.start(A)
    scene.write("secondary_b", last_checkpoint="yesterday")
    scene.path("secondary_c").write_text("{")
    found = scene.check()
    assert [entry["liveness"] for entry in found.agents] == ["ACTIVE", "CORRUPTED", "CORRUPTED"]
    assert found.lines[1].startswith("❌ Secondary-B: CORRUPTED (")
    assert found.lines[2].startswith("❌ Secondary-C: CORRUPTED (")
    assert "holdfast agent restore Secondary-C" in found.decide


@pytest.mark.clause("AMB-FLEET-20")
def test_a_clock_that_stepped_back_is_no_silence(scene: Scene) -> None:
    scene.start()
    scene.later(-60)
    found = scene.check()
    assert found.lines == ["✅ Secondary-A: ACTIVE (0 min ago)"]
    assert scene.listing()[A]["notes"] == ["its last checkpoint lies in the future"]
    scene.beat(current_step="In the past")
    assert scene.file()["last_checkpoint"] == "2026-01-15T13:30:00Z"
    assert scene.listing()[A]["notes"] == []


def test_a_night_asleep_replaces_nobody(scene: Scene) -> None:
    scene.start()
    scene.later(9 * 60)
    entry = scene.listing()[A]
    assert entry["liveness"] == "STALE"
    assert entry["signals"]["process"] == "alive"
    assert entry["verdict"] != "dead"
    scene.beat(current_step="Awake")
    assert scene.listing()[A]["verdict"] == "active"


def test_a_declared_operation_is_not_warned_about(scene: Scene) -> None:
    scene.start()
    scene.update(busy_until="2026-01-15T15:40:00Z", doing="cargo build")
    found = scene.later(45).check()
    assert found.lines == ["⚠️ Secondary-A: WARNING (45 min) - May be slow"]
    assert [action["action"] for action in found.actions] == ["busy"]
    assert scene.listing()[A]["verdict"] == "busy"
    assert any("cargo build" in each for each in scene.listing()[A]["because"])
    found = scene.later(26).check()
    assert [action["action"] for action in found.actions] == ["escalated"]


SNIPPET = """
mkdir -p agent_checkpoints
cat > agent_checkpoints/secondary_b.json <<EOF
{
  "agent_id": "Secondary-B",
  "agent_type": "secondary",
  "session_id": "$(date +%s)",
  "feature": "feature_03_other",
  "stage": "S2.P1",
  "phase": "Research Phase - Starting",
  "last_checkpoint": "2026-01-15T14:20:00Z",
  "next_checkpoint_expected": "2026-01-15T14:35:00Z",
  "status": "IN_PROGRESS",
  "can_resume": true,
  "blockers": [],
  "files_modified": [],
  "recovery_instructions": "Just started.",
  "current_step": "Reading S2.P1 guide",
  "completed_steps": ["Received handoff package"],
  "next_steps": ["Read S2.P1 guide"],
  "mood": {"of": "the agent"},
  "coordination_state": {
    "last_inbox_check": "2026-01-15T14:20:00Z",
    "unread_messages": 0,
    "last_epic_readme_update": "2026-01-15T14:20:00Z",
    "last_status_update": "2026-01-15T14:20:00Z"
  }
}
EOF
"""


def test_an_agent_that_writes_its_own_file_is_a_member(scene: Scene) -> None:
    subprocess.run(["bash", "-c", SNIPPET], cwd=scene.folder, check=True)
    before = scene.path("secondary_b").read_bytes()
    entry = scene.listing()[B]
    assert (entry["liveness"], entry["age_minutes"], entry["fence"]) == ("ACTIVE", 10, 0)
    assert entry["current_step"] == "Reading S2.P1 guide"
    scene.later(21).check()
    assert "CHECKPOINT WARNING" in scene.messages("primary_to_secondary_b")
    assert scene.path("secondary_b").read_bytes() == before
    told = scene.resume(B)
    assert told.fence > 0
    assert scene.file("secondary_b")["mood"] == {"of": "the agent"}
    # And on with the shell: what it writes is believed.
    content = {**scene.file("secondary_b"), "current_step": "By hand", "mood": "better"}
    content["last_checkpoint"] = "2026-01-15T15:00:00Z"
    scene.path("secondary_b").write_text(json.dumps(content))
    scene.later(19)
    assert scene.listing()[B]["current_step"] == "By hand"
    scene.beat(B)
    assert scene.file("secondary_b")["current_step"] == "By hand"
    assert scene.file("secondary_b")["mood"] == "better"


def test_agents_of_all_worktrees_are_seen_from_each(scene: Scene, git: Git) -> None:
    scene.start(A)
    other = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(other), at=scene.root)
    elsewhere = Scene(other)
    elsewhere.start(B, "feature_03_other")
    assert (other / "agent_checkpoints" / "secondary_b.json").is_file()
    assert list(scene.listing()) == list(elsewhere.listing()) == [A, B]
    found = scene.later(31).check()
    assert {action["agent_id"] for action in found.actions} == {A, B}
    # The message is where its reader is.
    assert (other / "agent_comms" / "primary_to_secondary_b.md").is_file()
    scene.takeover(B, "Secondary-C")
    (archive,) = [name for name in os.listdir(other / "agent_checkpoints") if "crashed" in name]
    assert archive.startswith("secondary_b_crashed_")
    # The new life's files are where it began.
    assert scene.file("secondary_c")["feature"] == "feature_03_other"


def test_a_removed_worktree_takes_nobody_along(scene: Scene, git: Git) -> None:
    other = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(other), at=scene.root)
    Scene(other).start(B, "feature_03_other")
    git("worktree", "remove", "--force", str(other), at=scene.root)
    assert scene.listing()[B]["feature"] == "feature_03_other"
    scene.takeover(B, "Secondary-C")
    assert scene.file("secondary_c")["feature"] == "feature_03_other"


def test_a_file_that_git_checked_out_elsewhere_is_nobody_s_life(scene: Scene, git: Git) -> None:
    scene.start(A)
    git("add", "agent_checkpoints", at=scene.root)
    git("commit", "--quiet", "--message", "with checkpoints", at=scene.root)
    other = scene.root.parent / "other"
    git("worktree", "add", "--quiet", str(other), at=scene.root)
    scene.later(5).beat(current_step="The true one")
    assert [entry["current_step"] for entry in Scene(other).listing().values()] == ["The true one"]


def test_the_list_on_a_screen(scene: Scene, holdfast: Holdfast) -> None:
    empty = holdfast("agent", "list")
    assert "No agents yet." in empty.out
    scene.start(A)
    scene.beat(current_step="Writing \x1b[31mred\x1b[0m text")
    scene.update(do="block", blocker="No data")
    answer = holdfast("agent", "list")
    assert re.search(rf"{A} +blocked +{FEATURE} +S2.P1", answer.out) or "dead" in answer.out
    assert "\x1b[31m" not in answer.out
    assert "No data" in answer.out


@pytest.mark.clause("FLEET-94")
def test_what_the_stale_agent_protocol_adds_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "fleet.md").read_text()
    assert "stale_agent_protocol.md" in text
