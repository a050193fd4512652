"""From phase to phase: what is written, what restarts, and what is counted."""

from __future__ import annotations

import pytest

from holdfast.kernel.text import split_words
from tests.rfc.world import (
    CHECKPOINT,
    DISCOVER,
    FEEDBACK,
    FOLDER,
    ID,
    STATE,
    TEXTS,
    Rfc,
    done,
    fields,
    headings,
    review,
    set_fields,
    through,
)

PRESSURES = ("0", "100")


def moved(rfc: Rfc, name: str, *words: str, given: str | None = None) -> dict[str, object]:
    answer = done(rfc("transition", name, *words, "--json", given=given))
    advice = answer.data["advice"]
    return {**advice, "owed": answer.data["owed"], "round": answer.data["round"]}


@pytest.mark.clause("RFC-01", "RFC-02", "RFC-03")
@pytest.mark.parametrize("pressure", PRESSURES)
def test_the_first_two_boundaries_write_and_never_restart(begun: Rfc, pressure: str) -> None:
    for group, name, phase in (
        ("discover", "discover-design", "design"),
        ("design", "design-gate-a", "gate_a"),
    ):
        advice = moved(begun, name, "--pressure", pressure, "--from", "-", given=TEXTS[group])
        assert (advice["write"], advice["restart"]) == (True, False)
        assert fields()["current_phase"] == phase
        assert fields()["last_checkpoint_phase"] == group
        assert f"## {group.upper()} Exit" in headings()


@pytest.mark.clause("RFC-01", "RFC-04", "AMB-RFC-05")
@pytest.mark.parametrize("pressure", PRESSURES)
def test_a_failed_gate_b_restarts_always(begun: Rfc, pressure: str) -> None:
    through(begun, "discover", "design")
    advice = moved(begun, "gate-b-fail", "--pressure", pressure, "--from", "-", given=FEEDBACK)
    assert (advice["write"], advice["restart"]) == (True, True)
    state = fields()
    assert (state["current_phase"], state["gate_b_round"]) == ("design", 1)
    assert (state["gate_b_result"], state["rejection_count"]) == ("fail", 1)
    assert state["last_checkpoint_phase"] == "gate_b"
    text = CHECKPOINT.read_text("utf-8")
    assert "- last_phase: gate_b_round_1\n" in text
    assert "gate_b_round=1\n" in text
    assert "## Gate-B Round 1 Exit\n" in text


@pytest.mark.clause("RFC-04")
def test_nobody_can_leave_that_restart_out(failed: Rfc) -> None:
    through(failed, "design")
    before = STATE.read_bytes()
    answer = failed("transition", "gate-b-fail", "--no-restart")
    assert answer.code == 2
    assert "not optional" in answer.err
    assert STATE.read_bytes() == before


@pytest.mark.clause("RFC-01", "RFC-05", "AMB-RFC-04", "AMB-RFC-10")
@pytest.mark.parametrize(
    ("pressure", "restart"), [("0", False), ("50", False), ("51", True), ("100", True)]
)
def test_a_rejected_review_restarts_by_pressure(begun: Rfc, pressure: str, restart: bool) -> None:
    through(begun, "discover", "design")
    given = FEEDBACK
    advice = moved(begun, "review-reject", "--pressure", pressure, "--from", "-", given=given)
    assert (advice["write"], advice["restart"]) == (True, restart)
    assert fields()["last_checkpoint_phase"] == "review"
    assert "## REVIEW Reject Exit" in headings()


@pytest.mark.clause("RFC-05", "AMB-RFC-10")
def test_the_threshold_is_a_setting_and_the_caller_decides(
    begun: Rfc, monkeypatch: pytest.MonkeyPatch
) -> None:
    through(begun, "discover", "design")

    def restart(*words: str) -> object:
        return moved(begun, "review-reject", "--dry-run", *words)["restart"]

    assert restart() is False
    assert restart("--pressure", "60") is True
    assert restart("--pressure", "60", "--no-restart") is False
    assert restart("--pressure", "10", "--restart") is True
    monkeypatch.setenv("HOLDFAST_RFC_PRESSURE", "60")
    assert restart("--pressure", "60") is False
    assert begun("transition", "review-reject", "--pressure", "101").code == 2


