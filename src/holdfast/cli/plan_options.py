"""The options of everything that runs plans: `plan run`, `plan resume`, `takeoff` and `cockpit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.budgets.rules.thresholds import ALERT, STOP, WARNING
from holdfast.budgets.rules.units import UNITS
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.budgets.rules.thresholds import Limits

# More than anybody spends; `--no-cost-limit` is a number, as every limit is.
NO_LIMIT = 1e9
_COST = "cost"


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a run is run, and what it may cost."""
    for option in reversed(
        (
            click.option(
                "--jobs", type=click.IntRange(min=1, max=256), help="Tasks at the same time."
            ),
            click.option("--wait", is_flag=True, help="Stay and wait where a person is needed."),
            click.option(
                "--edited",
                type=click.Choice(["old", "new"]),
                help="Of a plan file that was edited meanwhile: the text to go on with.",
            ),
            click.option("--max-cost", metavar="$", help="Stop at so much."),
            click.option("--warn-cost", metavar="$", help="Warn at so much."),
            click.option("--alert-cost", metavar="$", help="Ask a person at so much."),
            click.option("--no-cost-limit", is_flag=True, help="No limit on the cost."),
            click.option("--reset-alerts", is_flag=True, help="Clear what was acknowledged."),
            click.option("--quiet", is_flag=True, help="Only what went wrong, and the end."),
            click.option(
                "--on",
                metavar="ADDRESS",
                help="Where tasks run: local, or a Dask scheduler such as tls://HOST:8786.",
            ),
            click.option("--tls-ca", default="", metavar="FILE", help="Whom to trust there."),
            click.option("--tls-cert", default="", metavar="FILE", help="Who we are there."),
            click.option("--tls-key", default="", metavar="FILE", help="The key to that."),
        )
    ):
        function = option(function)
    return function


def beginning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where a new run begins, and in what."""
    for option in reversed(
        (
            click.option("--phase", default="", metavar="N", help="Begin with this phase."),
            click.option("--task", default="", metavar="X.Y", help="Begin with task Y of plan X."),
            click.option(
                "--worktrees", is_flag=True, help="Each plan in a git worktree of its own."
            ),
            click.option("--again", is_flag=True, help="A new run, though one is unfinished."),
            click.option("--skip-validation", is_flag=True, help="Run in spite of what lint says."),
            click.option("--dry-run", is_flag=True, help="Show the order; run nothing."),
        )
    ):
        function = option(function)
    return function


def limits_of(
    max_cost: str | None, warn_cost: str | None, alert_cost: str | None, no_cost_limit: bool
) -> Limits:
    """The flags as limits of the budget."""
    limits: Limits = {}
    given = {STOP: max_cost, WARNING: warn_cost, ALERT: alert_cost}
    names = {STOP: "--max-cost", WARNING: "--warn-cost", ALERT: "--alert-cost"}
    if no_cost_limit:
        if max_cost is not None or alert_cost is not None:
            raise Usage("--no-cost-limit and a cost limit contradict each other.")
        limits = {STOP: {_COST: NO_LIMIT}, ALERT: {_COST: NO_LIMIT}}
    for level, text in given.items():
        if text is None:
            continue
        try:
            limits.setdefault(level, {})[_COST] = UNITS[_COST](text)
        except ValueError as problem:
            raise Usage(f"{names[level]} {problem}.") from None
    return limits
