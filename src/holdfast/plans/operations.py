"""The operations on runs: run plans, resume a run, abandon one. The command line and the library call them.

A new run checks its plans, puts them in waves, and records all of that before anything starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from holdfast.gates.ask import withdraw_as
from holdfast.gates.lookup import GateContext
from holdfast.kernel import clock, config
from holdfast.kernel.commit import Order
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from holdfast.kernel.text import plural, quote
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.people import person as people
from holdfast.plans import discovery, runs
from holdfast.plans.executors import Cluster, Executor, LocalExecutor, open_cluster
from holdfast.plans.news import Halted, Interrupts
from holdfast.plans.rules import lint, model, waves
from holdfast.plans.rules import run as rules
from holdfast.plans.rules.document import where
from holdfast.plans.rules.model import Plan, PlanFinding, kind_of
from holdfast.plans.rules.run_model import ABANDONED, RunState
from holdfast.plans.run_budget import RunBudget
from holdfast.plans.run_files import Flight, refuse_outside
from holdfast.plans.runner import Execution, RunContext, Runner
from holdfast.plans.runs import RunFolder, RunStream, execute_now, one_at_a_time, refuse_alive
from holdfast.plans.worktrees import Worktrees, refuse_without_git

SHORT = 8
SHOWN = 10


class Options(TypedDict):
    """The options that a run records. `tries` is how often a task may fail; `phase` and `task` say where
    to begin [default: at the beginning]."""

    jobs: int
    tries: int
    worktrees: bool
    phase: str
    task: str


def check_plans(
    workspace: Workspace,
    paths: Sequence[str],
    folder: str,
    warn: Callable[[str], None],
    *,
    skip_validation: bool = False,
) -> list[Plan]:
    """Read the plans at these paths, relative to `folder`. Plans with errors are refused before anything
    runs."""
    root = workspace.root
    settings = config.load(workspace, workspace.journal)
    documents = discovery.documents(discovery.files(paths, folder, root), root)
    found = lint.findings(documents, agent=bool(settings["plan.agent"].strip()))
    errors = [one for one in found if one["level"] == "error"]
    unreadable = [one for one in documents if one["plan"] is None]
    if errors and (unreadable or not skip_validation):
        raise HoldfastError(
            f"{plural(len(errors), 'thing is', 'things are')} wrong with these plans:\n{_list_errors(errors)}",
            hint="holdfast plan lint says everything. Nothing was run.",
            kind="bad_plans",
        )
    for one in found:
        warn(f"{where(one)}: {one['what']}")
    return [document["plan"] for document in documents if document["plan"] is not None]


def _list_errors(errors: Sequence[PlanFinding]) -> str:
    lines = [f"  {where(one)}: {one['code']}: {one['what']}" for one in errors[:SHOWN]]
    more = len(errors) - SHOWN
    return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


def begin(
    writer: Writer, plans: Sequence[Plan], options: Options, *, actor: str, again: bool = False
) -> str:
    """Record a new run and return its id. Plans of an unfinished run are refused, unless `again`."""
    order = waves.WaveOrder(plans)
    workspace = writer.workspace
    if options["worktrees"]:
        refuse_without_git(workspace)
    refuse_outside(workspace, order.plans)
    id = new_id()[:SHORT]
    skipped = _find_skipped(order.plans, options["phase"], options["task"])
    left_out = {one["id"] for one in order.plans if len(skipped[one["id"]]) == len(one["tasks"])}
    phases = []
    for phase, each in waves.phases(order.plans):
        ids = [[one["id"] for one in wave] for wave in each]
        # Nothing is verified of a phase of which nothing is run.
        is_left_out = left_out.issuperset(one for wave in ids for one in wave)
        phases.append({"phase": phase, "waves": ids, "unmet": [] if is_left_out else None})
    command: dict[str, Any] = {
        "do": "begin",
        "root": workspace.root,
        "options": options,
        "phases": phases,
        "plans": [
            {"plan": plan, **kind_of(plan), "skipped": skipped[plan["id"]]} for plan in order.plans
        ],
    }
    with one_at_a_time(workspace):
        if again:
            refuse_alive(workspace, {plan["path"] for plan in order.plans})
        else:
            _refuse_begun(runs.list_unfinished(workspace), order.plans)
        execute_now(writer, Order(rules.stream_of(id), command), actor=actor)
    return id


def _refuse_begun(unfinished: Sequence[Any], plans: Sequence[Plan]) -> None:
    paths = {plan["path"] for plan in plans}
    for state in unfinished:
        shared = [path for path in runs.paths_of(state) if path in paths]
        if shared:
            raise Conflict(
                f"{shared[0]} belongs to the run {state['id']}, which is not finished.",
                hint=f"holdfast plan resume {quote(state['id'])} continues; --again begins a new run.",
                kind="run_unfinished",
            )


def _find_skipped(plans: Sequence[Plan], phase: str, task: str) -> dict[str, list[str]]:
    """By plan, the keys of the tasks before the place where the run begins."""
    skipped: dict[str, list[str]] = {plan["id"]: [] for plan in plans}
    if phase:
        known = list(dict.fromkeys(plan["phase"] for plan in plans))
        chosen = [one for one in known if one == phase or one.lstrip("0") == phase.lstrip("0")]
        if len(chosen) != 1:
            raise Usage(f"There is no phase {phase!r:.40}.", hint=f"There are {', '.join(known)}.")
        before = known[: known.index(chosen[0])]
        for plan in plans:
            if plan["phase"] in before:
                skipped[plan["id"]] = [one["key"] for one in plan["tasks"]]
    if task:
        _skip_to(plans, task, skipped)
    _refuse_unanswered(plans, skipped)
    return skipped


def _refuse_unanswered(plans: Sequence[Plan], skipped: dict[str, list[str]]) -> None:
    """Refuse to leave out a checkpoint whose answer a later task needs."""
    left_out: dict[str, str] = {}
    for plan in plans:
        for task in plan["tasks"]:
            if task["gate"] is not None and task["key"] in skipped[plan["id"]]:
                name = task["gate_name"]
                left_out[name if model.is_given(name) else f"{plan['id']} {name}"] = name
    for plan in plans:
        for task in plan["tasks"]:
            if task["key"] in skipped[plan["id"]]:
                continue
            said = "\n".join((task["name"], task["action"], task["run"], task["verify"]))
            for name, _ in model.references(said):
                if name in left_out or f"{plan['id']} {name}" in left_out:
                    raise Usage(
                        f"{plan['id']}#{task['key']} needs the answer {{{{gate.{name}}}}}, and its "
                        "checkpoint would be left out.",
                        hint="Begin with the checkpoint, or before it.",
                    )


def _skip_to(plans: Sequence[Plan], task: str, skipped: dict[str, list[str]]) -> None:
    """Skip everything before a task: earlier phases and waves, and the tasks before it in its plan. The
    other plans of its wave run."""
    plan, key = _find_task(plans, task)
    for one in plans:
        earlier_phase = waves.natural(one["phase"]) < waves.natural(plan["phase"])
        same_phase = one["phase"] == plan["phase"]
        if earlier_phase or (same_phase and (one["wave"] or 1) < (plan["wave"] or 1)):
            skipped[one["id"]] = [each["key"] for each in one["tasks"]]
    keys = [each["key"] for each in plan["tasks"]]
    skipped[plan["id"]] = keys[: keys.index(key)]


def _find_task(plans: Sequence[Plan], task: str) -> tuple[Plan, str]:
    """The plan and the key of a task: `PHASE/PLAN#KEY`, or `PLAN.NUMBER` as in takeoff."""
    name, mark, key = task.rpartition("#")
    if not mark:
        name, _, key = task.rpartition(".")
    fitting = [plan for plan in plans if name in (plan["id"], plan["plan"])]
    fitting = fitting or [plan for plan in plans if name and plan["plan"].lstrip("0") == name]
    if len(fitting) == 1:
        for each in fitting[0]["tasks"]:
            if each["key"] == key:
                return fitting[0], key
    raise Usage(
        f"{task!r:.60} is no task of these plans.",
        hint=f"Such as {plans[0]['id']}#1, or {plans[0]['plan']}.1.",
    )


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Plans that were checked, where to begin in them, and how to carry them out."""

    plans: Sequence[Plan]
    phase: str = ""
    task: str = ""
    worktrees: bool = False
    again: bool = False
    execution: Execution = field(default_factory=Execution)


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How far a run came: its state, and why it stopped (`halted`); None when it is done."""

    state: RunState
    halted: Halted | None = None
    alerts: Sequence[str] = ()
    cost: float | None = None


class RunResult(TypedDict):
    """How a run ended. When it is paused, `reason` and `text` say why, and `gates` are those that wait
    for a person. `cost` is in dollars; None is unknown."""

    run: str
    ended: Literal["done", "paused"]
    reason: str
    text: str
    waypoint: str
    gates: list[str]
    done: int
    total: int
    cost: float | None


def describe(outcome: RunOutcome) -> RunResult:
    """Return how a run ended, for programs."""
    state, halted = outcome.state, outcome.halted
    return {
        "run": state["id"],
        "ended": "paused" if halted else "done",
        "reason": halted.reason if halted else "",
        "text": halted.text if halted else "",
        "waypoint": halted.waypoint if halted else "",
        "gates": runs.asked_gates(state),
        **runs.count(state),
        "cost": outcome.cost,
    }


class AbandonResult(TypedDict):
    """An abandoned run: its gates that were withdrawn, and the worktrees that are kept."""

    state: RunState
    gates: list[str]
    worktrees: list[str]


def run(context: RunContext, request: RunRequest) -> RunOutcome:
    """Record a new run, and run it until it ends or stops."""
    execution = request.execution
    settings = config.load(context.workspace, context.workspace.journal)
    with _cluster(context, execution) as cluster:
        options: Options = {
            "jobs": execution.jobs or settings["plan.jobs"] or 1,
            "tries": settings["plan.tries"] or 1,
            "worktrees": request.worktrees,
            "phase": request.phase,
            "task": request.task,
        }
        who, again = context.actor, request.again
        context.run = begin(context.writer, request.plans, options, actor=who, again=again)
        return _carry_out(context, execution, cluster)


def resume(context: RunContext, run: str, execution: Execution) -> RunOutcome:
    """Continue a run exactly where it stopped, until it ends or stops again; found by a unique beginning of its id
    [default: the newest unfinished one]."""
    state = runs.find_run(context.workspace, run)
    context.run = state["id"]
    if state["status"] == "done":
        return RunOutcome(state=state)
    with _cluster(context, execution) as cluster:
        return _carry_out(context, execution, cluster)


def _cluster(context: RunContext, execution: Execution) -> AbstractContextManager[Cluster | None]:
    return open_cluster(
        context.workspace, execution.on, execution.certificates, alone=context.alone
    )


def _carry_out(context: RunContext, execution: Execution, cluster: Cluster | None) -> RunOutcome:
    writer, workspace = context.writer, context.workspace
    place, interrupts = RunFolder(workspace, context.run), Interrupts()
    executor: Executor
    if cluster is None:
        executor, slots = LocalExecutor(place, writer.redactor), None
    else:
        settings = config.load(workspace, workspace.journal)
        state = runs.read(workspace, context.run)
        executor = cluster.make_executor(place, writer.redactor, state, settings)
        slots = cluster.count_slots()
    if context.handles_interrupts:
        interrupts.listen(lambda: executor.end(now=True))
    jobs = execution.jobs or slots
    runner = Runner(context, executor, replace(execution, jobs=jobs), interrupts)
    halted = None
    try:
        runner.to_the_end()
    except Halted as why:
        halted = why
    finally:
        if not context.handles_interrupts:  # else a late signal may still be heard
            interrupts.close()
    alerts, cost = runner.budget.alerts, runner.budget.cost
    return RunOutcome(state=runner.state, halted=halted, alerts=alerts, cost=cost)


def abandon(context: RunContext, run: str = "", *, reason: str) -> AbandonResult:
    """Abandon a run that no process runs, found like the run of a resume. Its records, its worktrees and
    its results are kept. Only a person may abandon a run that asks people."""
    writer, workspace, actor = context.writer, context.workspace, context.actor
    id = context.run = runs.find_run(workspace, run)["id"]
    place = RunFolder(workspace, id)
    hint = "Interrupt it first (Ctrl+C where it runs), then abandon it."
    with place.hold(f"The run {id}", hint):
        state = runs.read(workspace, id)
        place.end_leftovers()
        withdrawn = _withdraw(workspace, state, actor)
        command = {"do": "abandon", "by": actor, "why": reason}
        execute_now(writer, Order(place.stream, command, grant=True), actor=actor)
    stream = RunStream(writer, place, actor=actor)
    if next(runs.every(workspace))["id"] == id:
        # Of several runs, the files are the newest one's.
        Flight(stream, RunBudget(stream, {}), warn=lambda text: None).show(ABANDONED)
    kept = Worktrees(stream).list_kept()
    return {"state": stream.state, "gates": withdrawn, "worktrees": kept}


def _withdraw(workspace: Workspace, state: RunState, actor: str) -> list[str]:
    """Withdraw the open questions of the run, as a person. This comes before the run's own end, so that
    a crash in between leaves a run that can be abandoned again."""
    unanswered = runs.unanswered_gates(workspace, state)
    waiting = [state["plans"][plan]["gates"][key]["gate"] for plan, key in unanswered]
    if not waiting:
        return []
    purpose = f"abandon the run {state['id']}, which asks a person"
    shown = [f"Gate {id}" for id in waiting]
    person = people.require(workspace, purpose, shown, now=clock.now())
    for id in waiting:
        context = GateContext(workspace, actor, clock.now())
        withdraw_as(context, id, f"the run {state['id']} was abandoned", person)
    return waiting
