"""The operations on runs: run plans, resume a run, abandon one. The command line and the library call
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from holdfast.gates import lookup as gates
from holdfast.gates import person as people
from holdfast.gates.ask import withdraw_as
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as gate_rules
from holdfast.kernel import clock, config
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import NotFound
from holdfast.plans import lookup
from holdfast.plans.begin import begin
from holdfast.plans.cluster.address import Certificates
from holdfast.plans.executors import LocalExecutor, count_slots, executor_of, open_cluster
from holdfast.plans.news import Halted, Interrupts, Unattended
from holdfast.plans.run_budget import RunBudget
from holdfast.plans.run_files import Flight
from holdfast.plans.run_stream import RunFolder, execute_now
from holdfast.plans.runner import Runner
from holdfast.plans.worktrees import Worktrees
from holdfast.processes.lease import Lease

if TYPE_CHECKING:
    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.news import Attendant, Tell
    from holdfast.plans.rules.model import Plan
    from holdfast.plans.rules.run_model import RunState
    from holdfast.plans.task_programs import OnGoals


@dataclass(kw_only=True)
class RunContext:
    """Who runs plans, and who watches. With `before_exit` Ctrl+C is heard: the first one ends the run in
    good order, the second at once, after this function was called. `alone`: nothing else in this process
    has a use for what Dask logs. `run` is the id, once there is one."""

    writer: Writer
    actor: str
    tell: Tell = lambda *_: None
    attendant: Attendant = field(default_factory=Unattended)
    before_exit: Callable[[], None] | None = None
    alone: bool = False
    run: str = ""

    @property
    def workspace(self) -> Workspace:
        return self.writer.workspace


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a run is carried out. `on` is the scheduler of a cluster, or `local`; without it, the setting
    `plan.on`. `edited` says which text counts of a plan file that was edited meanwhile. `on_goals` gets
    each phase and its plans when they are done, and returns the goals that are not met."""

    jobs: int | None = None
    edited: str = ""
    limits: Limits = field(default_factory=dict)
    on: str | None = None
    certificates: Certificates = field(default_factory=Certificates)
    on_goals: OnGoals | None = None


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
class PlanResumeRequest:
    """The run to go on with, by a unique beginning of its id; by default the newest unfinished one."""

    run: str = ""
    execution: Execution = field(default_factory=Execution)


@dataclass(frozen=True, kw_only=True)
class AbandonRequest:
    """The run to abandon, and why. A run that asks people is abandoned by a person alone."""

    run: str = ""
    reason: str
    person: Person | None = None


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How far a run came: its state, and why it stands still (`halted`), None when it is done."""

    state: RunState
    halted: Halted | None = None
    alerts: Sequence[str] = ()
    cost: float | None = None


class Abandoned(TypedDict):
    """An abandoned run: its gates that were withdrawn, and the worktrees that are kept."""

    state: RunState
    gates: list[str]
    worktrees: list[str]


def run(context: RunContext, request: RunRequest) -> RunOutcome:
    """Record a new run, and run it until it ends or stands still."""
    execution = request.execution
    settings = config.load(context.workspace, context.workspace.journal)
    with _cluster(context, execution) as link:
        context.run = begin(
            context.writer,
            request.plans,
            {
                "jobs": execution.jobs or settings["plan.jobs"] or 1,
                "tries": settings["plan.tries"] or 1,
                "worktrees": request.worktrees,
                "phase": request.phase,
                "task": request.task,
            },
            actor=context.actor,
            again=request.again,
        )
        return _carry_out(context, execution, link)


def resume(context: RunContext, request: PlanResumeRequest) -> RunOutcome:
    """Go on with a run exactly where it stopped, until it ends or stands still."""
    state = lookup.find_run(context.workspace, request.run)
    context.run = state["id"]
    if state["status"] == "done":
        return RunOutcome(state=state)
    with _cluster(context, request.execution) as link:
        return _carry_out(context, request.execution, link)


def _cluster(context: RunContext, execution: Execution) -> AbstractContextManager[Link | None]:
    return open_cluster(
        context.workspace, execution.on, execution.certificates, alone=context.alone
    )


def _carry_out(context: RunContext, execution: Execution, link: Link | None) -> RunOutcome:
    writer, workspace = context.writer, context.workspace
    place, interrupts = RunFolder(workspace, context.run), Interrupts()
    settings = config.load(workspace, workspace.journal)
    executor = executor_of(link, writer, place, lookup.read(workspace, context.run), settings)
    before_exit = context.before_exit
    if before_exit is not None:

        def end_at_once() -> None:
            before_exit()
            executor.end(now=True)

        interrupts.listen(end_at_once)
    runner = Runner(
        *(writer, place, executor),
        actor=context.actor,
        tell=context.tell,
        attendant=context.attendant,
        interrupts=interrupts,
        jobs=execution.jobs or count_slots(link),
        limits=execution.limits,
        edited=execution.edited,
        on_goals=execution.on_goals,
    )
    halted = None
    try:
        runner.to_the_end()
    except Halted as why:
        halted = why
    finally:
        if before_exit is None:  # else a late signal may still be heard
            interrupts.close()
    return RunOutcome(
        state=runner.state, halted=halted, alerts=runner.budget.alerts, cost=runner.budget.cost
    )


def abandon(context: RunContext, request: AbandonRequest) -> Abandoned:
    """Abandon a run that no process runs. Its records, its worktrees and what it made are kept."""
    writer, workspace, actor = context.writer, context.workspace, context.actor
    id = context.run = lookup.find_run(workspace, request.run)["id"]
    place = RunFolder(workspace, id)
    hint = "Interrupt it first (Ctrl+C where it runs), then abandon it."
    with Lease(place.lease, f"The run {id}", hint):
        state = lookup.read(workspace, id)
        LocalExecutor(place, writer.redactor).end_leftovers([])
        withdrawn = _withdraw(workspace, state, request, actor)
        command = {"do": "abandon", "by": actor, "why": request.reason}
        execute_now(writer, Order(place.stream, command, grant=True), actor=actor)
    state = lookup.read(workspace, id)
    if next(lookup.every(workspace))["id"] == id:
        # Of several runs, the files are the newest one's.
        budget = RunBudget(workspace, state, {}, actor=actor)
        Flight(writer, id, budget, actor=actor, warn=lambda text: None).abandoned(state)
    kept = Worktrees(workspace, id).kept(state)
    return {"state": state, "gates": withdrawn, "worktrees": kept}


def _withdraw(
    workspace: Workspace, state: RunState, request: AbandonRequest, actor: str
) -> list[str]:
    """Withdraw what the run asked and no person answered, as a person; before the run's own end, so
    that a crash in between leaves a run that can be abandoned again."""
    waiting = []
    for plan in state["plans"].values():
        for gate in plan["gates"].values():
            try:
                if gate["gate"] and gate_rules.is_open(gates.read(workspace, gate["gate"])):
                    waiting.append(gate["gate"])
            except NotFound:
                continue  # a crash came before it was asked
    if not waiting:
        return []
    purpose, now = f"abandon the run {state['id']}, which asks a person", clock.now()
    if request.person is None:
        person = people.require(workspace, purpose, [f"Gate {id}" for id in waiting], now=now)
    else:
        person = people.refuse_made_up(workspace, purpose, request.person, now=now)
    for id in waiting:
        context = GateContext(workspace, actor, clock.now())
        withdraw_as(context, id, f"the run {state['id']} was abandoned", person)
    return waiting
