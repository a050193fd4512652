"""holdfast plan run, resume, abandon; and takeoff and cockpit, the names that users of autopilot know."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from holdfast.budgets import acknowledge
from holdfast.budgets.acknowledge import Reset
from holdfast.budgets.check import Budget
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import ALERT, QUANTITIES, STOP, WARNING, Limits
from holdfast.cli.frame import INTERRUPTED, Call, Reply, warn
from holdfast.cli.parser import amount_from, flag, text_option, together, verb
from holdfast.cli.terminal import echo, safe, style, table
from holdfast.kernel.errors import Declined, NotAllowed, Usage, Waiting
from holdfast.kernel.text import plural, quote
from holdfast.plans import operations, runs
from holdfast.plans.attendants import AtTerminal, Patient, is_person_here
from holdfast.plans.discovery import has_plans
from holdfast.plans.executors import Certificates
from holdfast.plans.operations import RunOutcome, RunRequest
from holdfast.plans.rules import waves
from holdfast.plans.rules.model import Plan, kind_of
from holdfast.plans.runner import Execution, RunContext
from holdfast.plans.screen import PlanWatch, screen, summary

# More than a run can cost; `--no-cost-limit` is a number, as every limit is.
NO_LIMIT = 1e9
_COST = "cost"
DEFAULT_REASON = "given up"


# How a run is carried out and what it may cost.
run_options = together(
    click.option(
        "--jobs",
        type=click.IntRange(min=1, max=256),
        help="Number of tasks that run at the same time.",
    ),
    flag("--wait", help="Wait when a person is needed, instead of exiting with 8."),
    click.option(
        "--edited",
        type=click.Choice(["old", "new"]),
        help="Text to use when a plan file was edited after the run began.",
    ),
    click.option("--max-cost", metavar="$", help="Stop at this cost."),
    click.option("--warn-cost", metavar="$", help="Warn at this cost."),
    click.option("--alert-cost", metavar="$", help="Ask a person at this cost."),
    flag("--no-cost-limit", help="Remove the cost limit."),
    flag("--reset-alerts", help="Clear all acknowledgments of alerts."),
    flag("--quiet", help="Print only errors and the result."),
    click.option(
        "--on",
        metavar="ADDRESS",
        help="Where tasks run: local, or a Dask scheduler such as tls://HOST:8786.",
    ),
    text_option("--tls-ca", "FILE", "CA certificate of the scheduler."),
    text_option("--tls-cert", "FILE", "Client certificate for the scheduler."),
    text_option("--tls-key", "FILE", "Key of the client certificate."),
)


# Where a new run begins.
begin_options = together(
    text_option("--phase", "N", "Start with this phase."),
    text_option("--task", "X.Y", "Start with task Y of plan X."),
    flag("--worktrees", help="Run each plan in its own git worktree."),
    flag("--again", help="Start a new run even if an unfinished run has these plans."),
    flag("--skip-validation", help="Run even if the plans have errors."),
    flag("--dry-run", help="Print the order; run nothing."),
)


def carry_out(
    call: Call, operation: Callable[[RunContext], RunOutcome], *, wait: bool, quiet: bool
) -> Reply:
    """Run an operation under the eyes of a person, and say how it ended."""
    watch = PlanWatch(as_json=call.as_json, quiet=quiet)
    context = RunContext(
        writer=call.writer, actor=call.actor, tell=watch, handles_interrupts=True, alone=True
    )
    if is_person_here() and not call.as_json:
        context.attendant = AtTerminal(call.workspace, watch)
    elif wait:
        context.attendant = Patient(call.workspace)
    try:
        outcome = operation(context)
    except KeyboardInterrupt:
        return Reply({"run": context.run, "ended": "interrupted"}, exit_code=INTERRUPTED)
    state, halted = outcome.state, outcome.halted
    data: dict[str, Any] = {**operations.describe(outcome)}
    ways = [f"holdfast plan show {quote(context.run)}"]
    if halted is not None:
        ways = runs.find_ways_on(state, outcome.alerts)
    code = 0 if halted is None else halted.exit_code
    return Reply(data, summary(state, outcome.alerts), next=ways, exit_code=code)


def execution_of(
    call: Call,
    *,
    jobs: int | None,
    edited: str | None,
    on: str | None,
    tls_ca: str,
    tls_cert: str,
    tls_key: str,
    **limits: Any,
) -> Execution:
    """How to carry out a run, as the options say it."""
    known, lower = Certificates(tls_ca, tls_cert, tls_key), _cost_limits(call, **limits)
    return Execution(jobs=jobs, edited=edited or "", limits=lower, on=on, certificates=known)


def _cost_limits(call: Call, *, no_cost_limit: bool, **given: str | None) -> Limits:
    """The limits of this run by its flags, which only lower what is in force. A flag that raises a limit
    is a person's word: the person here is asked for it, and without one it is refused."""
    flags: Limits = {}
    if no_cost_limit:
        if given["max_cost"] is not None or given["alert_cost"] is not None:
            raise Usage("--no-cost-limit and a cost limit contradict each other.")
        flags = {STOP: {_COST: NO_LIMIT}, ALERT: {_COST: NO_LIMIT}}
    for level, name in ((STOP, "max_cost"), (WARNING, "warn_cost"), (ALERT, "alert_cost")):
        number = amount_from(f"--{name.replace('_', '-')}", given[name], QUANTITIES[_COST].read)
        if number is not None:
            flags.setdefault(level, {})[_COST] = number
    if not flags:
        return {}
    budget = Budget(call.workspace, actor=call.actor)
    try:
        budget.in_force(flags)
    except NotAllowed as refused:
        if refused.kind != "limit_raised" or not is_person_here():
            raise
        acknowledge.reset(budget, flags, now=call.now)
        return {}
    return flags


