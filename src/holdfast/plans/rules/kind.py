"""Whether a plan runs by itself or waits for people, and why: `determinePlanType` of the protocol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypedDict

from holdfast.plans.rules.model import has_checkpoint, is_asked_at_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.plans.rules.model import Plan


class Kind(TypedDict):
    autonomous: bool
    reason: str


# In this order, and the first that holds counts; PILOT-80 to PILOT-86.
RULES = (
    ("has_ui_changes", False, "UI changes require visual verification"),
    ("has_user_flows", False, "User flows require functional verification"),
    ("is_integration", False, "Integration requires end-to-end verification"),
    ("is_final", False, "Final phase requires comprehensive verification"),
    ("is_infrastructure", True, "Infrastructure can be verified programmatically"),
    ("is_backend_only", True, "Backend verified by tests"),
    ("is_setup", True, "Setup verified by existence checks"),
)
TRAITS = tuple(name for name, _, _ in RULES)
EARLY = "Early phases typically autonomous"
LATER = "Later phases need verification"
LAST_EARLY_PHASE = 2  # PILOT-87
SAID_SO = "The plan says so"
HAS_CHECKPOINT = "The plan has a checkpoint"


def determine(phase_number: int, traits: Mapping[str, bool]) -> Kind:
    """The protocol's rules. `is_final` is the phase's, the other traits are the plan's own."""
    for name, autonomous, reason in RULES:
        if traits.get(name):
            return {"autonomous": autonomous, "reason": reason}
    if phase_number <= LAST_EARLY_PHASE:
        return {"autonomous": True, "reason": EARLY}
    return {"autonomous": False, "reason": LATER}


def number_of(phase: str) -> int:
    """The first number in a phase's name: 3 for `3`, `003` and `03-dashboard`; 1 where there is none."""
    digits = re.search(r"[0-9]{1,9}", phase)
    return int(digits[0]) if digits else 1


def rules_say(plan: Plan) -> Kind:
    """What the rules make of a plan, whatever its file says."""
    return determine(number_of(plan["phase"]), plan["traits"])


def kind_of(plan: Plan) -> Kind:
    """How a plan runs: as its file says, and by the rules where that says nothing. What needs a
    person's eyes, such as `has_ui_changes`, counts more than `autonomous: true`."""
    if has_checkpoint(plan) and not is_asked_at_end(plan):
        return {"autonomous": False, "reason": HAS_CHECKPOINT}
    rules = rules_say(plan)
    if plan["autonomous"] is None or needs_person(plan):
        return rules
    return {"autonomous": plan["autonomous"], "reason": SAID_SO}


def needs_person(plan: Plan) -> bool:
    """Whether a trait of the plan says that a person has to look."""
    return any(plan["traits"].get(name) for name, autonomous, _ in RULES if not autonomous)
