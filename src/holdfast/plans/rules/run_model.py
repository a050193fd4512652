"""The state of a run, and how each of its records changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from holdfast.kernel.blank import blank
from holdfast.plans.rules.model import Plan

if TYPE_CHECKING:
    from holdfast.journal.interface import Event


class TaskRun(TypedDict):
    """One task. `mark` names the attempt that runs now, and only its completion is accepted;
    `tries` are the failures since it was last begun anew, `lost` the attempts since then whose
    worker died, `attempts` all its starts. `on` is the machine of its last start, where that was
    another than the runner's."""

    status: Literal["open", "running", "done", "failed", "skipped"]
    mark: str
    tries: int
    lost: int
    attempts: int
    log: str
    began_at: str
    ended_at: str
    seconds: float
    exit_code: int | None
    why: str
    said: str
    on: NotRequired[str]


class GateRun(TypedDict):
    """One checkpoint of a plan. `gate` is the gate that was asked, in its `round`; `issues` is what
    was said against it in all rounds."""

    status: Literal["open", "asked", "passed", "refused", "skipped"]
    gate: str
    round: int
    answer: str
    text: str
    by: str
    asked_at: str
    answered_at: str
    issues: list[str]


class PlanRun(TypedDict):
    """One plan of a run. `digest` is that of the text that people were last asked about."""

    plan: Plan
    autonomous: bool
    reason: str
    digest: str
    began_at: str
    ended_at: str
    closed: bool
    tasks: dict[str, TaskRun]
    gates: dict[str, GateRun]


class PhaseRun(TypedDict):
    """A phase: its waves of plan ids, and its unmet goals; None: not verified yet."""

    phase: str
    waves: list[list[str]]
    unmet: list[str] | None


class RunPause(TypedDict):
    """Why and since when a run is paused, and its waypoint."""

    reason: str
    text: str
    at: str
    waypoint: str


class RunLife(TypedDict):
    """The process that runs the run now. `on` is the cluster that carries out its tasks, if there is
    one."""

    number: int
    pid: int
    started: str
    host: str
    at: str
    on: NotRequired[str]


class RunState(TypedDict):
    id: str
    status: Literal["", "running", "paused", "done", "abandoned"]
    begun_at: str
    ended_at: str
    root: str
    options: dict[str, Any]
    plans: dict[str, PlanRun]
    phases: list[PhaseRun]
    pause: RunPause | None
    life: RunLife | None
    # Late completions that were refused; tasks that are done, and to be done; the one done last.
    refused: int
    done: int
    total: int
    last: tuple[str, str] | None


OPEN, RUNNING, DONE, FAILED, SKIPPED = "open", "running", "done", "failed", "skipped"
ASKED, PASSED, REFUSED = "asked", "passed", "refused"
ABANDONED = "abandoned"
# A run with one of these is over, and never goes on.
OVER = (DONE, ABANDONED)
# Why a run stands still. The first five are reasons of waypoints, too.
USER_INTERRUPT, ERROR, ISSUES = "user_interrupt", "error", "issues_reported"
PHASE_COMPLETE, GOALS = "phase_complete", "goals_unmet"
GATE_WAITS, ALERT_WAITS, EDITED = "waiting_for_person", "alert", "plan_edited"
STOPPED = "stopped"


def initial(stream: str) -> RunState:
    return blank(RunState, id=stream.partition(":")[2])


