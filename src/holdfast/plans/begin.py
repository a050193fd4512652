"""Begin a run: check its plans, put them in waves, and record all of that before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import config
from holdfast.kernel.commit import Order
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from holdfast.plans import discovery, lookup
from holdfast.plans.rules import lint, model, waves
from holdfast.plans.rules import run as rules
from holdfast.plans.rules.document import where
from holdfast.plans.rules.model import kind_of
from holdfast.plans.run_files import refuse_outside
from holdfast.plans.run_stream import execute_now, one_at_a_time, refuse_alive
from holdfast.plans.worktrees import refuse_without_git

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.rules.model import Plan, PlanFinding


class Options(TypedDict):
    """How a run is run. `tries` is how often a task may fail, `phase` and `task` say from where on
    (empty: from the beginning)."""

    jobs: int
    tries: int
    worktrees: bool
    phase: str
    task: str


SHORT = 8
SHOWN = 10


def check_plans(
    workspace: Workspace,
    paths: Sequence[str],
    folder: str,
    warn: Callable[[str], None],
    *,
    skip_validation: bool = False,
) -> list[Plan]:
    """The plans that are meant, as seen from `folder`. Whatever is wrong with them is said before
    anything runs."""
    root = workspace.root
    settings = config.load(workspace, workspace.journal)
    documents = discovery.documents(discovery.files(paths, folder, root), root)
    found = lint.findings(documents, agent=bool(settings["plan.agent"].strip()))
    errors = [one for one in found if one["level"] == "error"]
    unreadable = [one for one in documents if one["plan"] is None]
    if errors and (unreadable or not skip_validation):
        raise HoldfastError(
            f"{_count(errors)} wrong with these plans:\n{_told(errors)}",
            hint="holdfast plan lint says everything. Nothing was run.",
            kind="bad_plans",
        )
    for one in found:
        warn(f"{where(one)}: {one['what']}")
    return [document["plan"] for document in documents if document["plan"] is not None]


def _told(errors: Sequence[PlanFinding]) -> str:
    lines = [f"  {where(one)}: {one['code']}: {one['what']}" for one in errors[:SHOWN]]
    more = len(errors) - SHOWN
    return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


def _count(errors: Sequence[PlanFinding]) -> str:
    return "1 thing is" if len(errors) == 1 else f"{len(errors)} things are"


def begin(
    writer: Writer, plans: Sequence[Plan], options: Options, *, actor: str, again: bool = False
) -> str:
    """Write a run down; its id. Plans that an unfinished run has are refused, unless `again`."""
    order = waves.WaveOrder(plans)
    workspace = writer.workspace
    if options["worktrees"]:
        refuse_without_git(workspace)
    refuse_outside(workspace, order.plans)
    id = new_id()[:SHORT]
    placed = waves.phases(order.plans)
    skipped = _skipped(order.plans, options["phase"], options["task"])
    command: dict[str, Any] = {
        "do": "begin",
        "root": workspace.root,
        "options": options,
        "phases": [
            {"phase": phase, "waves": [[one["id"] for one in wave] for wave in each], "unmet": None}
            for phase, each in placed
        ],
        "plans": [
            {"plan": plan, **kind_of(plan), "skipped": skipped[plan["id"]]} for plan in order.plans
        ],
    }
    for phase in command["phases"]:
        ids = [id for wave in phase["waves"] for id in wave]
        if all(len(skipped[one]) == _size(order.plans, one) for one in ids):
            phase["unmet"] = []  # nothing of it is run, so nothing of it is to be verified
    with one_at_a_time(workspace):
        if again:
            refuse_alive(workspace, {plan["path"] for plan in order.plans})
        else:
            _refuse_begun(lookup.unfinished(workspace), order.plans)
        execute_now(writer, Order(rules.stream_of(id), command), actor=actor)
    return id


def _size(plans: Sequence[Plan], id: str) -> int:
    return next(len(plan["tasks"]) for plan in plans if plan["id"] == id)


def _refuse_begun(unfinished: Sequence[Any], plans: Sequence[Plan]) -> None:
    paths = {plan["path"] for plan in plans}
    for state in unfinished:
        shared = [one for one in state["plans"].values() if one["plan"]["path"] in paths]
        if shared:
            raise Conflict(
                f"{shared[0]['plan']['path']} belongs to the run {state['id']}, which is not "
                "finished.",
                hint=f"holdfast plan resume {state['id']} goes on; --again begins a new run.",
                kind="run_unfinished",
            )


def _skipped(plans: Sequence[Plan], phase: str, task: str) -> dict[str, list[str]]:
    """By plan, the keys that come before where the run is to begin."""
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
    """A task that needs the answer of a checkpoint which is left out would be run without it."""
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
    """Everything before a task: the phases and waves before its own, and in its plan what comes first.
    The other plans of its wave are as much after it as before it, and run."""
    plan, key = _task_named(plans, task)
    for one in plans:
        earlier_phase = waves.natural(one["phase"]) < waves.natural(plan["phase"])
        same_phase = one["phase"] == plan["phase"]
        if earlier_phase or (same_phase and (one["wave"] or 1) < (plan["wave"] or 1)):
            skipped[one["id"]] = [each["key"] for each in one["tasks"]]
    keys = [each["key"] for each in plan["tasks"]]
    skipped[plan["id"]] = keys[: keys.index(key)]


def _task_named(plans: Sequence[Plan], task: str) -> tuple[Plan, str]:
    """`PHASE/PLAN#KEY`, or `PLAN.NUMBER` as takeoff's users write it."""
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
