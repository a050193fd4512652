"""holdfast guard reset"""

from __future__ import annotations

from typing import Any

import click

from holdfast.budgets import limits
from holdfast.budgets.acknowledge import reset
from holdfast.budgets.check import Budget
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import STOP
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb


@click.command()
@click.option(
    "--limit",
    "given",
    multiple=True,
    metavar="LEVEL.TYPE=N",
    help="New limit, such as stop.cost=80. Only a person can give it.",
)
@verb
def command(call: Call, given: tuple[str, ...]) -> Reply:
    """Clear all acknowledgments, so that alerts ask again (--reset-alerts in the protocol).

    An alert that waits still waits: a person answers it with `guard ack`.
    After a stop, this lifts the stop: a person at a terminal says how high the cost may go now.
    """
    budget = Budget(call.workspace, actor=call.actor)
    done = reset(budget, limits.from_flags(given), now=call.now)
    data: dict[str, Any] = {**done}
    lines = [boxes.CLEARED]
    if done["lifted"] is not None:
        type = done["lifted"]["type"]
        limit = boxes.amount(type, done["limits"][STOP][type])
        lines.append(f"The stop is lifted; {boxes.name_of(type)} stops at {limit}.")
    for type in done["waiting"]:
        lines.append(f"The alert of {type} still waits: holdfast guard ack {type}")
    return Reply(data, lines, next=["holdfast guard check"])
