"""holdfast guard limits"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from holdfast.budgets.check import Budget
from holdfast.budgets.limits import PROTOCOL, InForce, in_force
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import LEVELS, TYPES
from holdfast.budgets.rules.triggers import BOUND
from holdfast.budgets.stop import describe
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, safe, style, table
from holdfast.kernel.clock import MINUTE

if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import BudgetState


@click.command()
@verb
def command(call: Call) -> Reply:
    """Show the limits in force, their sources and actions, and what a person acknowledged.

    A limit comes from the first of these that sets it: a flag, the waypoint, `.autopilot/config.yaml`,
    your own `~/.claude/autopilot/config.json`, the protocol.
    """
    budget = Budget(call.workspace, actor=call.actor)
    state = budget.state()
    held = in_force(call.workspace, state["given"], state["lowered"])
    data: dict[str, Any] = {
        "limits": held.limits,
        "sources": held.sources,
        "actions": held.actions,
        "triggers": held.triggers,
        "acknowledgments": state["acknowledgments"],
        "last_reset": state["last_reset"],
        "pending": state["pending"],
        "stopped": state["stopped"],
    }
    return Reply(data, _lines(held, state, call.now))


def _lines(held: InForce, state: BudgetState, now: int) -> Iterator[str]:
    heading = ["", *(style(level, bold=True) for level in LEVELS)]
    yield from table([heading, *([boxes.name_of(type), *_cells(held, type)] for type in TYPES)])
    yield ""
    yield style("Triggers", bold=True)
    others = [one for one in held.triggers if one["type"] not in BOUND]
    rows = [[one["type"], _when(one), one["action"]] for one in others]
    yield from table(rows, indent="  ")
    for type, known in state["acknowledgments"].items():
        yield ""
        by = known["by"]["name"] if known["by"] else "somebody"
        value = "" if known["value_at_ack"] is None else boxes.amount(type, known["value_at_ack"])
        when = ago(known["acknowledged_at"], now)
        yield f"{boxes.name_of(type)} acknowledged at {value} by {safe(by)}, {safe(when)}."
    for type, pending in state["pending"].items():
        yield ""
        yield style(
            f"{boxes.name_of(type)} waits at {boxes.amount(type, pending['value'])}", "yellow"
        )
    if state["stopped"] is not None:
        yield ""
        yield style(f"Stopped: {describe(state['stopped'])}", "red", bold=True)


def _cells(held: InForce, type: str) -> Iterator[str]:
    for level in LEVELS:
        source = held.sources[level][type]
        from_where = "" if source == PROTOCOL else f" ({source})"
        action = held.actions[level][type]
        number = boxes.amount(type, held.limits[level][type])
        yield f"{number}{style(safe(from_where), 'cyan')} {style(action, dim=True)}"


def _when(trigger: Any) -> str:
    if "duration" in trigger:
        return f"{trigger['duration'] // MINUTE}min"
    return str(trigger.get("frequency") or trigger.get("signal") or "")
