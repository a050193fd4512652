"""holdfast guard check, ack, reset, limits"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from holdfast.budgets import limits, measure
from holdfast.budgets.acknowledge import STATED, acknowledge, reset
from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.limits import PROJECT_FILE, PROTOCOL, WAYPOINT
from holdfast.budgets.operations import CheckRequest, LimitsReport, check, show_limits
from holdfast.budgets.rules import boxes, thresholds
from holdfast.budgets.rules.thresholds import ALERT, ALL_TYPES, QUANTITIES, STOP, Limits, number_at
from holdfast.budgets.rules.triggers import BOUND
from holdfast.budgets.set_limit import SetRequest, set_limit
from holdfast.budgets.stop import describe, draw_stop
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import amount_from, verb
from holdfast.cli.terminal import ago, echo, one_line, safe, style, table
from holdfast.kernel import last_turn
from holdfast.kernel.clock import MINUTE
from holdfast.kernel.errors import Declined, Stopped, Waiting
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.usage import quotas

EXIT_CODES = {"go": 0, "wait": Waiting.exit_code, "stop": Stopped.exit_code}
_COLOURS = {thresholds.WARNING: "yellow", ALERT: "yellow", STOP: "red"}


@click.command()
@click.option("--cost", metavar="$", help="Dollars spent.  [default: measured]")
@click.option("--context", metavar="%", help="Percent of the context in use.  [default: measured]")
@click.option(
    "--estimated",
    metavar="$",
    help="Dollars that the work was estimated to cost, for the variance.",
)
@click.option("--actual", metavar="$", help="Dollars that the work cost.  [default: the cost]")
@click.option("--errors", metavar="N", help="Number of errors.  [default: measured]")
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
def check_command(
    call: Call,
    given: tuple[str, ...],
    session: str,
    with_log: bool,
    dry_run: bool,
    **values: str | None,
) -> Reply:
    """Check whether work may go on within its budget.

    Exit codes: 0 go on; 8 an alert waits for a person (`guard ack`); 7 stopped until a person lifts the
    stop (`guard reset`). Holdfast measures the values that you do not give, from the client's files and
    from what programs reported.
    """
    budget = Budget(call.workspace, actor=call.actor, now=call.now)
    known, lower = measure.from_flags(**values), limits.from_flags(given)
    request = CheckRequest(values=known, limits=lower, session=session, dry_run=dry_run)
    report = check(budget, request)
    warn(*report["warnings"])
    if with_log and not call.as_json:
        for line in report["log"]:
            echo(line, error=True)
    lines = list(_check_lines(call.workspace, report, every=budget.settings["guard.every_warning"]))
    code = EXIT_CODES[report["verdict"]]
    return Reply({**report}, lines, next=_next(report), exit_code=code)


def _next(report: BudgetReport) -> list[str]:
    if report["verdict"] == "stop":
        return ["holdfast checkpoint", "holdfast guard reset"]
    waiting = [one["type"] for one in report["handled"] if one["how"] == "waiting"]
    return [f"holdfast guard ack {quote(type)}" for type in waiting]


def _check_lines(workspace: Workspace, report: BudgetReport, *, every: bool) -> Iterator[str]:
    if report["dry_run"]:
        yield style("Nothing is recorded: --dry-run", dim=True)
    if report["handled"] or report["verdict"] != "stop":
        yield from table(list(_rows(report)))
    # What waits for a person stands last, where it is seen.
    for one in sorted(report["handled"], key=lambda one: one["how"] == "waiting"):
        type, value, threshold = one["type"], one["value"], one["threshold"]
        if one["how"] == "warned" and (one["entered"] or every):
            yield ""
            yield from boxes.warning(type, value, threshold)
        elif one["how"] == "waiting":
            yield ""
            limit = number_at(report["limits"], STOP, type)
            yield from boxes.alert(type, value, threshold, limit, aligned=sys.stdout.isatty())
            yield f"A person answers in a terminal: holdfast guard ack {quote(type)}"
            if type == "errors":
                yield from _recent(report)
    if report["verdict"] == "stop":
        yield from _stop_lines(workspace, report)
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
    for type in ALL_TYPES:
        value: float | None = report["values"].get(type)
        note = report["notes"].get(type, "")
        note = "; ".join(filter(None, (note, report["acknowledged"].get(type))))
        if value is None and not note:
            continue
        level = report["levels"].get(type)
        known = "?" if value is None else boxes.amount(type, value)
        numbers = [
            boxes.short_amount(type, number_at(report["limits"], one, type))
            for one in (thresholds.WARNING, ALERT, STOP)
        ]
        word = level or ("ok" if value is not None else "-")
        sign = style(word, _COLOURS.get(level or "", "green"))
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


def _stop_lines(workspace: Workspace, report: BudgetReport) -> Iterator[str]:
    halt = report["stopped"]
    # A dry run has only what it would stop at.
    reached = halt or next((one for one in report["handled"] if one["how"] == "stopped"), None)
    if reached is None:
        return
    yield ""
    yield from draw_stop(workspace, reached)
    if reached["type"] == "errors":
        yield from _recent(report)
    if halt is not None and halt["waypoint"]:
        yield ""
        yield boxes.saved(halt["waypoint"])
    yield boxes.LIFT
    if report["last_turn"]:
        yield ""
        yield style(last_turn.WORDS, "yellow", bold=True)


@click.command()
@click.argument("type")
@click.argument("number", metavar="NUMBER")
@click.option(
    "--level",
    type=click.Choice(thresholds.LEVELS),
    default=STOP,
    show_default=True,
    help="What happens at the number: a warning, a question to a person, or a stop.",
)
@verb
def set_command(call: Call, type: str, number: str, level: str) -> Reply:
    """Write the limit of TYPE (cost, context, variance, errors, ...) into .autopilot/config.yaml, as a person
    at a terminal.

    The rest of the file stays as it is. Levels below that would be higher than the new number give way.
    """
    budget = Budget(call.workspace, actor=call.actor, now=call.now)
    request = SetRequest(type=type.lower(), number=number, level=level)
    done = set_limit(budget, request, now=call.now)
    where = f"{done['path']} says {done['level']}.{done['type']}: {done['written']}"
    return Reply({**done}, [f"{where}."], next=["holdfast guard limits"])


@click.command()
@click.argument("type")
@click.option(
    "--until", metavar="N", help="Ask again at this value.  [default: not before the stop]"
)
@verb
def ack_command(call: Call, type: str, until: str | None) -> Reply:
    """Answer the alert of TYPE (cost, context, variance, errors), as a person at a terminal.

    'ack' lets the work go on. Any other answer stops it, saves a waypoint, and exits with 9.
    """
    budget = Budget(call.workspace, actor=call.actor)
    name = type.lower()
    ceiling = amount_from("--until", until, QUANTITIES[name].read) if name in QUANTITIES else None
    answered = acknowledge(budget, name, until=ceiling, now=call.now)
    if answered["answer"] == "stopped":
        lines = ["Halted.", boxes.saved(answered["waypoint"])]
        next = ["holdfast guard reset"]
        return Reply({**answered}, lines, next=next, exit_code=Declined.exit_code)
    if answered["answer"] == "already":
        return Reply({**answered}, [f"The alert of {safe(type)} was acknowledged before."])
    return Reply({**answered}, [boxes.ACKNOWLEDGED])


@click.command()
@click.option(
    "--limit",
    "given",
    multiple=True,
    metavar="LEVEL.TYPE=N",
    help="New limit, such as stop.cost=80. Only a person can give it.",
)
@verb
def reset_command(call: Call, given: tuple[str, ...]) -> Reply:
    """Clear all acknowledgments, so that alerts ask again (--reset-alerts in the protocol).

    An alert that waits still waits: a person answers it with `guard ack`.
    After a stop, this lifts the stop: a person at a terminal says how high the cost may go now.
    """
    budget = Budget(call.workspace, actor=call.actor)
    flags = limits.from_flags(given)
    done = reset(budget, flags, now=call.now)
    lines = [boxes.CLEARED]
    lifted = done["lifted"]["type"] if done["lifted"] is not None else ""
    if lifted:
        lines.append(f"The stop is lifted; {_stops_at(lifted, done['limits'])}")
    said = {type for numbers in flags.values() for type in numbers} - {lifted}
    lines += [_stops_at(type, done["limits"]) for type in ALL_TYPES if type in said]
    for type, number in done["dropped"].get(STOP, {}).items():
        lines.append(
            f"A program that says {boxes.amount(type, number)} itself (--limit, limits=) stops there "
            "again: raise it in the program, too."
        )
    for type in done["waiting"]:
        lines.append(f"The alert of {type} still waits: holdfast guard ack {quote(type)}")
    return Reply({**done}, lines, next=["holdfast guard check"])


def _stops_at(type: str, held: Limits) -> str:
    limit = boxes.amount(type, number_at(held, STOP, type))
    return f"{boxes.name_of(type)} stops at {limit}."


@click.command()
@verb
def limits_command(call: Call) -> Reply:
    """Show the limits in force, their sources and actions, and what a person acknowledged.

    A limit comes from the first of these that sets it: a flag, the waypoint, `.autopilot/config.yaml`,
    your own `~/.claude/autopilot/config.json`, the protocol.
    """
    found = show_limits(Budget(call.workspace, actor=call.actor, now=call.now))
    lines = list(_limits_lines(found, call.now))
    if found["raised"]:
        lines = [style(f"{safe(found['raised'])}: holdfast trust", "yellow"), "", *lines]
    if found["problem"]:
        until = "Hooks hold agents to these limits until you correct it:"
        lines = [style(safe(found["problem"]), "red"), until, "", *lines]
    return Reply({name: value for name, value in found.items() if name != "lowered"}, lines)


def _limits_lines(found: LimitsReport, now: int) -> Iterator[str]:
    heading = ["", *(style(level, bold=True) for level in thresholds.LEVELS)]
    limited = {type for numbers in found["limits"].values() for type in numbers}
    shown = [type for type in ALL_TYPES if type in limited]
    yield from table([heading, *([boxes.name_of(type), *_cells(found, type)] for type in shown)])
    free = [type for type in ALL_TYPES if type not in limited]
    if free:
        yield style(f"No limit is set for {', '.join(free)}.", dim=True)
    if not found["is_set"]:
        yield style(
            "No budget is kept here yet: a look arms nothing. Hooks hold agents to these", "yellow"
        )
        yield style(f"limits as soon as you write one into {PROJECT_FILE}.", "yellow")
    if found["quotas"]:
        yield ""
        yield style("Usage limits of your clients", bold=True)
        yield from table(quotas.describe_all(found["quotas"], now), indent="  ")
    yield ""
    yield style("Triggers", bold=True)
    others = [one for one in found["triggers"] if one["type"] not in BOUND]
    rows = [[one["type"], _when(one), one["action"]] for one in others]
    yield from table(rows, indent="  ")
    for type, known in found["acknowledgments"].items():
        yield ""
        value = "" if known["value_at_ack"] is None else boxes.amount(type, known["value_at_ack"])
        when = ago(known["acknowledged_at"], now)
        said = f"{boxes.name_of(type)} acknowledged at {value}"
        if known["by"]:
            yield f"{said} by {safe(known['by']['name'])}, {safe(when)}."
        else:
            yield f"{said}, {safe(when)}: {STATED}. It counts once a person runs: holdfast guard ack {quote(type)}"
    for type, pending in found["pending"].items():
        yield ""
        at = boxes.amount(type, pending["value"])
        yield style(f"{boxes.name_of(type)} waits at {at}", "yellow")
    if found["stopped"] is not None:
        yield ""
        yield style(f"Stopped: {describe(found['stopped'])}", "red", bold=True)


def _cells(found: LimitsReport, type: str) -> Iterator[str]:
    for level in thresholds.LEVELS:
        number = found["limits"][level].get(type)
        if number is None:
            yield ""
            continue
        source = found["sources"][level][type]
        if source == WAYPOINT:
            is_flag = found["lowered"].get(level, {}).get(type) == number
            source = "a program's --limit" if is_flag else "a person's guard reset"
        from_where = "" if source == PROTOCOL else f" ({source})"
        action = style(found["actions"][level][type], dim=True)
        yield f"{boxes.amount(type, number)}{style(safe(from_where), 'cyan')} {action}"


def _when(trigger: Any) -> str:
    if "duration" in trigger:
        return f"{trigger['duration'] // MINUTE}min"
    return str(trigger.get("frequency") or trigger.get("signal") or "")
