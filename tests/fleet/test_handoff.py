"""Packages to paste, and what a resumed agent says."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.fleet.rules import handoff

CHECKPOINT: dict[str, Any] = {
    "agent_id": "Secondary-A",
    "stage": "S2.P2",
    "phase": "Specification - In Progress",
    "last_checkpoint": "2026-01-15T14:30:00Z",
    "status": "IN_PROGRESS",
    "recovery_instructions": "Complete Acceptance Criteria, then checklist.md.",
    "current_step": "Writing Acceptance Criteria in spec.md",
    "next_steps": [
        "Complete Acceptance Criteria section",
        "Finish checklist.md questions",
        "Transition to S2.P3",
    ],
    "files_modified": [
        "feature_02_team_penalty/spec.md",
        "feature_02_team_penalty/checklist.md",
        "EPIC_README.md",
    ],
}
NOTES = {
    "feature_02_team_penalty/spec.md": "80% complete",
    "feature_02_team_penalty/checklist.md": "Started",
    "EPIC_README.md": "Updated with progress",
}
PACKAGE = handoff.package(
    epic_name="KAI-6-nfl_team_penalty",
    epic_path="/projects/KAI-6-nfl_team_penalty",
    feature="feature_02_team_penalty",
    agent="Secondary-A",
)
TAKEOVER = handoff.takeover_package(
    epic_path="/projects/KAI-6-nfl_team_penalty",
    feature="feature_02_team_penalty",
    agent="Secondary-C",
    crashed="Secondary-A",
    checkpoint_file="agent_checkpoints/secondary_a.json",
    stage="S2.P2",
    phase="Specification - In Progress",
)


def test_a_package_has_the_parts_of_the_template_in_their_order() -> None:
    lines = PACKAGE.rstrip("\n").split("\n")
    assert lines[0] == lines[-1] == "═" * 59
    expected = [
        "I'm joining as a secondary agent for epic KAI-6-nfl_team_penalty.",
        "**Configuration:**",
        "Epic Path: /projects/KAI-6-nfl_team_penalty",
        "My Assignment: feature_02_team_penalty",
        "Primary Agent ID: Agent-Primary",
        "My Agent ID: Secondary-A",
        "Starting Stage: S2.P1 (Feature Deep Dive - Research Phase)",
        "**Coordination:**",
        "- Inbox: agent_comms/primary_to_secondary_a.md",
        "- Outbox: agent_comms/secondary_a_to_primary.md",
        "- Checkpoint: agent_checkpoints/secondary_a.json",
        "- STATUS: feature_02_team_penalty/STATUS",
        "**Sync Points:**",
        "Begin S2.P1 now.",
    ]
    said = iter(lines)
    for beginning in expected:
        assert any(line.startswith(beginning) for line in said), beginning


@pytest.mark.clause("FLEET-75")
def test_a_fresh_package_speaks_of_no_checkpoint_to_go_on_from() -> None:
    for word in ("crashed", "Resum", "Checkpoint File", "taking over"):
        assert word not in PACKAGE
    again = handoff.package(
        epic_name="KAI-6-nfl_team_penalty",
        epic_path="/projects/KAI-6-nfl_team_penalty",
        feature="feature_02_team_penalty",
        agent="Secondary-A",
    )
    assert again == PACKAGE


def test_an_agent_that_was_further_goes_on_at_its_stage() -> None:
    text = handoff.package(
        epic_name="e",
        epic_path="/p",
        feature="f",
        agent="Secondary-A",
        stage="S2.P2",
        phase="Specification - In Progress",
    )
    assert "\nStarting Stage: S2.P2 (Specification Phase)\n" in text
    assert "\nResume S2.P2 now.\n" in text
    assert "S2.P1" not in text


@pytest.mark.clause("FLEET-68")
@pytest.mark.parametrize(
    ("phase", "name"),
    [
        ("Specification - In Progress", "Specification"),
        ("Research Phase - Starting", "Research"),
        ("Specification", "Specification"),
        ("Refinement Phase", "Refinement"),
    ],
)
def test_the_pasted_text_of_a_takeover(phase: str, name: str) -> None:
    path = "agent_checkpoints/secondary_a.json"
    text = handoff.takeover_text("feature_02_team_penalty", "Secondary-A", path, "S2.P2", phase)
    assert text == (
        "I'm taking over feature_02_team_penalty from crashed Secondary-A.\n"
        "\n"
        "Checkpoint File: agent_checkpoints/secondary_a.json\n"
        f"Resume from: S2.P2 {name} Phase"
    )


@pytest.mark.clause("FLEET-67", "FLEET-68")
def test_a_takeover_package_has_feature_note_and_checkpoint() -> None:
    assert "My Assignment: feature_02_team_penalty\n" in TAKEOVER
    assert "\nResuming work from crashed agent\n" in TAKEOVER
    text = handoff.takeover_text(
        "feature_02_team_penalty",
        "Secondary-A",
        "agent_checkpoints/secondary_a.json",
        "S2.P2",
        "Specification - In Progress",
    )
    assert text in TAKEOVER
    assert "My Agent ID: Secondary-C\n" in TAKEOVER


def test_a_pasted_package_is_read_back() -> None:
    assert handoff.parse(PACKAGE) == {
        "agent": "Secondary-A",
        "feature": "feature_02_team_penalty",
        "epic": "/projects/KAI-6-nfl_team_penalty",
    }
    assert handoff.parse(TAKEOVER) == {
        "agent": "Secondary-C",
        "feature": "feature_02_team_penalty",
        "epic": "/projects/KAI-6-nfl_team_penalty",
    }


def test_what_a_chat_window_does_to_a_package_is_forgiven() -> None:
    mangled = "\r\n".join(
        f"> {line}".replace("My Agent ID:", "- **My Agent ID:**").replace("'", "’")
        for line in TAKEOVER.split("\n")
        if "═" not in line
    )
    assert handoff.parse(mangled) == handoff.parse(TAKEOVER)
    with_marks = PACKAGE.replace("Epic Path: /projects/KAI-6-nfl_team_penalty", "EPIC PATH: `/p q`")
    assert handoff.parse(with_marks)["epic"] == "/p q"


def test_what_is_missing_is_empty() -> None:
    assert set(handoff.parse("resume").values()) == {""}
    only = handoff.parse("I'm taking over feature_02 from crashed Secondary-A.")
    assert (only["feature"], only["agent"]) == ("feature_02", "")


@pytest.mark.clause("FLEET-60", "FLEET-61", "FLEET-62")
def test_what_is_printed_when_a_checkpoint_is_found() -> None:
    assert handoff.resume_lines(CHECKPOINT, missing=["EPIC_README.md"]) == [
        "Found existing checkpoint, resuming...",
        "Resuming from: S2.P2",
        "Instructions: Complete Acceptance Criteria, then checklist.md.",
        "Modified files: feature_02_team_penalty/spec.md",
        "feature_02_team_penalty/checklist.md",
        "EPIC_README.md",
        "Reading feature_02_team_penalty/spec.md...",
        "Reading feature_02_team_penalty/checklist.md...",
        "Reading EPIC_README.md... not here",
    ]


@pytest.mark.clause("FLEET-65")
def test_the_resume_message() -> None:
    expected = """\
