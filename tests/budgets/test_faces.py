"""Every operation on a budget that has several faces, through each of them: one outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import holdfast
from tests import faces as shared
from tests.faces import Faces, Operation

faces = shared.faces


def spent() -> None:
    with holdfast.open() as workspace:
        workspace.budgets.add(cost=3.5, tokens=1200, step="PLAN")


def check(name: str, *, setup: Callable[[], None] = lambda: None, **values: Any) -> Operation:
    flags = [word for key, value in values.items() for word in (f"--{key}", f"{value:g}")]
    return Operation(
        name,
        setup,
        ("guard", "check", *flags, "--session", "s1"),
        "guard",
        {**values, "session": "s1"},
        lambda workspace: workspace.budgets.check(session="s1", **values),
    )


OPERATIONS = [
    check("check of what programs reported", setup=spent),
    check("check with values", cost=4, context=30, errors=1),
    check("check that alerts a person", cost=26),
    check("check that stops", cost=4, estimated=2, actual=3),
    Operation(
        "a session that could be a path is refused",
        lambda: None,
        ("guard", "check", "--session", "../s1"),
        "guard",
        {"session": "../s1"},
        lambda workspace: workspace.budgets.check(session="../s1"),
        fails=True,
    ),
    Operation(
        "half an error is refused",
        lambda: None,
        ("guard", "check", "--errors", "1.5"),
        "guard",
        {"errors": 1.5},
        lambda workspace: workspace.budgets.check(errors=1.5),
        fails=True,
    ),
    Operation(
        "an error without a text is refused",
        lambda: None,
        ("guard", "report", "--error", " "),
        "guard",
        {"error": " "},
        lambda workspace: workspace.budgets.add(error=" "),
        fails=True,
    ),
    Operation(
        "add",
        lambda: None,
        ("guard", "report", "--add-cost", "0.42", "--add-tokens", "900", "--error", "no key"),
        library=lambda workspace: workspace.budgets.add(cost=0.42, tokens=900, error="no key"),
    ),
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_each_face_leaves_the_same_records_and_files(operation: Operation, faces: Faces) -> None:
    faces.compare(operation)


def test_an_agent_that_adds_and_checks_at_once_leaves_what_two_commands_leave(faces: Faces) -> None:
    """MCP has one tool for both."""
    both = Operation("add and check", tool="guard", arguments={"add_cost": 0.42, "session": "s1"})

    def library(workspace: holdfast.Workspace) -> None:
        workspace.budgets.add(cost=0.42)
        workspace.budgets.check(session="s1")

    mcp, one_by_one = faces.traces(both._replace(library=library)).values()
    assert mcp == one_by_one
