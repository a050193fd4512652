"""holdfast guard ack"""

from __future__ import annotations

from typing import Any

import click

from holdfast.budgets.acknowledge import acknowledge
from holdfast.budgets.check import Budget
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import TYPES, UNITS
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import Declined, Usage


@click.command()
@click.argument("type")
@click.option("--until", metavar="N", help="Ask again at this value. Default: not before the stop.")
@verb
def command(call: Call, type: str, until: str | None) -> Reply:
    """Answer the alert of TYPE (cost, context, variance, errors), as a person at a terminal.

    'ack' lets the work go on. Any other answer stops it, saves a waypoint, and exits with 9.
    """
    budget = Budget(call.workspace, actor=call.actor)
    answered = acknowledge(budget, type.lower(), until=_ceiling(type.lower(), until), now=call.now)
    data: dict[str, Any] = {**answered}
    if answered["answer"] == "stopped":
        lines = ["Halted.", boxes.saved(answered["waypoint"])]
        next = ["holdfast guard reset"]
        return Reply(data, lines, next=next, exit_code=Declined.exit_code)
    if answered["answer"] == "already":
        return Reply(data, [f"The alert of {safe(type)} was acknowledged before."])
    return Reply(data, [boxes.ACKNOWLEDGED])


def _ceiling(type: str, until: str | None) -> float | None:
    if until is None or type not in TYPES:
        return None
    try:
        return UNITS[type](until)
    except ValueError as problem:
        raise Usage(f"--until {problem}.") from None
