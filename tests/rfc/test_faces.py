"""Every operation on an RFC that has several faces, through each of them: one outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from tests import faces as shared
from tests.faces import Faces, Operation
from tests.rfc.world import DESIGN, DISCOVER, ID

faces = shared.faces

ANSWERS = Path("answers.md")


def begun(answers: str = DISCOVER, *, written: bool = False) -> Callable[[], None]:
    """An RFC, and answers in a file, for the command line."""

    def set_up() -> None:
        ANSWERS.write_text(answers)
        with holdfast.open() as workspace:
            workspace.rfc(ID).begin()
            if written:
                workspace.rfc(ID).write("discover", DISCOVER)

    return set_up


OPERATIONS = [
    Operation(
        "init",
        lambda: None,
        ("rfc", "init", ID, "--title", "Who may log in", "--strictness", "full"),
        library=lambda ws: ws.rfc(ID).begin(title="Who may log in", strictness="full"),
    ),
    Operation(
        "prompt",
        begun(),
        ("rfc", "prompt", "discover", ID),
        "reason",
        {"do": "questions", "group": "discover", "rfc": ID},
        lambda ws: ws.rfc(ID).prompt("discover"),
    ),
    Operation(
        "write",
        begun(),
        ("rfc", "write", "discover", ID, "--from", str(ANSWERS)),
        "reason",
        {"do": "write", "group": "discover", "rfc": ID, "answers": DISCOVER},
        lambda ws: ws.rfc(ID).write("discover", DISCOVER),
    ),
    Operation(
        "write of too few answers",
        begun("### User Intent Signals\n- One\n"),
        ("rfc", "write", "discover", ID, "--from", str(ANSWERS)),
        "reason",
        {"do": "write", "group": "discover", "rfc": ID, "answers": "### User\n- One"},
        lambda ws: ws.rfc(ID).write("discover", "### User Intent Signals\n- One\n"),
        fails=True,
    ),
    Operation(
        "transition",
        begun(written=True),
        ("rfc", "transition", "discover-design", ID, "--pressure", "80"),
        "reason",
        {"do": "transition", "transition": "discover-design", "rfc": ID, "pressure": 80},
        lambda ws: ws.rfc(ID).transition("discover-design", pressure=80),
    ),
    Operation(
        "transition that writes",
        begun(),
        ("rfc", "transition", "discover-design", ID, "--from", str(ANSWERS)),
        "reason",
        {"do": "transition", "transition": "discover-design", "rfc": ID, "answers": DISCOVER},
        lambda ws: ws.rfc(ID).transition("discover-design", answers=DISCOVER),
    ),
    Operation(
        "transition from another phase",
        begun(DESIGN),
        ("rfc", "transition", "gate-b-pass", ID),
        "reason",
        {"do": "transition", "transition": "gate-b-pass", "rfc": ID},
        lambda ws: ws.rfc(ID).transition("gate-b-pass"),
        fails=True,
    ),
    Operation(
        "bootstrap",
        begun(written=True),
        ("rfc", "bootstrap", ID),
        "reason",
        {"do": "bootstrap", "rfc": ID},
        lambda ws: ws.rfc(ID).bootstrap(),
    ),
    Operation("close", begun(), ("rfc", "close", ID), library=lambda ws: ws.rfc(ID).close()),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_face_leaves_the_same_records_and_files(operation: Operation, faces: Faces) -> None:
    assert faces.compare(operation).records