@pytest.mark.clause("AMB-RFC-24")
def test_a_restart_can_be_asked_for_at_any_trigger_point(begun: Rfc) -> None:
    given = DISCOVER
    assert moved(begun, "discover-design", "--restart", "--from", "-", given=given)["restart"]
    assert "bootstrap first" in done(begun("list")).out


@pytest.mark.clause("RFC-06")
def test_other_transitions_write_nothing_and_restart_nothing(begun: Rfc) -> None:
    through(begun, "discover", "design")
    before = CHECKPOINT.read_bytes()
    for name, phase in (
        ("gate-a-pass", "gate_b"),
        ("gate-b-pass", "review"),
        ("review-approve", "finalize"),
    ):
        advice = moved(begun, name)
        assert (advice["write"], advice["restart"], advice["owed"]) == (False, False, "")
        assert fields()["current_phase"] == phase
        assert CHECKPOINT.read_bytes() == before
    assert fields()["baseline_accepted"] is True
    assert done(begun("list")).out.startswith("No RFC is open.")
    assert begun("transition", "baseline-change", ID, "--from", "-", given=DISCOVER).code == 2


def test_gate_a_fails_without_a_checkpoint(begun: Rfc) -> None:
    through(begun, "discover", "design")
    before = CHECKPOINT.read_bytes()
    moved(begun, "gate-a-fail")
    assert (fields()["current_phase"], fields()["gate_a_result"]) == ("design", "fail")
    assert CHECKPOINT.read_bytes() == before


@pytest.mark.clause("RFC-01")
def test_a_checkpoint_that_was_not_written_is_owed(begun: Rfc) -> None:
    """The transition may come first; but no second one comes before the checkpoint is there."""
    answer = done(begun("transition", "discover-design", "--json"))
    assert answer.data["owed"] == "discover"
    assert answer.envelope["next"] == [
        f"holdfast rfc prompt discover {ID}",
        f"holdfast rfc write discover {ID}",
    ]
    assert "owes its checkpoint" in done(begun("list")).out
    refused = begun("transition", "design-gate-a")
    assert refused.code == 1
    assert "DISCOVER Exit is not written yet" in refused.err
    assert "holdfast rfc write discover" in refused.err
    done(begun("write", "discover", given=DISCOVER))
    assert moved(begun, "design-gate-a")["owed"] == "design"


@pytest.mark.clause("RFC-01", "RFC-53")
def test_each_exit_wants_a_checkpoint_of_its_own(failed: Rfc) -> None:
    """The DESIGN exit of the first round does not do for the second."""
    assert moved(failed, "design-gate-a")["owed"] == "design"


@pytest.mark.clause("AMB-RFC-05")
@pytest.mark.parametrize("first", ["write", "transition"])
def test_a_round_is_counted_once_whatever_comes_first(begun: Rfc, first: str) -> None:
    through(begun, "discover", "design")
    steps = [("write", "gate-b"), ("transition", "gate-b-fail")]
    for words in steps if first == "write" else reversed(steps):
        done(begun(*words, given=FEEDBACK))
        assert fields()["gate_b_round"] == 1
    assert fields()["rejection_count"] == 1
    done(begun("write", "gate-b", given=FEEDBACK))  # said better
    assert headings()[3:] == ["## Gate-B Round 1 Exit"]
    assert fields()["gate_b_round"] == 1
    assert moved(begun, "gate-b-fail")["round"] == 1  # the same call again
    assert fields()["rejection_count"] == 1


def test_a_repeated_transition_is_made_once(failed: Rfc) -> None:
    before = STATE.read_bytes()
    answer = done(failed("transition", "gate-b-fail"))
    assert "nothing changed" in answer.out
    assert STATE.read_bytes() == before


