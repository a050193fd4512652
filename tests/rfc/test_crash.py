"""kill -9 between the two files, and at every other point of a write: bootstrap works after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dying import die_at
from tests.rfc.world import (
    CHECKPOINT,
    DESIGN,
    FEEDBACK,
    ID,
    STATE,
    Rfc,
    done,
    fields,
    review,
    through,
)

# The files are exchanged in this order: checkpoint.md, then state.json; AMB-RFC-06. Each point with
# how often it is reached, and the versions in the journal, checkpoint.md and state.json.
POINTS = {
    "before the commit": ("before append", 1, 3, 3, 3),
    "after the commit": ("after append", 1, 4, 3, 3),
    "before the first file": ("before placing", 1, 4, 3, 3),
    "between the two files": ("after placing", 1, 4, 4, 3),
    "before the second file": ("before placing", 2, 4, 4, 3),
    "after both files": ("after placing", 2, 4, 4, 4),
}


def version_in_the_checkpoint() -> int:
    (line,) = [
        line for line in CHECKPOINT.read_text("utf-8").splitlines() if "checkpoint_version" in line
    ]
    return int(line.split()[-1])


@pytest.mark.clause("AMB-RFC-06", "RFC-54")
@pytest.mark.parametrize("point", POINTS)
def test_bootstrap_works_after_it(failed: Rfc, point: str) -> None:
    where, number, recorded, checkpoint, state = POINTS[point]
    Path("design.md").write_text(DESIGN.replace("narrowly", "after the crash"))
    die_at(where, "rfc", "write", "design", "--from", "design.md", number=number)
    assert version_in_the_checkpoint() == checkpoint
    assert fields()["checkpoint_version"] == state
    before = CHECKPOINT.read_bytes(), STATE.read_bytes()
    data = done(failed("bootstrap", ID, "--json")).data
    assert data["version"] == recorded
    assert ("after the crash" in data["text"]) is (recorded == 4)
    assert bool(data["warnings"]) is (recorded != state)
    assert (CHECKPOINT.read_bytes(), STATE.read_bytes()) == before
    # The next write puts everything right.
    done(failed("write", "design", given=DESIGN))
    assert version_in_the_checkpoint() == fields()["checkpoint_version"] == recorded + 1


@pytest.mark.clause("AMB-RFC-06")
@pytest.mark.parametrize("point", ["after the commit", "between the two files"])
def test_a_transition_that_was_cut_off_is_read_as_made(begun: Rfc, point: str) -> None:
    through(begun, "discover", "design")
    Path("feedback.md").write_text(FEEDBACK)
    where, number, *_ = POINTS[point]
    die_at(where, "rfc", "transition", "gate-b-fail", "--from", "feedback.md", number=number)
    review()
    data = done(begun("bootstrap", ID, "--json")).data
    assert (data["phase"], data["round"], data["version"]) == ("design", 1, 3)
    assert "thin failure paths" in data["text"]
    answer = done(begun("transition", "gate-b-fail"))
    assert "nothing changed" in answer.out
    assert (fields()["gate_b_round"], fields()["rejection_count"]) == (1, 1)
    assert version_in_the_checkpoint() == 3


def test_the_very_first_checkpoint(begun: Rfc) -> None:
    """There checkpoint.md is new, and only state.json is exchanged."""
    Path("design.md").write_text(DESIGN)
    die_at("after placing", "rfc", "write", "design", "--from", "design.md")
    assert CHECKPOINT.exists()
    assert fields()["checkpoint_version"] == 0
    assert done(begun("bootstrap", ID, "--json")).data["version"] == 1


def test_an_init_that_was_cut_off_is_begun_again(rfc: Rfc) -> None:
    die_at("before append", "rfc", "init", ID)
    done(rfc("init", ID))
    assert fields()["current_phase"] == "discover"
    done(rfc("write", "design", given=DESIGN))
