"""Run, resume and abandon, through the command line and the library: one outcome."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from tests import faces as shared
from tests.faces import Faces, Operation, Trace
from tests.plans.samples import DECISION, text
from tests.plans.world import auto

faces = shared.faces

ASK = DECISION.format(attributes="")


def plans(*tasks: str) -> Callable[[], None]:
    """One plan file."""

    def set_up() -> None:
        Path("plans").mkdir()
        Path("plans/01.md").write_text(text("\n".join(tasks), autonomous=None))

    return set_up


def begun(*tasks: str) -> Callable[[], None]:
    """A run that waits for a person."""

    def set_up() -> None:
        plans(*tasks)()
        with holdfast.open() as workspace:
            workspace.plans.run(["plans"])

    return set_up


OPERATIONS = [
    Operation(
        "run to the end",
        plans(auto("echo one > one.txt"), auto("echo two > two.txt")),
        ("plan", "run", "plans"),
        library=lambda workspace: workspace.plans.run(["plans"]),
    ),
    Operation(
        "run until a person is needed",
        plans(auto("true"), ASK),
        ("plan", "run", "plans"),
        library=lambda workspace: workspace.plans.run(["plans"]),
    ),
    Operation(
        "run plans that an unfinished run has",
        begun(ASK),
        ("plan", "run", "plans"),
        library=lambda workspace: workspace.plans.run(["plans"]),
        fails=True,
    ),
    Operation(
        "resume a run that waits",
        begun(auto("true"), ASK),
        ("plan", "resume"),
        library=lambda workspace: workspace.plans.resume(),
    ),
    Operation(
        "abandon",
        begun(auto("true"), auto("false")),
        ("plan", "abandon", "--reason", "another way"),
        library=lambda workspace: workspace.plans.abandon(reason="another way"),
    ),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_face_leaves_the_same_records_and_files(operation: Operation, faces: Faces) -> None:
    command_line, library = map(_without_figures, faces.traces(operation).values())
    assert command_line == library
    assert command_line.records


def _without_figures(trace: Trace) -> Trace:
    """How long a program took and which process ran it differ from run to run."""

    def plain(text: str) -> str:
        return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"-[0-9a-f]{4}\.log", ".log", text))

    records = [
        (plain(stream), kind, actor, plain(body)) for stream, kind, actor, body in trace.records
    ]
    return Trace(records, {plain(name): plain(text) for name, text in trace.files.items()})
