"""The tool `guard`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.operations import AddRequest, CheckRequest, add, check
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import ALL_TYPES, STOP, number_at
from holdfast.kernel import last_turn
from holdfast.kernel.text import quote
from holdfast.mcp.call import ToolAnswer, ToolCall, tool

VERDICTS = {
    "go": "go: work may go on.",
    "wait": "wait: an alert waits for a person. Do nothing that costs until they acknowledged it.",
    "stop": "stop: a limit is reached. Checkpoint, then end; a person lifts it.",
}
Amount = Annotated[float | None, Field(ge=0)]


def guard(
    call: ToolCall,
    cost: Annotated[Amount, Field(description="Dollars spent in all.")] = None,
    context: Annotated[Amount, Field(description="Percent in use.")] = None,
    estimated: Annotated[Amount, Field(description="Dollars it was to cost.")] = None,
    actual: Annotated[Amount, Field(description="Dollars it did cost.")] = None,
    errors: Amount = None,
    add_cost: Annotated[Amount, Field(description="Report dollars.")] = None,
    add_tokens: Annotated[int | None, Field(ge=0, description="Report tokens.")] = None,
    error: Annotated[str | None, Field(description="Report what went wrong.")] = None,
    session: str | None = None,
) -> ToolAnswer:
    """Whether work may go on in its budget: go, wait (for a person), stop. Ask before anything costly.
    What is left out is measured."""
    budget = Budget(call.workspace, actor=call.actor, now=call.now)
    if (add_cost, add_tokens, error) != (None, None, None):
        add(budget, AddRequest(cost=add_cost, tokens=add_tokens, error=error))
    values: Any = {
        "cost": cost,
        "context": context,
        "estimated": estimated,
        "actual": actual,
        "errors": errors,
    }
    report = check(budget, CheckRequest(values=values, session=session or ""))
    waiting = [one["type"] for one in report["handled"] if one["how"] == "waiting"]
    next = [f"holdfast guard ack {quote(type)}" for type in waiting]
    return ToolAnswer(_lines(report), {**report}, next=next if report["verdict"] == "wait" else ())


def _lines(report: BudgetReport) -> Iterator[str]:
    yield VERDICTS[report["verdict"]]
    for type in ALL_TYPES:
        value: float | None = report["values"].get(type)
        note = report["notes"].get(type, "")
        if value is None and not note:
            continue
        reached = "unknown" if value is None else boxes.amount(type, value)
        limit = boxes.short_amount(type, number_at(report["limits"], STOP, type))
        level = report["levels"].get(type)
        marks = filter(None, (f"stop at {limit}", level, note))
        yield f"{boxes.name_of(type)}: {reached} ({'; '.join(marks)})"
    yield from (f"warning: {one}" for one in report["warnings"])
    if report["waypoint"]:
        yield boxes.saved(report["waypoint"])
    if report["last_turn"]:
        yield last_turn.WORDS
    if report["elapsed"] is not None:
        yield "It is time for a checkpoint."
    if report["queued"]:
        yield "Queued: the journal cannot be written from here."


TOOLS = [tool(guard)]
