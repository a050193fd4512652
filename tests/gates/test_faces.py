"""Every operation on gates that has several faces, through each of them: one outcome."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import holdfast
from holdfast.estop.stop import stop
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.kernel import clock
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import discover
from holdfast.people.person import by_elicitation
from tests import faces as shared
from tests.faces import Faces, Operation, trace
from tests.gates.person import at_page
from tests.gates.samples import NO_TO_ALL

faces = shared.faces

BUILT, HOW = "User Dashboard", "Cards show data"
OPTIONS = [
    {"id": "pg", "name": "PostgreSQL", "pros": "Teams run it", "cons": "One more server"},
    {"id": "lite", "name": "SQLite", "pros": "One file", "cons": "One machine"},
]
MAIL = {"why": "The link is in your inbox", "cause": "email"}


def asked(**terms: object) -> Callable[[], None]:
    def set_up() -> None:
        with holdfast.open() as workspace:
            workspace.gates.verify(built=BUILT, how=[HOW], name="page", **terms)  # type: ignore[arg-type]

    return set_up


def stopped() -> None:
    workspace = discover()
    stop(workspace, "enough", by="tester", now=0)
    workspace.close()


def decision_for_30_seconds() -> None:
    with holdfast.open() as workspace:
        workspace.gates.decide(
            "Select a store",
            context="Two agents write at once.",
            options=OPTIONS,  # type: ignore[arg-type]
            expires="30s",
            default="lite",
            name="store",
        )


VERIFY = Operation(
    "verify",
    lambda: None,
    ("gate", "verify", "--built", BUILT, "--how", HOW, "--name", "page", "--holds", "plan 6"),
    "gate_open",
    {"kind": "verify", "title": BUILT, "items": [HOW], "name": "page", "holds": "plan 6"},
    lambda workspace: workspace.gates.verify(built=BUILT, how=[HOW], name="page", holds="plan 6"),
)
OPERATIONS = [
    VERIFY,
    VERIFY._replace(name="verify again", setup=asked(holds="plan 6")),
    VERIFY._replace(name="verify under a stop", setup=stopped, fails=True),
    Operation(
        "decide, with a default after two hours",
        lambda: None,
        (
            "gate",
            "decide",
            "Select a store",
            "--context",
            "Two agents write at once.",
            "--option",
            *OPTIONS[0].values(),
            "--option",
            *OPTIONS[1].values(),
            *split_words("--expires 2h --default lite --name store"),
        ),
        "gate_open",
        {
            "kind": "decide",
            "title": "Select a store",
            "context": "Two agents write at once.",
            "options": OPTIONS,
            "expires": "2h",
            "default": "lite",
            "name": "store",
        },
        lambda workspace: workspace.gates.decide(
            "Select a store",
            context="Two agents write at once.",
            options=OPTIONS,  # type: ignore[arg-type]
            expires="2h",
            default="lite",
            name="store",
        ),
    ),
    Operation(
        "act, for the end of a phase",
        lambda: None,
        (
            "gate",
            "act",
            "Verify the mail",
            "--cause",
            MAIL["cause"],
            "--why",
            MAIL["why"],
            "--step",
            "Click the link",
            "--batch",
            "--phase",
            "3",
            "--name",
            "mail",
            *(word for name in NO_TO_ALL for word in (f"--{name}", "no")),
        ),
        "gate_open",
        {
            "kind": "act",
            "title": "Verify the mail",
            "items": ["Click the link"],
            **MAIL,
            "checklist": NO_TO_ALL,
            "batch": True,
            "phase": "3",
            "name": "mail",
        },
        lambda workspace: workspace.gates.act(
            "Verify the mail",
            instructions=["Click the link"],
            checklist=NO_TO_ALL,
            batch=True,
            phase="3",
            name="mail",
            **MAIL,  # type: ignore[arg-type]
        ),
    ),
    Operation(
        "a question for a machine is refused",
        lambda: None,
        ("gate", "verify", "--built", "Run npm install", "--how", "Run npm test"),
        "gate_open",
        {"kind": "verify", "title": "Run npm install", "items": ["Run npm test"]},
        lambda workspace: workspace.gates.verify(built="Run npm install", how=["Run npm test"]),
        fails=True,
    ),
    Operation(
        "list closes a gate whose time is over",
        decision_for_30_seconds,
        ("gate", "list"),
        "gate_status",
        {},
        lambda workspace: workspace.gates.waiting(),
    ),
    Operation(
        "withdraw without a person",
        asked(),
        ("gate", "withdraw", "page", "--reason", "built anew"),
        library=lambda workspace: workspace.gates.named("page").withdraw("built anew"),
        fails=True,
    ),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_face_leaves_the_same_records_and_files(operation: Operation, faces: Faces) -> None:
    faces.compare(operation)


def test_an_answer_is_the_same_record_from_the_page_and_from_a_dialogue(faces: Faces) -> None:
    """Except for the person that it names."""
    now = clock.parse("2026-11-16T12:01:00Z")
    people = (at_page("/dev/pts/9", now=now), by_elicitation("claude-code", now=now))
    bodies = []
    for number, person in enumerate(people):
        root = faces.fresh(str(number))
        asked(batch=True, phase="3")()
        workspace = discover(str(root))
        request = AnswerRequest(gate="page", text="approved", person=person, saw="the question")
        answer(GateContext(workspace, "tester", now), request)
        workspace.close()
        (record,) = [one for one in trace(root).records if one[1] == "answered"]
        bodies.append(re.sub(r"'person': \{.*?\}", "", record[3]))
    assert bodies[0] == bodies[1]
    assert "'verdict': 'yes'" in bodies[0]
    assert "the question" in bodies[0]