def apply(state: RunState, event: Event) -> RunState:
    kind, body, at = event["kind"], event["body"], event["at"]
    if kind == "run_begun":
        plans = {one["plan"]["id"]: _begin_plan(one) for one in body["plans"]}
        total = sum(to_do(plan) for plan in plans.values())
        begun: Any = {name: body[name] for name in ("root", "options", "phases")}
        begun |= {"status": "running", "begun_at": at, "plans": plans}
        return {**state, **begun, "total": total}
    if kind == "life_begun":
        return _with_life(state, body["life"])
    if kind in ("task_started", "task_done", "task_failed", "task_lost", "task_placed"):
        return _with_task(state, kind, body, at)
    if kind in ("gate_asked", "gate_answered", "gate_mended"):
        return _with_gate(state, kind, body, at)
    if kind == "plan_closed":
        return with_plan(state, body["plan"], closed=True, ended_at=at)
    if kind == "phase_verified":
        phases = [
            {**one, "unmet": body["unmet"]} if one["phase"] == body["phase"] else one
            for one in state["phases"]
        ]
        return {**state, "phases": phases}  # type: ignore[typeddict-item]
    if kind == "replanned":
        return _replan(state, body)
    if kind == "text_kept":
        return with_plan(state, body["plan"], digest=body["digest"])
    if kind == "completion_refused":
        return {**state, "refused": state["refused"] + 1}
    if kind == "run_paused":
        said = {name: body[name] for name in ("reason", "text", "waypoint")}
        return {**state, "status": "paused", "pause": {**said, "at": at}}  # type: ignore[typeddict-item]
    if kind == "run_ended":
        return {**state, "status": "done", "ended_at": at, "pause": None}
    if kind == "run_abandoned":
        return _abandon(state, body, at)
    return state


def _abandon(state: RunState, body: Any, at: str) -> RunState:
    """Abandon the run: none of its tasks runs or waits. What is done stays done."""
    plans = _reopen(state, (RUNNING,), {"mark": ""}, ASKED)
    pause: RunPause = {"reason": ABANDONED, "text": body["why"], "at": at, "waypoint": ""}
    return {**state, "status": "abandoned", "ended_at": at, "pause": pause, "plans": plans}


def _reopen(
    state: RunState, begun: tuple[str, ...], anew: dict[str, Any], asked: str
) -> dict[str, PlanRun]:
    """Return the plans with their begun tasks and their asked gates open again; `anew` is what else changes in a
    task."""
    return {
        id: {
            **plan,
            "tasks": {
                key: {**task, "status": "open", **anew} if task["status"] in begun else task  # type: ignore[typeddict-item]
                for key, task in plan["tasks"].items()
            },
            "gates": {
                key: _ask_again(gate) if gate["status"] == asked else gate
                for key, gate in plan["gates"].items()
            },
        }
        for id, plan in state["plans"].items()
    }


def with_plan(state: RunState, id: str, **changes: Any) -> RunState:
    plan = {**state["plans"][id], **changes}
    return {**state, "plans": {**state["plans"], id: plan}}  # type: ignore[dict-item]


def to_do(plan: PlanRun) -> int:
    """How many tasks of a plan are not skipped."""
    return sum(task["status"] != SKIPPED for task in plan["tasks"].values())


def _begin_plan(body: Any) -> PlanRun:
    plan: Plan = body["plan"]
    tasks: dict[str, TaskRun] = {}
    gates: dict[str, GateRun] = {}
    for one in plan["tasks"]:
        status: Literal["open", "skipped"] = "skipped" if one["key"] in body["skipped"] else "open"
        if one["gate"]:
            gates[one["key"]] = blank(GateRun, status=status)
        else:
            tasks[one["key"]] = blank(TaskRun, status=status)
    closed = all(one["key"] in body["skipped"] for one in plan["tasks"])
    how = {name: body[name] for name in ("autonomous", "reason")}
    parts = {"plan": plan, "digest": plan["digest"], "tasks": tasks, "gates": gates}
    return blank(PlanRun, **parts, **how, closed=closed)


def _with_life(state: RunState, life: RunLife) -> RunState:
    """A new runner: what the old one had at work is open again, what failed may be tried again, and a
    checkpoint with issues is presented again."""
    plans = _reopen(state, (RUNNING, FAILED), {"mark": "", "tries": 0, "lost": 0}, REFUSED)
    phases: list[PhaseRun] = [
        {**one, "unmet": None} if one["unmet"] else one for one in state["phases"]
    ]
    begun: Any = {"status": "running", "pause": None, "life": life}
    return {**state, **begun, "plans": plans, "phases": phases}