def test_a_repeated_transition_takes_no_other_answers(begun: Rfc) -> None:
    """Two agents at one boundary: the second does not replace the reasoning of the first."""
    through(begun, "discover")
    words = ("transition", "design-gate-a", "--from", "-")
    done(begun(*words, given=TEXTS["design"]))
    before = CHECKPOINT.read_bytes(), STATE.read_bytes()
    for more in ([], ["--dry-run"]):
        other = begun(*words, *more, given=TEXTS["design"].replace("narrowly", "clearly"))
        assert other.code == 1
        assert "DESIGN Exit is written: these answers were not taken" in other.err
        assert "holdfast rfc write design" in other.err
        same = done(begun(*words, *more, given=TEXTS["design"]))
        assert "nothing changed" in same.out
        assert "checkpoint version" not in same.out
    assert (CHECKPOINT.read_bytes(), STATE.read_bytes()) == before


def test_a_repeated_transition_takes_the_answers_that_it_owes(begun: Rfc) -> None:
    done(begun("transition", "discover-design"))
    answer = done(begun("transition", "discover-design", "--from", "-", given=DISCOVER))
    assert "went to design already; what it owed is written now" in answer.out
    assert "## DISCOVER Exit" in headings()


def test_a_restart_that_could_not_bootstrap_is_warned_of(begun: Rfc) -> None:
    """While the context that knows what blocked the gate still lives."""
    through(begun, "discover", "design")
    answer = done(begun("transition", "gate-b-fail", "--from", "-", given=FEEDBACK))
    assert ".reviews/summary.json is missing" in answer.err
    review(required_actions="none")
    assert "has no list required_actions" in done(begun("transition", "gate-b-fail")).err
    review()
    assert "summary.json" not in done(begun("transition", "gate-b-fail")).err


@pytest.mark.clause("AMB-RFC-11")
def test_a_detour_for_evidence(failed: Rfc) -> None:
    """It restarts too, unless it is told not to; each round can have but one."""
    through(failed, "design")
    assert moved(failed, "gate-b-fail", "--to", "discover", "--dry-run")["restart"] is True
    assert moved(failed, "gate-b-fail", "--to", "design", "--dry-run")["restart"] is True
    advice = moved(
        failed, "gate-b-fail", "--to", "discover", "--no-restart", "--from", "-", given=FEEDBACK
    )
    assert (advice["write"], advice["restart"]) == (True, False)
    assert (fields()["current_phase"], fields()["detour_count"]) == ("discover", 1)
    assert "## Gate-B Round 2 Exit" in headings()
    moved(failed, "gate-b-fail", "--to", "discover")
    assert fields()["detour_count"] == 1
    assert failed("transition", "discover-design", "--to", "discover").code == 2


@pytest.mark.clause("AMB-RFC-12")
def test_light_has_no_gate_b(rfc: Rfc) -> None:
    done(rfc("init", ID, "--strictness", "light"))
    state = fields()
    assert (state["gate_b_max_rounds"], state["reviewer_count"]) == (0, 0)
    through(rfc, "discover", "design")
    before = CHECKPOINT.read_bytes(), STATE.read_bytes()
    for words in (("transition", "gate-b-fail"), ("write", "gate-b"), ("prompt", "gate-b")):
        answer = rfc(*words, given=FEEDBACK)
        assert answer.code == 1, words
        assert "Light has no Gate-B" in answer.err
        assert "holdfast rfc transition review-reject" in answer.err
    assert (CHECKPOINT.read_bytes(), STATE.read_bytes()) == before
    moved(rfc, "gate-a-pass")
    assert fields()["current_phase"] == "review"
    assert moved(rfc, "review-reject", "--from", "-", given=FEEDBACK)["write"] is True