def clear_alerts(call: Call) -> Reset:
    """Clear the acknowledgments; after a stop a person is asked, and for a new limit."""
    done = acknowledge.reset(Budget(call.workspace, actor=call.actor), {}, now=call.now)
    echo(boxes.CLEARED, error=True)
    return done


def reply_cleared(done: Reset) -> Reply:
    """The reply of `--reset-alerts` where there is no plan to run and no run to resume."""
    return Reply({"cleared": done["cleared"], "run": ""}, next=["holdfast guard check"])


@click.command()
@click.argument("paths", nargs=-1, metavar="PATH...")
@begin_options
@run_options
@verb
def run_command(call: Call, paths: tuple[str, ...], skip_validation: bool, **options: Any) -> Reply:
    """Run the plans of PATH: waves in order; inside a wave, autonomous plans in parallel, then plans with
    checkpoints one by one.

    Without PATH, runs the plans of .autopilot/phases. After a kill, `plan resume` continues the run. Exit
    codes: 8 a person is needed and none is there; 9 a person declined; 7 a stop holds.
    """
    plans = operations.check_plans(
        call.workspace, paths, call.folder, warn, skip_validation=skip_validation
    )
    return run_plans(call, plans, **options)


def run_plans(
    call: Call,
    plans: list[Plan],
    *,
    dry_run: bool,
    wait: bool,
    reset_alerts: bool,
    quiet: bool,
    **options: Any,
) -> Reply:
    """Run plans that were checked."""
    if dry_run:
        return reply_order(plans)
    begin = {name: options.pop(name) for name in ("phase", "task", "worktrees", "again")}
    execution = execution_of(call, **options)
    if reset_alerts:
        clear_alerts(call)
    request = RunRequest(plans=plans, execution=execution, **begin)
    return carry_out(call, lambda context: operations.run(context, request), wait=wait, quiet=quiet)


def reply_order(plans: Sequence[Plan]) -> Reply:
    """What would be run, in which order."""
    placed = waves.phases(waves.WaveOrder(plans).plans)
    rows = [
        [
            f"phase {safe(phase)}, wave {plan['wave']}",
            safe(plan["plan"]),
            "parallel" if kind_of(plan)["autonomous"] else "one by one",
            _size(plan),
            safe(plan["path"]),
        ]
        for phase, each in placed
        for wave in each
        for plan in wave
    ]
    data = [
        {"phase": phase, "waves": [[plan["id"] for plan in wave] for wave in each]}
        for phase, each in placed
    ]
    return Reply({"phases": data, "dry_run": True}, table(rows))


def _size(plan: Plan) -> str:
    asked = sum(task["gate"] is not None for task in plan["tasks"])
    tasks = plural(len(plan["tasks"]) - asked, "task")
    return f"{tasks}, {plural(asked, 'checkpoint')}" if asked else tasks


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@run_options
@verb
def resume_command(call: Call, id: str, **options: Any) -> Reply:
    """Continue RUN exactly where it stopped. Without RUN, continues the newest unfinished run.

    Interrupted tasks start again, failed tasks run again, and a checkpoint with issues is presented again.
    Exits with 7 while a stop holds.
    """
    return resume_run(call, id, **options)


