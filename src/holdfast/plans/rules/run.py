"""Runs: the rules of `run:<id>` streams. A run is rows, never parked code.

A runner has one life of the stream, with its own fence. Each start of a task has a mark, and only the
completion that names it is accepted: the effect of a task is at-least-once, its acceptance exactly once.
"""

from __future__ import annotations

from typing import Any

from holdfast.kernel.errors import Conflict, NotAllowed, Usage
from holdfast.kernel.rules import Decision, absorb_nothing, render_nothing
from holdfast.plans.rules.ready import is_done, ready
from holdfast.plans.rules.run_model import (
    ABANDONED,
    ASKED,
    DONE,
    OPEN,
    PASSED,
    REFUSED,
    RUNNING,
    SKIPPED,
    PlanRun,
    RunState,
    TaskRun,
    apply,
    initial,
)

__all__ = ["absorb", "apply", "decide", "initial", "render", "stream_of"]

STREAMS = "run:"
LONGEST_ID = 64
LONGEST_SAID = 500
EVERYBODY = 1 << 30
# A task whose worker dies so often is itself what kills it.
LOST_MOST = 20

# What is recorded as it was told: the kind of the record, and what of the command it holds.
AS_TOLD = {
    "abandon": ("run_abandoned", "by", "why"),
    "live": ("life_begun", "life"),
    "pause": ("run_paused", "reason", "text", "waypoint"),
    "keep_text": ("text_kept", "plan", "digest"),
}
# What a new text of the plan may not change.
PAST = (DONE, RUNNING, SKIPPED, PASSED)


class RunnerCommand(dict[str, object]):
    """A command from a process that runs plans. Plain JSON from an inbox could claim that a person
    answered."""


def stream_of(id: str) -> str:
    """The stream of a run; an id that could not be one is refused."""
    if not id.isascii() or not id.isalnum() or len(id) > LONGEST_ID:
        raise Usage(f"{id!r:.80} cannot name a run.", hint="`holdfast plan show` lists them.")
    return f"{STREAMS}{id}"


def decide(state: RunState, command: Any, now: int) -> Decision:
    """`begin`, `live`, `start`, `place`, `finish`, `fail`, `lose`, `ask`, `answer`, `mend`, `close`, `verify`,
    `replan`, `keep_text`, `pause`, `end`, `abandon`."""
    what = command["do"]
    if not isinstance(command, RunnerCommand):
        raise NotAllowed(f"Only a runner may {what!r:.40} in a run.", kind="no_runner")
    if what == "begin":
        return _begin(state, command)
    if state["status"] == "":
        raise Conflict(f"There is no run {state['id']}.", kind="no_run")
    if state["status"] == ABANDONED:
        raise Conflict(f"The run {state['id']} was abandoned.", kind="run_ended")
    if state["status"] == "done":
        raise Conflict(f"The run {state['id']} has ended.", kind="run_ended")
    if what in AS_TOLD:
        kind, *names = AS_TOLD[what]
        if "plan" in names:
            _plan(state, command)
        return Decision([(kind, _pick(command, *names))])
    decided = {
        "start": _start,
        "place": _place,
        "finish": _complete,
        "fail": _complete,
        "lose": _complete,
        "ask": _ask,
        "answer": _answer,
        "mend": _mend,
        "close": _close,
        "verify": _verify,
        "replan": _replan,
        "end": _end,
    }.get(what)
    if decided is None:
        raise Usage(f"A run cannot {what!r:.40}.")
    return decided(state, command)


def _begin(state: RunState, command: Any) -> Decision:
    if state["status"]:
        raise Conflict(f"There is a run {state['id']} already.", kind="run_taken")
    return Decision([("run_begun", _pick(command, "root", "options", "phases", "plans"))])


def _pick(command: Any, *names: str) -> dict[str, Any]:
    return {name: command[name] for name in names}


def _plan(state: RunState, command: Any) -> PlanRun:
    plan = state["plans"].get(command["plan"])
    if plan is None:
        raise Conflict(f"The run {state['id']} has no plan {command['plan']!r:.80}.")
    return plan


def _task(state: RunState, command: Any) -> TaskRun:
    task = _plan(state, command)["tasks"].get(command["task"])
    if task is None:
        raise Conflict(f"{command['plan']} has no task {command['task']!r:.40}.")
    return task


def _may(state: RunState, do: str, plan: str = "", key: str = "") -> bool:
    """Return whether the state allows an act, of a task or gate where one is named."""
    acts = [act for act in ready(state, EVERYBODY) if act["do"] == do]
    return any(not plan or (act["plan"], act["key"]) == (plan, key) for act in acts)


def _start(state: RunState, command: Any) -> Decision:
    """A task begins only where the state allows it."""
    _task(state, command)
    plan, task = command["plan"], command["task"]
    if not _may(state, "start", plan, task):
        raise Conflict(f"{plan}#{task} may not begin now.", kind="not_ready")
    return Decision([("task_started", _pick(command, "plan", "task", "mark", "log"))])


def _place(state: RunState, command: Any) -> Decision:
    """The machine of a start. A start that has ended meanwhile is ignored."""
    task = _task(state, command)
    if task["status"] != RUNNING or task["mark"] != command["mark"]:
        return Decision()
    body = _pick(command, "plan", "task", "mark")
    return Decision([("task_placed", {**body, "on": str(command["on"])[:LONGEST_SAID]})])


