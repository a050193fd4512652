"""kill -9 between the two files, and at every other point of a write: bootstrap works after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
from tests.session.world import PATIENCE

# Dies at the n-th call of a function of the kernel's: before it, or right after it.
DYING = """
import importlib, os, signal, sys
from holdfast.cli.frame import run

where, function, number, when = sys.argv[1].split()
module = importlib.import_module(where)
__import__(where + "." + function.split(".")[0]) if where == "holdfast.rfc" else None
owner = module
for name in function.split(".")[:-1]:
    owner = getattr(owner, name)
last = function.split(".")[-1]
original = getattr(owner, last)
calls = 0

def counted(*words, **named):
    global calls
    calls += 1
    if calls == int(number) and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(*words, **named)
    if calls == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, last, counted)
sys.exit(run(sys.argv[2:]))
"""
PLACE = "holdfast.kernel.views.projection"
COMMIT = "holdfast.journal.sqlite SqliteJournal.commit 1"
# The files are exchanged in this order: checkpoint.md, then state.json; AMB-RFC-06.
POINTS = {
    "before the commit": (f"{COMMIT} before", 3, 3, 3),
    "after the commit": (f"{COMMIT} after", 4, 3, 3),
    "before the first file": (f"{PLACE} exchange 1 before", 4, 3, 3),
    "between the two files": (f"{PLACE} exchange 1 after", 4, 4, 3),
    "before the second file": (f"{PLACE} exchange 2 before", 4, 4, 3),
    "after both files": (f"{PLACE} exchange 2 after", 4, 4, 4),
}


def die(where: str, *words: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", DYING, where, "rfc", *words],
        capture_output=True,
        timeout=PATIENCE,
        env={**os.environ, "HOLDFAST_ACTOR": "tester"},
    )
    assert ended.returncode == -signal.SIGKILL, ended


def version_in_the_checkpoint() -> int:
    (line,) = [
        line for line in CHECKPOINT.read_text("utf-8").splitlines() if "checkpoint_version" in line
    ]
    return int(line.split()[-1])


@pytest.mark.clause("AMB-RFC-06", "RFC-54")
@pytest.mark.parametrize("point", POINTS)
def test_bootstrap_works_after_it(failed: Rfc, point: str) -> None:
    where, recorded, checkpoint, state = POINTS[point]
    Path("design.md").write_text(DESIGN.replace("narrowly", "after the crash"))
    die(where, "write", "design", "--from", "design.md")
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
    die(POINTS[point][0], "transition", "gate-b-fail", "--from", "feedback.md")
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
    die(f"{PLACE} place_new 1 after", "write", "design", "--from", "design.md")
    assert CHECKPOINT.exists()
    assert fields()["checkpoint_version"] == 0
    assert done(begun("bootstrap", ID, "--json")).data["version"] == 1


@pytest.mark.parametrize("function", ["init._make_files", "init.open_writer"])
def test_an_init_that_was_cut_off_is_begun_again(rfc: Rfc, function: str) -> None:
    die(f"holdfast.rfc {function} 1 after", "init", ID)
    done(rfc("init", ID))
    assert fields()["current_phase"] == "discover"
    done(rfc("write", "design", given=DESIGN))
