"""`<feature>/STATUS` as text."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.fleet.rules.checkpoint import parse_status, render_status, status_gist

CHECKPOINT: dict[str, Any] = {
    "agent_id": "Secondary-A",
    "session_id": "abc123def456",
    "stage": "S2.P2",
    "phase": "Specification - In Progress",
    "status": "IN_PROGRESS",
    "blockers": [],
    "current_step": "Writing Acceptance Criteria",
    "next_steps": ["Complete Acceptance Criteria", "Write checklist.md questions"],
    "coordination_state": {"last_status_update": "2026-01-15T14:15:00Z"},
}
TEXT = """\
STAGE: S2.P2
PHASE: Specification - In Progress
AGENT: Secondary-A
AGENT_ID: abc123def456
UPDATED: 2026-01-15T14:15:00Z
STATUS: IN_PROGRESS
BLOCKERS: none
NEXT_ACTION: Complete Acceptance Criteria
READY_FOR_SYNC: false
ESTIMATED_COMPLETION: unknown
"""
KEYS = tuple(line.partition(":")[0] for line in TEXT.splitlines())


def test_the_file_of_a_checkpoint() -> None:
    assert render_status(CHECKPOINT, False) == TEXT


def test_blockers_the_step_at_hand_and_readiness() -> None:
    blocked = {**CHECKPOINT, "blockers": ["No answer\nto 8", "No key"], "next_steps": []}
    said = parse_status(render_status(blocked, True))
    assert said["BLOCKERS"] == "No answer to 8; No key"
    assert said["NEXT_ACTION"] == "Writing Acceptance Criteria"
    assert said["READY_FOR_SYNC"] == "true"


def test_it_reads_back_in_its_order_and_forgives_other_hands() -> None:
    said = parse_status(TEXT)
    assert tuple(said) == KEYS
    by_hand = "# status\r\n\r\nstage : S2.P3\r\nno colon\r\nETA: 16:00\r\nSTAGE: late\r\n"
    assert parse_status(by_hand) == {"STAGE": "S2.P3", "ETA": "16:00"}


def test_the_gist_is_all_but_the_time() -> None:
    later = {**CHECKPOINT, "coordination_state": {"last_status_update": "2026-01-15T15:00:00Z"}}
    assert status_gist(CHECKPOINT, False) == status_gist(later, False)
    assert status_gist(CHECKPOINT, False) != status_gist(CHECKPOINT, True)


@pytest.mark.parametrize("odd", [None, 7, "PAUSED\nnow", [], {}])
def test_a_checkpoint_of_other_hands_still_makes_ten_lines(odd: object) -> None:
    text = render_status(dict.fromkeys(CHECKPOINT, odd), False)
    assert tuple(parse_status(text)) == KEYS
    assert render_status({}, False).count("\n") == len(KEYS)
