"""Whether a plan runs by itself: the protocol's rules in their order, each with its reason."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from holdfast.plans.rules.model import TRAITS, determine, kind_of, number_of
from tests.plans.samples import AUTO, DECISION, plan

TABLE = {
    "has_ui_changes": (False, "UI changes require visual verification"),
    "has_user_flows": (False, "User flows require functional verification"),
    "is_integration": (False, "Integration requires end-to-end verification"),
    "is_final": (False, "Final phase requires comprehensive verification"),
    "is_infrastructure": (True, "Infrastructure can be verified programmatically"),
    "is_backend_only": (True, "Backend verified by tests"),
    "is_setup": (True, "Setup verified by existence checks"),
}


def outcome(number: int, *traits: str) -> tuple[bool, str]:
    found = determine(number, dict.fromkeys(traits, True))
    return found["autonomous"], found["reason"]


@pytest.mark.clause(
    "PILOT-80", "PILOT-81", "PILOT-82", "PILOT-83", "PILOT-84", "PILOT-85", "PILOT-86"
)
@pytest.mark.parametrize("trait", TABLE)
def test_each_rule_has_its_answer_and_its_reason(trait: str) -> None:
    for number in (1, 2, 3, 9):
        assert outcome(number, trait) == TABLE[trait]
    assert determine(1, {trait: False})["reason"] == "Early phases typically autonomous"


@pytest.mark.clause("PILOT-87")
def test_by_default_the_first_two_phases_run_by_themselves() -> None:
    assert outcome(2) == (True, "Early phases typically autonomous")
    assert outcome(3) == (False, "Later phases need verification")
    assert [number_of(one) for one in ("3", "003", "03-dashboard", "setup")] == [3, 3, 3, 1]


@pytest.mark.clause("PILOT-88")
def test_the_first_rule_that_holds_counts() -> None:
    assert tuple(TABLE) == TRAITS
    for first, second in itertools.combinations(TABLE, 2):
        assert outcome(1, first, second) == outcome(1, second, first) == TABLE[first]


@pytest.mark.clause("PILOT-39")
def test_a_plan_with_a_checkpoint_is_never_parallel_whatever_it_says() -> None:
    waits = AUTO + DECISION.format(attributes="")
    assert not kind_of(plan(waits, autonomous="true"))["autonomous"]


@pytest.mark.clause("PILOT-88")
def test_a_plan_file_says_these_words_and_its_own_word_counts_before_the_rules() -> None:
    said: dict[str, Any] = {"phase": "3", "autonomous": None}
    assert kind_of(plan(is_infrastructure="true", **said)) == {
        "autonomous": True,
        "reason": "Infrastructure can be verified programmatically",
    }
    assert kind_of(plan(**said))["reason"] == "Later phases need verification"
    assert kind_of(plan(phase="3", autonomous="true"))["autonomous"]
    waits = AUTO + DECISION.format(attributes="")
    assert kind_of(plan(waits, is_setup="true", **said)) == {
        "autonomous": False,
        "reason": "The plan has a checkpoint",
    }
