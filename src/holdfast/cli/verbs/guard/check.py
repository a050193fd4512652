"""holdfast guard check"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from holdfast.budgets import last_turn, limits, measure
from holdfast.budgets.check import Budget
from holdfast.budgets.operations import CheckRequest, check
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import ALERT, STOP, TYPES, WARNING
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import echo, one_line, safe, style, table
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import Stopped, Waiting

if TYPE_CHECKING:
    from holdfast.budgets.check import BudgetReport
    from holdfast.budgets.rules.ledger import Halt

EXIT_CODES = {"go": 0, "wait": Waiting.exit_code, "stop": Stopped.exit_code}
_COLOURS = {WARNING: "yellow", ALERT: "yellow", STOP: "red"}


@click.command()
@click.option("--cost", metavar="$", help="Dollars spent. Default: measured.")
@click.option("--context", metavar="%", help="Percent of the context in use. Default: measured.")
@click.option(
    "--estimated",
    metavar="$",
    help="Dollars that the work was estimated to cost, for the variance.",
)
@click.option("--actual", metavar="$", help="Dollars that the work cost. Default: the cost.")
@click.option("--errors", metavar="N", help="Number of errors. Default: measured.")
@click.option(
    "--limit",
    "given",
    multiple=True,
    metavar="LEVEL.TYPE=N",
    help="Lower limit for this check, such as stop.cost=20. A flag cannot raise a limit.",
)
@click.option("--session", default="", metavar="ID", help="Id of the session to measure.")
@click.option(
    "--log", "with_log", is_flag=True, help="Print the protocol's log lines on standard error, too."
)
@click.option("--dry-run", is_flag=True, help="Print the result; record nothing.")
@verb
def command(
    call: Call,
    cost: str | None,
    context: str | None,
    estimated: str | None,
    actual: str | None,
    errors: str | None,
    given: tuple[str, ...],
    session: str,
    with_log: bool,
    dry_run: bool,
) -> Reply:
    """Check whether work may go on within its budget.

    Exit codes: 0 go on; 8 an alert waits for a person (`guard ack`); 7 stopped until a person lifts the
    stop (`guard reset`). Holdfast measures the values that you do not give, from the client's files and
    from what programs reported.
    """
    known = measure.from_flags(
        cost=cost, context=context, estimated=estimated, actual=actual, errors=errors
    )
    budget = Budget(call.workspace, actor=call.actor, now=call.now)
    report = check(
        budget,
        CheckRequest(
            values=known, limits=limits.from_flags(given), session=session, dry_run=dry_run
        ),
    )
    for warning in report["warnings"]:
        warn(warning)
    if with_log and not call.as_json:
        for line in report["log"]:
            echo(line, error=True)
    lines = list(_lines(report, every=budget.settings["guard.every_warning"]))
    data: dict[str, Any] = {**report}
    code = EXIT_CODES[report["verdict"]]
    return Reply(data, lines, next=_next(report), exit_code=code)


def _next(report: BudgetReport) -> list[str]:
    if report["verdict"] == "stop":
        return ["holdfast checkpoint", "holdfast guard reset"]
    waiting = [one["type"] for one in report["handled"] if one["how"] == "waiting"]
    return [f"holdfast guard ack {type}" for type in waiting]


def _lines(report: BudgetReport, *, every: bool) -> Iterator[str]:
    if report["dry_run"]:
        yield style("Nothing is recorded: --dry-run", dim=True)
    if report["handled"] or report["verdict"] != "stop":
        yield from table(list(_rows(report)))
    # What waits for somebody stands last, where it is seen.
    for one in sorted(report["handled"], key=lambda one: one["how"] == "waiting"):
        type, value, threshold = one["type"], one["value"], one["threshold"]
        if one["how"] == "warned" and (one["entered"] or every):
            yield ""
            yield from boxes.warning(type, value, threshold)
        elif one["how"] == "waiting":
            yield ""
            yield from boxes.alert(type, value, threshold, report["limits"][STOP][type])
            yield f"A person answers in a terminal: holdfast guard ack {type}"
            if type == "errors":
                yield from _recent(report)
    if report["verdict"] == "stop":
        yield from _stop_lines(report)
    elif report["waypoint"]:
        yield ""
        yield boxes.saved(report["waypoint"])
    if report["elapsed"] is not None:
        yield ""
        minutes = report["elapsed"] // MINUTE
        yield f"{minutes} min since the session began. Time for: holdfast checkpoint"
    if report["queued"]:
        yield style(f"Queued: {safe(report['queued'])}", dim=True)


def _rows(report: BudgetReport) -> Iterator[list[str]]:
    """One row a type: where it is, against which limits."""
    for type in TYPES:
        value: float | None = report["values"][type]  # type: ignore[literal-required]
        note = report["notes"].get(type, "")
        if value is None and not note:
            continue
        level = report["levels"].get(type)
        known = "?" if value is None else boxes.amount(type, value)
        numbers = [
            boxes.short_amount(type, report["limits"][one][type]) for one in (WARNING, ALERT, STOP)
        ]
        sign = style(
            level or ("ok" if value is not None else "-"), _COLOURS.get(level or "", "green")
        )
        yield [
            boxes.name_of(type),
            known,
            sign,
            style(f"of {' / '.join(numbers)}", dim=True),
            style(safe(note), "yellow"),
        ]


def _recent(report: BudgetReport) -> Iterator[str]:
    """What there is to investigate."""
    for error in report["recent_errors"]:
        yield f"  {one_line(error, 100)}"


def _stop_lines(report: BudgetReport) -> Iterator[str]:
    halt = report["stopped"] or _halt_of(report)
    if halt is None:
        return
    yield ""
    yield from boxes.stop(halt["type"], halt["value"], halt["threshold"], halt["level"])
    if halt["type"] == "errors":
        yield from _recent(report)
    if halt["waypoint"]:
        yield ""
        yield boxes.saved(halt["waypoint"])
    if report["last_turn"]:
        yield ""
        yield style(last_turn.WORDS, "yellow", bold=True)


def _halt_of(report: BudgetReport) -> Halt | None:
    """What a dry run would stop at."""
    for one in report["handled"]:
        if one["how"] == "stopped":
            return {
                "reason": "",
                "type": one["type"],
                "level": one["level"],
                "value": one["value"],
                "threshold": one["threshold"],
                "at": "",
                "session_id": "",
                "waypoint": "",
                "last_turn": False,
            }
    return None