def _ask_again(gate: GateRun) -> GateRun:
    return {**gate, "status": "open"}


def _with_task(state: RunState, kind: str, body: Any, at: str) -> RunState:
    plan = state["plans"][body["plan"]]
    task = plan["tasks"][body["task"]]
    if kind == "task_started":
        task = {
            **task,
            "status": "running",
            "mark": body["mark"],
            "attempts": task["attempts"] + 1,
            "log": body["log"],
            "began_at": at,
            "ended_at": "",
        }
        task.pop("on", None)
    elif kind == "task_placed":
        task = {**task, "on": body["on"]}
    elif kind == "task_lost":
        lost = task["lost"] + 1
        task = {**task, "status": "open", "mark": "", "lost": lost, "why": body["why"]}
    else:
        done = kind == "task_done"
        task = {
            **task,
            "status": "done" if done else "failed" if body["last"] else "open",
            "mark": "",
            "tries": task["tries"] + (not done),
            "ended_at": at,
            "seconds": body["seconds"],
            "exit_code": body["exit_code"],
            "why": body.get("why", ""),
            "said": body.get("said", ""),
        }
        if "on" in body:
            task["on"] = body["on"]
    tasks = {**plan["tasks"], body["task"]: task}
    changed = with_plan(state, body["plan"], tasks=tasks, began_at=plan["began_at"] or at)
    if kind == "task_done":
        changed["done"] += 1
        changed["last"] = (body["plan"], body["task"])
    return changed


def _with_gate(state: RunState, kind: str, body: Any, at: str) -> RunState:
    plan = state["plans"][body["plan"]]
    gate = plan["gates"][body["key"]]
    if kind == "gate_asked":
        asked = {"gate": body["gate"], "round": body["round"], "asked_at": at}
        gate = {**gate, "status": "asked", **asked}  # type: ignore[typeddict-item]
    elif kind == "gate_mended":
        gate = _ask_again(gate)
    else:
        said = {name: body[name] for name in ("answer", "text", "by")}
        gate = {**gate, **said, "answered_at": at, "status": "passed"}  # type: ignore[typeddict-item]
        if body["verdict"] == "no":
            gate |= {"status": "refused", "issues": [*gate["issues"], body["text"]]}
    gates = {**plan["gates"], body["key"]: gate}
    return with_plan(state, body["plan"], gates=gates, began_at=plan["began_at"] or at)


def rewritten_gates(known: PlanRun, new: Plan) -> list[str]:
    """The keys of waiting gates whose question the new text does not ask any more."""
    asks = {one["key"]: one["gate"] for one in new["tasks"]}
    return [
        one["key"]
        for one in known["plan"]["tasks"]
        if one["gate"] is not None
        and known["gates"][one["key"]]["status"] == ASKED
        and asks.get(one["key"]) != one["gate"]
    ]


def _replan(state: RunState, body: Any) -> RunState:
    """Replace the text of a plan. What was begun keeps its state, by its key."""
    plan: Plan = body["plan"]
    known = state["plans"][plan["id"]]
    rewritten = rewritten_gates(known, plan)
    changed = with_plan(
        state,
        plan["id"],
        plan=plan,
        digest=plan["digest"],
        autonomous=body["autonomous"],
        reason=body["reason"],
        tasks={
            one["key"]: known["tasks"].get(one["key"]) or blank(TaskRun)
            for one in plan["tasks"]
            if not one["gate"]
        },
        gates={
            one["key"]: _ask_again(known["gates"][one["key"]])
            if one["key"] in rewritten
            else known["gates"].get(one["key"]) or blank(GateRun)
            for one in plan["tasks"]
            if one["gate"]
        },
    )
    changed["total"] += to_do(changed["plans"][plan["id"]]) - to_do(known)
    return changed