✅ Checkpoint found! Resuming work...

**Previous Session:**
- Stage: S2.P2 (Specification)
- Last Update: 14:30 (45 minutes ago)
- Status: IN_PROGRESS

**Current State:**
- spec.md: 80% complete
- checklist.md: Started
- EPIC_README.md: Updated with progress

**Resuming from:** Writing Acceptance Criteria in spec.md

**Next Steps:**
1. Complete Acceptance Criteria section
2. Finish checklist.md questions
3. Transition to S2.P3

I'll continue where I left off...
"""
    assert handoff.resume_message(CHECKPOINT, NOTES, 45) == expected
    without = handoff.resume_message(CHECKPOINT, {}, 45)
    assert "- spec.md: modified\n- checklist.md: modified\n- EPIC_README.md: modified\n" in without


@pytest.mark.clause("FLEET-65")
def test_two_files_of_one_name_are_told_apart() -> None:
    checkpoint = {**CHECKPOINT, "files_modified": ["a/spec.md", "b/spec.md"]}
    text = handoff.resume_message(checkpoint, {"b/spec.md": "done"}, 45)
    assert "- a/spec.md: modified\n- b/spec.md: done\n" in text


@pytest.mark.parametrize("odd", [None, 7, "PAUSED", [], {}, "two\nlines"])
def test_a_checkpoint_of_other_hands_is_no_reason_to_fail(odd: object) -> None:
    checkpoint = dict.fromkeys(CHECKPOINT, odd)
    assert handoff.resume_message(checkpoint, {}, 45).endswith("where I left off...\n")
    assert handoff.resume_lines(checkpoint)[0] == "Found existing checkpoint, resuming..."
    assert all("\n" not in line for line in handoff.resume_lines(checkpoint))
