"""The questions at each boundary are the protocol's own, word by word."""

from __future__ import annotations

import pytest

from holdfast.rfc.rules.questions import ORIENTATION, prompt
from tests.rfc.world import ID, PROTOCOL, Rfc, done, through


def protocol(name: str) -> str:
    return (PROTOCOL / f"{name}.txt").read_text("utf-8")


@pytest.mark.clause("RFC-31", "RFC-32", "RFC-33", "RFC-34", "RFC-35", "RFC-36")
def test_the_questions_of_discover_and_design(begun: Rfc) -> None:
    for group in ("discover", "design"):
        assert done(begun("prompt", group)).out == protocol(group)


@pytest.mark.clause("RFC-37", "RFC-38", "RFC-39", "AMB-RFC-05")
def test_gate_b_names_the_round_that_fails(begun: Rfc) -> None:
    through(begun, "discover", "design")
    for number in ("1", "2"):
        assert done(begun("prompt", "gate-b")).out == protocol("gate-b").replace("<N>", number)
        through(begun, "gate-b", "design")


@pytest.mark.clause("RFC-47")
def test_the_questions_to_re_orient_by() -> None:
    assert f"{ORIENTATION}\n" == protocol("orientation")


@pytest.mark.clause("AMB-RFC-04")
def test_a_rejected_review_is_asked_what_a_failed_gate_is_asked() -> None:
    heading, _, questions = prompt("review").partition("\n")
    assert "REVIEW Reject Exit" in heading
    assert questions == prompt("gate_b_round_1").partition("\n")[2]


def test_the_first_questions_need_no_rfc(rfc: Rfc) -> None:
    assert done(rfc("prompt", "discover")).out == protocol("discover")
    assert rfc("prompt", "gate-b").code == 3
    assert rfc("prompt", "discover", "nothing-like-it").code == 3


def test_as_data(begun: Rfc) -> None:
    answer = done(begun("prompt", "design", ID, "--json"))
    assert answer.data["prompt"] == protocol("design").rstrip("\n")
    assert answer.envelope["next"] == [f"holdfast rfc write design {ID}"]


@pytest.mark.clause("RFC-30")
def test_the_questions_answered_in_their_own_layout_are_an_answer(begun: Rfc) -> None:
    """A model repeats the numbered headings; under each it indents its bullets as they were."""
    said = protocol("discover").replace("?", ".")
    answer = done(begun("write", "discover", "--dry-run", "--json", given=said))
    (group,) = [line for line in answer.data["text"].splitlines() if line.startswith("## D")]
    assert group == "## DISCOVER Exit"
    assert "- What's the most fragile assumption carried forward." in answer.data["text"]
