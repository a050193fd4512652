"""The steps of the guides, and what they cost."""

from __future__ import annotations

import pytest

from holdfast.fleet.rules import handoff
from holdfast.fleet.rules.model import TASKS
from holdfast.kernel.errors import Usage
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
STAGES = ["S2.P1", "S2.P2", "S2.P3"]


@pytest.mark.clause("FLEET-24", "FLEET-82")
@pytest.mark.parametrize("stage", STAGES)
def test_every_guide_says_when_to_update_the_checkpoint(stage: str) -> None:
    text = handoff.guide(stage)
    assert "### Step X: Update Checkpoint (Every 15 Minutes)\n" in text
    assert handoff.HEARTBEAT_STEP in text
    assert text.count("### Step X:") == 2


@pytest.mark.clause("FLEET-84")
def test_a_heartbeat_updates_then_verifies_then_backs_up_then_resets_the_timer() -> None:
    text = handoff.HEARTBEAT_STEP
    order = [
        "1. **Update checkpoint file:** `agent_checkpoints/{your_agent_id}.json`",
        "2. **Update these fields:**",
        "   - `last_checkpoint`: Current timestamp",
        "   - `next_checkpoint_expected`: +15 minutes",
        "   - `stage`: Current stage (S2.P1, S2.P2, S2.P3)",
        "   - `current_step`: What you're working on right now",
        "   - `completed_steps`: Add any newly completed steps",
        "   - `files_modified`: Add any files you've edited",
        "   - `recovery_instructions`: Update instructions for resuming",
        "3. **Verify checkpoint valid:**",
        "   jq '.' agent_checkpoints/{your_agent_id}.json",
        "4. **Backup checkpoint** (optional but recommended)",
        "5. **Reset 15-minute timer** for next checkpoint",
    ]
    places = [text.index(f"{line}\n") for line in order]
    assert places == sorted(places)


@pytest.mark.clause("FLEET-85")
@pytest.mark.parametrize(
    ("before", "after", "phase"),
    [("S2.P1", "S2.P2", "Specification - Starting"), ("S2.P2", "S2.P3", "Refinement - Starting")],
)
def test_a_transition_says_what_the_last_checkpoint_carries(
    before: str, after: str, phase: str
) -> None:
    text = handoff.transition_step(before)
    assert text.startswith(f"### Step X: Complete {before} (Transition to {after})\n")
    for line in (
        f'   - Update `stage`: "{after}"',
        f'   - Update `phase`: "{phase}"',
        f'   - Update `completed_steps`: Add "{before} complete"',
        f"   - Update `next_steps`: {after} tasks",
        f'   - Update `recovery_instructions`: "Resume from beginning of {after}"',
        f'   # Should show: "{after}"',
        f"3. **Proceed to {after}**",
    ):
        assert f"{line}\n" in text
    assert text in handoff.guide(before)
    assert TASKS[after]


def test_nothing_follows_the_last_stage() -> None:
    assert "COMPLETE" in handoff.guide("S2.P3")
    with pytest.raises(Usage):
        handoff.guide("S3")


@pytest.mark.clause("FLEET-91", "AMB-FLEET-26")
def test_two_and_a_half_hours_spend_one_minute_on_heartbeats() -> None:
    assert handoff.overhead(150) == (10, 60, 0.67)
    assert handoff.overhead(0) == (0, 0, 0.0)
    assert all(handoff.overhead(minutes)[2] < 1 for minutes in range(1, 600))


@pytest.mark.clause("FLEET-24")
def test_the_command_prints_one_guide_or_all(holdfast: Holdfast) -> None:
    assert holdfast("agent", "guide").out == handoff.guide("S2.P1")
    assert holdfast("agent", "guide", "S2.P2").out == handoff.guide("S2.P2")
    assert holdfast("agent", "guide", "--all").out == "\n".join(map(handoff.guide, STAGES))
    assert list(holdfast("agent", "guide", "--all", "--json").data["guides"]) == STAGES
    assert holdfast("agent", "guide", "S4").code == 2