def resume_run(
    call: Call, id: str, *, wait: bool, reset_alerts: bool, quiet: bool, **options: Any
) -> Reply:
    """Resume a run, with what the options say."""
    state = runs.find_run(call.workspace, id)
    if reset_alerts:
        clear_alerts(call)
    if state["status"] == "done":
        return Reply({"run": state["id"], "ended": "done", **runs.count(state)}, summary(state))
    execution = execution_of(call, **options)
    return carry_out(
        call,
        lambda context: operations.resume(context, state["id"], execution),
        wait=wait,
        quiet=quiet,
    )


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@click.option(
    "--reason",
    default=DEFAULT_REASON,
    show_default=True,
    metavar="WHY",
    help="Why you abandon the run.",
)
@verb
def abandon_command(call: Call, id: str, reason: str) -> Reply:
    """Abandon RUN for good. Without RUN, abandons the newest unfinished run.

    Withdraws its open gates, so that its plans can run again. Keeps its records, results and worktrees.
    """
    done = operations.abandon(RunContext(writer=call.writer, actor=call.actor), id, reason=reason)
    state = done["state"]
    kept = {"gates": done["gates"], "worktrees": done["worktrees"]}
    data = {"run": state["id"], "reason": reason, **kept, **runs.count(state)}
    lines = [f"Abandoned the run {state['id']}: {safe(reason)}"]
    lines += [f"Withdrew the gate {gate}" for gate in done["gates"]]
    lines += [f"Kept the worktree {safe(path)}" for path in done["worktrees"]]
    return Reply(data, lines, next=[f"holdfast plan show {quote(state['id'])}"])


APPROVED = "approved"


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("-y", "--yes", is_flag=True, help="Run without asking for clearance.")
@click.option("--validate-only", is_flag=True, help="Check the plans; run nothing.")
@begin_options
@run_options
@verb
def takeoff_command(
    call: Call,
    paths: tuple[str, ...],
    yes: bool,
    validate_only: bool,
    skip_validation: bool,
    **options: Any,
) -> Reply:
    """Run plans, as `plan run` does. For users of autopilot.

    Without a PATH it takes .autopilot/phases/*/ROUTE.md. It shows what it would run and waits for your
    clearance, unless you give -y. --reset-alerts works without any plan, too.
    """
    if options["reset_alerts"] and not options["dry_run"]:
        cleared = clear_alerts(call)
        options["reset_alerts"] = False
        if not has_plans(call.workspace, paths):
            return reply_cleared(cleared)
    skips = skip_validation and not validate_only
    plans = operations.check_plans(call.workspace, paths, call.folder, warn, skip_validation=skips)
    if validate_only:
        return Reply({"plans": [plan["id"] for plan in plans], "valid": True}, ["Cleared."])
    if not yes and not options["dry_run"]:
        _ask_for_clearance(call, plans)
    return run_plans(call, plans, **options)


def _ask_for_clearance(call: Call, plans: Sequence[Plan]) -> None:
    if call.as_json or not is_person_here():
        what = "There is no person at a terminal to give clearance."
        raise Waiting(what, hint="Give it with -y.")
    for line in reply_order(plans).lines:
        echo(line, error=True)
    echo(style(f"Reply '{APPROVED}' to commence takeoff.", bold=True), error=True)
    if sys.stdin.readline().strip().casefold() != APPROVED:
        raise Declined("No clearance was given; nothing was run.")


@click.command()
@click.argument("id", required=False, default="", metavar="[RUN]")
@run_options
@verb
def cockpit_command(call: Call, id: str, **options: Any) -> Reply:
    """Continue a run, as `plan resume` does. For users of autopilot.

    While the run is executed by another process, show where it is and start no second one.
    --reset-alerts clears the acknowledgments in both cases, and when there is no run, too.
    """
    if options["reset_alerts"]:
        cleared = clear_alerts(call)
        options["reset_alerts"] = False
        if not id and not any(runs.every(call.workspace)):
            return reply_cleared(cleared)
    state = runs.find_run(call.workspace, id)
    runner = runs.runner_of(call.workspace, state)
    if not runner:
        return resume_run(call, id, **options)
    data = {"run": state["id"], "ended": "", "runner": runner, **runs.count(state)}
    return Reply(data, screen(state, now=call.now))