@pytest.mark.clause("AMB-RFC-12")
@pytest.mark.parametrize(("strictness", "most"), [("standard", 2), ("full", 3)])
def test_rounds_past_the_maximum_have_to_converge(rfc: Rfc, strictness: str, most: int) -> None:
    done(rfc("init", ID, "--strictness", strictness))
    through(rfc, "discover", "design", *["gate-b", "design"] * most)
    before = CHECKPOINT.read_bytes(), STATE.read_bytes()
    for words in (("transition", "gate-b-fail"), ("write", "gate-b"), ("prompt", "gate-b")):
        answer = rfc(*words, "--json", given=FEEDBACK)
        assert answer.code == 1, words
        assert answer.envelope["error"]["kind"] == "convergence"
        assert f"Round {most + 1} is past the {most} rounds" in answer.envelope["error"]["message"]
    assert (CHECKPOINT.read_bytes(), STATE.read_bytes()) == before


@pytest.mark.clause("AMB-RFC-23")
def test_a_change_of_the_baseline_checkpoints_only_in_a_loop(rfc: Rfc) -> None:
    """Light is reviewed like Standard then; the second failure is where the checkpoints begin."""
    done(rfc("init", ID, "--strictness", "light"))
    through(rfc, "discover", "design")
    for name in ("gate-a-pass", "review-approve", "baseline-change"):
        moved(rfc, name)
    state = fields()
    assert (state["current_phase"], state["gate_b_max_rounds"]) == ("baseline_change", 2)
    assert (state["baseline_accepted"], state["strictness"]) == (True, "light")
    before = CHECKPOINT.read_bytes()
    for name in ("discover-design", "design-gate-a", "gate-a-pass", "gate-b-fail"):
        advice = moved(rfc, name)
        assert (advice["write"], advice["restart"], advice["owed"]) == (False, False, "")
    assert CHECKPOINT.read_bytes() == before
    for name in ("design-gate-a", "gate-a-pass"):
        moved(rfc, name)
    advice = moved(rfc, "gate-b-fail", "--from", "-", given=FEEDBACK)
    assert (advice["write"], advice["restart"], advice["round"]) == (True, True, 2)
    assert "## Gate-B Round 2 Exit" in headings()


def test_a_phase_is_left_only_from_within(begun: Rfc) -> None:
    answer = begun("transition", "design-gate-a")
    assert answer.code == 1
    assert "design-gate-a begins in design; auth-model is in discover" in answer.err
    assert "From here: discover-design" in answer.err
    for name in ("gate-b-fail", "review-reject", "baseline-change"):
        assert "auth-model is in discover" in begun("transition", name, "--dry-run").err
    assert begun("transition", "discover-desing").code == 2


def test_a_dry_run_changes_nothing(begun: Rfc) -> None:
    before = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    answer = done(
        begun("transition", "discover-design", "--dry-run", "--from", "-", given=DISCOVER)
    )
    assert "would go from discover to design" in answer.out
    done(begun("write", "discover", "--dry-run", given=DISCOVER))
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == before


@pytest.mark.clause("AMB-RFC-06")
def test_state_json_holds_the_keys_of_its_schema_and_no_others(failed: Rfc) -> None:
    assert list(fields()) == list(
        split_words(
            "schema_version rfc_id current_phase strictness template_id template_version "
            "created_at updated_at gate_a_result gate_b_round gate_b_max_rounds "
            "gate_b_result reviewer_count upgrade_triggers baseline_accepted "
            "checkpoint_version last_checkpoint_phase sub_step_progress detour_count "
            "rejection_count gate_b_mode reviewer_dispatch web_search_enabled"
        )
    )


@pytest.mark.clause("AMB-RFC-08")
def test_strictness_in_each_file_as_it_is_spelled_there(rfc: Rfc) -> None:
    done(rfc("init", ID, "--strictness", "FULL"))
    set_fields(strictness="Full")
    through(rfc, "discover")
    assert fields()["strictness"] == "Full"
    assert "- strictness: Full\n" in CHECKPOINT.read_text("utf-8")
    text = CHECKPOINT.read_text("utf-8").replace("strictness: Full", "strictness: FULL")
    CHECKPOINT.write_text(text, "utf-8")
    done(rfc("bootstrap"))
    through(rfc, "design")
    assert "- strictness: Full\n" in CHECKPOINT.read_text("utf-8")
