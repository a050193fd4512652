"""The options of everything that runs plans: `plan run`, `plan resume`, `takeoff` and `cockpit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from holdfast.budgets.rules.thresholds import ALERT, STOP, UNITS, WARNING
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.budgets.rules.thresholds import Limits

# More than anybody spends; `--no-cost-limit` is a number, as every limit is.
NO_LIMIT = 1e9
_COST = "cost"


def running(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how a run is carried out and what it may cost."""
    for option in reversed(
        (
            click.option(
                "--jobs",
                type=click.IntRange(min=1, max=256),
                help="Number of tasks that run at the same time.",
            ),
            click.option(
                "--wait",
                is_flag=True,
                help="Wait when a person is needed, instead of exiting with 8.",
            ),
            click.option(
                "--edited",
                type=click.Choice(["old", "new"]),
                help="Text to use when a plan file was edited after the run began.",
            ),
            click.option("--max-cost", metavar="$", help="Stop at this cost."),
            click.option("--warn-cost", metavar="$", help="Warn at this cost."),
            click.option("--alert-cost", metavar="$", help="Ask a person at this cost."),
            click.option("--no-cost-limit", is_flag=True, help="Remove the cost limit."),
            click.option(
                "--reset-alerts", is_flag=True, help="Clear all acknowledgments of alerts."
            ),
            click.option("--quiet", is_flag=True, help="Print only errors and the result."),
            click.option(
                "--on",
                metavar="ADDRESS",
                help="Where tasks run: local, or a Dask scheduler such as tls://HOST:8786.",
            ),
            click.option(
                "--tls-ca", default="", metavar="FILE", help="CA certificate of the scheduler."
            ),
            click.option(
                "--tls-cert",
                default="",
                metavar="FILE",
                help="Client certificate for the scheduler.",
            ),
            click.option(
                "--tls-key", default="", metavar="FILE", help="Key of the client certificate."
            ),
        )
    ):
        function = option(function)
    return function


def beginning(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where a new run begins."""
    for option in reversed(
        (
            click.option("--phase", default="", metavar="N", help="Start with this phase."),
            click.option("--task", default="", metavar="X.Y", help="Start with task Y of plan X."),
            click.option(
                "--worktrees", is_flag=True, help="Run each plan in its own git worktree."
            ),
            click.option(
                "--again",
                is_flag=True,
                help="Start a new run even if an unfinished run has these plans.",
            ),
            click.option(
                "--skip-validation", is_flag=True, help="Run even if the plans have errors."
            ),
            click.option("--dry-run", is_flag=True, help="Print the order; run nothing."),
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