def _complete(state: RunState, command: Any) -> Decision:
    """A completion counts if it names the running attempt. Another one is recorded as refused."""
    what, task = command["do"], _task(state, command)
    kept = ("plan", "task", "mark", "exit_code", "seconds", "why", "said")
    body = {name: command[name] for name in kept if name in command}
    if command.get("on"):
        body["on"] = command["on"]
    for name in ("why", "said", "on"):
        if name in body:
            body[name] = str(body[name])[:LONGEST_SAID]
    if task["status"] != RUNNING or task["mark"] != command["mark"]:
        return Decision([("completion_refused", {**body, "as": what})])
    if what == "finish":
        return Decision([("task_done", body)])
    if what == "lose" and task["lost"] + 1 < LOST_MOST:
        return Decision([("task_lost", body)])
    last = what == "lose" or task["tries"] + 1 >= max(1, state["options"].get("tries", 1))
    return Decision([("task_failed", {**body, "last": last})])


def _ask(state: RunState, command: Any) -> Decision:
    plan = _plan(state, command)
    gate = plan["gates"][command["key"]]
    if gate["status"] == ASKED and gate["gate"] == command["gate"]:
        return Decision()
    if gate["status"] != OPEN or not _may(state, "ask", command["plan"], command["key"]):
        raise Conflict(f"{command['plan']}#{command['key']} is not to be asked now.")
    return Decision([("gate_asked", _pick(command, "plan", "key", "gate", "round"))])


def _answer(state: RunState, command: Any) -> Decision:
    """The answer of a person to a gate. The runner reads it from the gate's own stream, which holds only
    answers of people."""
    gate = _plan(state, command)["gates"][command["key"]]
    if gate["status"] != ASKED or gate["gate"] != command["gate"]:
        raise Conflict(f"{command['plan']}#{command['key']} was not asked.")
    body = _pick(command, "plan", "key", "gate", "verdict", "answer", "text", "by")
    return Decision([("gate_answered", body)])


def _mend(state: RunState, command: Any) -> Decision:
    gate = _plan(state, command)["gates"][command["key"]]
    if gate["status"] != REFUSED:
        raise Conflict(f"{command['plan']}#{command['key']} has no issues to mend.")
    return Decision([("gate_mended", _pick(command, "plan", "key"))])


def _close(state: RunState, command: Any) -> Decision:
    plan = _plan(state, command)
    if plan["closed"]:
        return Decision()
    if not is_done(plan):
        raise Conflict(f"{command['plan']} is not done.")
    return Decision([("plan_closed", {"plan": command["plan"], **command.get("facts", {})})])


def _verify(state: RunState, command: Any) -> Decision:
    if not _may(state, "verify"):
        raise Conflict(f"The phase {command['phase']} is not complete.")
    body = {"phase": command["phase"], "unmet": [str(one) for one in command["unmet"]]}
    return Decision([("phase_verified", body)])


def _replan(state: RunState, command: Any) -> Decision:
    """A new text replaces what is not done. What is done must stay where it was."""
    new, known = command["plan_text"], _plan(state, {"plan": command["plan_text"]["id"]})
    refuse_rewritten(known, new)
    return Decision([("replanned", {**_pick(command, "autonomous", "reason"), "plan": new})])


def refuse_rewritten(known: PlanRun, new: Any) -> None:
    """Refuse a text that changes what is done or runs, or the plan's place in the run. What failed or
    was lost may change: the new text may mend it."""
    old = known["plan"]
    begun = 0
    for position, task in enumerate(old["tasks"]):
        key = task["key"]
        run: Any = known["gates"][key] if task["gate"] is not None else known["tasks"][key]
        if run["status"] in PAST:
            begun = position + 1
    same = ("key", "type", "name", "action", "run", "verify", "gate")
    for one, other in zip(old["tasks"][:begun], new["tasks"][:begun], strict=False):
        if any(one[name] != other[name] for name in same):  # type: ignore[literal-required]
            what = f"task {other['key']} is done or at work, and its text is another now"
            raise _too_late(new, what)
    if len(new["tasks"]) < begun:
        raise _too_late(new, "a task that is done or at work is not in the file any more")
    for name in ("id", "wave", "depends_on"):
        if old[name] != new[name]:
            raise _too_late(new, f"{name} changed; the run has its waves already")


def _too_late(new: Any, what: str) -> Conflict:
    return Conflict(
        f"{new['path']}: {what}.",
        hint="Go on with the old text (--edited old), or begin a new run.",
        kind="plan_edited",
    )


def find_passed_over(known: PlanRun, new: Any) -> list[str]:
    """The keys of unpassed checkpoints that a new text removes, changes, or puts behind more tasks. One
    that a person found issues with may ask anew."""
    asked = _asked_after(new["tasks"]).values()
    found = []
    for key, (gate, after) in _asked_after(known["plan"]["tasks"]).items():
        status = known["gates"][key]["status"]
        # A resume makes it open again, and keeps what the person found.
        has_issues = status != ASKED and bool(known["gates"][key]["issues"])
        same = [
            other == gate or (has_issues and other["type"] == gate["type"])
            for other, place in asked
            if place <= after
        ]
        if status not in (PASSED, SKIPPED) and not any(same):
            found.append(key)
    return found


def _asked_after(tasks: Any) -> dict[str, tuple[Any, int]]:
    """By key, what each checkpoint asks, and how many tasks come before it."""
    found, before = {}, 0
    for task in tasks:
        if task["gate"] is None:
            before += 1
        else:
            found[task["key"]] = (task["gate"], before)
    return found


def _end(state: RunState, _: Any) -> Decision:
    if not _may(state, "end"):
        raise Conflict(f"The run {state['id']} is not at its end.")
    return Decision([("run_ended", {})])


# A run is written at every task; its files are views of other streams.
absorb, render = absorb_nothing, render_nothing
