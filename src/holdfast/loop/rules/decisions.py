"""What each command on a track makes happen: a step begins or goes on, a task is accepted once, a step
ends, the next one follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.kernel.conflicts import decide as settle_conflict
from holdfast.kernel.errors import Conflict, NotAllowed, Usage
from holdfast.kernel.rules import Decision, Person
from holdfast.kernel.text import quote
from holdfast.loop.rules.changes import (
    OF_ONE_ATTEMPT,
    Pen,
    body_of,
    files_of,
    note_of,
    one_line,
    refuse_too_many,
    step_of,
    trimmed,
    whole,
    whole_of,
)
from holdfast.loop.rules.checkpoint import (
    active_blockers,
    checkpoint_of,
    count_done,
    current_step,
    following_step,
    loop_of,
    refuse_illegal,
    status_of,
    waiting_for,
    way_on,
)
from holdfast.loop.rules.model import (
    BLOCKED,
    BRAINSTORM,
    COMPLETE,
    COUNTERS,
    DONE_TASKS,
    EXECUTE,
    FAILED,
    FIX,
    FIX_LIMIT,
    IN_PROGRESS,
    MAX_FIX_CYCLES,
    MOST_TASKS,
    NOT_STARTED,
    OWNERS,
    PASSED,
    PLAN,
    PROGRESS,
    SKIPPED,
    LoopState,
)
from holdfast.loop.rules.tasks import key_of, same_task


def task_done(state: LoopState, command: Any, now: int) -> Decision:
    """One task is accepted. A task that was reported before changes nothing."""
    step, task = step_of(state, command), one_line(command["task"])
    if not task:
        raise Usage("A task needs a name.", hint="holdfast loop task-done 2.3")
    if step == FIX:
        return _issue_fixed(state, command, task, now)
    checkpoint = checkpoint_of(state, step)
    known = checkpoint.get(DONE_TASKS) or []
    key = key_of(task)
    if key in map(key_of, known):
        return Decision()
    refuse_illegal(step, status_of(state, step), PASSED)
    pen = Pen(state, step, now)
    done = (count_done(checkpoint, "tasks_completed") or 0) + 1
    total = count_done(checkpoint, "tasks_total")
    if total is not None:
        refuse_too_many("tasks_completed", done, total)
    if done > MOST_TASKS:
        raise Usage(f"More than {MOST_TASKS} tasks are no plan that a track can hold.")
    commit, message = one_line(command.get("commit") or ""), trimmed(command.get("message") or "")
    pen.count("tasks_completed", done)
    if total is not None:
        pen.count("tasks_total", total)
    pen.add(DONE_TASKS, [task])
    pen.set_mirrored("last_task", task)
    if commit:
        pen.set_mirrored("last_commit", commit)
        pen.add("commits", [{"sha": commit, "message": message, "task": task}])
    now_at = (checkpoint.get("progress") or {}).get("current_task")
    if now_at is None or same_task(str(now_at), task):
        pen.progress("current_task", one_line(command.get("next") or ""))
    return Decision([("task_done", body_of(pen, command, task=task, commit=commit))])


def _issue_fixed(state: LoopState, command: Any, issue: str, now: int) -> Decision:
    """What a task is to EXECUTE, an issue is to FIX."""
    checkpoint = checkpoint_of(state, FIX)
    applied = checkpoint.get("fixes_applied") or []
    if any(isinstance(one, dict) and one.get("issue") == issue for one in applied):
        return Decision()
    refuse_illegal(FIX, status_of(state, FIX), PASSED)
    pen = Pen(state, FIX, now)
    fixed, total = (
        count_done(checkpoint, "issues_fixed") or 0,
        count_done(checkpoint, "issues_total"),
    )
    if total is not None:
        refuse_too_many("issues_fixed", fixed + 1, total)
        pen.set("fixes_remaining", total - fixed - 1)
    pen.count("issues_fixed", fixed + 1)
    commit, fix = one_line(command.get("commit") or ""), trimmed(command.get("message") or "")
    pen.add("fixes_applied", [{"issue": issue, "fix": fix, "commit_sha": commit}])
    if checkpoint.get("current_issue", "") == issue:
        following = one_line(command.get("next") or "")
        pen.set("current_issue", following)
        pen.progress("current_issue", following)
    return Decision([("task_done", body_of(pen, command, task=issue, commit=commit))])


def take_in(pen: Pen, done_tasks: Sequence[str]) -> int:
    """Tasks that the plan says are done, though they were not reported. How many are done now."""
    known = pen.checkpoint.get(DONE_TASKS) or []
    keys = {key_of(str(task)) for task in known}
    fresh = [task for task in map(one_line, done_tasks) if key_of(task) not in keys]
    pen.add(DONE_TASKS, fresh)
    return max(count_done(pen.checkpoint, "tasks_completed") or 0, len(known) + len(fresh))


def finish_tasks(pen: Pen, done_tasks: Sequence[str]) -> None:
    """EXECUTE ends with all of its tasks, their number and their commits."""
    done = take_in(pen, done_tasks)
    total = count_done(pen.checkpoint, "tasks_total")
    if total is not None and done < total:
        left = total - done
        raise Conflict(
            f"{EXECUTE} has {left} open task{'s' if left > 1 else ''}: {done} of {total} are done.",
            hint="Report them with `holdfast loop task-done`, or correct the number: "
            f"holdfast loop progress --tasks-total {done}",
            kind="open_tasks",
        )
    pen.count("tasks_completed", done)
    pen.count("tasks_total", done if total is None else max(total, done))
    if pen.checkpoint.get("commits") is None:
        pen.set("commits", [])


def start(state: LoopState, command: Any, now: int) -> Decision:
    """A new attempt, or going on with one that is in progress: then nothing is forgotten."""
    step = step_of(state, command)
    pen, status = Pen(state, step, now), status_of(state, step)
    agent = one_line(command.get("agent") or OWNERS.get(step) or command.get("actor") or "unknown")
    if _is_over_limit(state, command):
        return over_the_limit(state, now)
    _refuse_unseen(state, command)
    limit = whole_of(command, "max_fix_cycles")
    if limit is not None:
        pen.loop("max_fix_cycles", limit)
    again = _goes_on(state, command)
    if step == FIX and not again:
        pen.loop("fix_cycle_count", cycles_of(state) + 1)
    pen.status(IN_PROGRESS)
    pen.set("agent", agent)
    if not again:
        _begin(pen, keep=not command.get("reset") and _keeps(step, status))
        if step == FIX:
            pen.set("cycle", cycles_of(state) + 1)
    started = pen.checkpoint.get("started_at") if again else pen.now
    pen.set("started_at", started or pen.now)
    pen.loop("step_started_at", started or pen.now)
    _resolve_blockers(pen, all=bool(command.get("resolve")))
    totals = {
        EXECUTE: ("tasks_total", "tasks_completed"),
        FIX: ("issues_total", "issues_fixed"),
    }.get(step)
    if totals:
        given = whole_of(command, totals[0])
        if given is not None:
            done = count_done(pen.checkpoint, totals[1]) or 0
            if step == EXECUTE:
                done = take_in(pen, command.get("done_tasks") or [])
            refuse_too_many(totals[1], done, given)
            pen.count(totals[0], given)
            pen.count(totals[1], done)
    body: dict[str, Any] = {"step": step, "agent": agent, "again": again}
    if isinstance(command.get("by"), Person):
        body["by"] = command["by"]
    if not state["opened"] and command.get("folder"):
        body["folder"] = command["folder"]
    return Decision([("started", {**body, "changes": pen.done(begun=not again)})])


def _keeps(step: str, status: str) -> bool:
    """Whether a new start keeps what was done: tasks never run twice, a cycle of FIX is a new one, and
    a status that we do not know is no reason to forget anything."""
    if step in (EXECUTE, FIX):
        return step == EXECUTE
    return status not in (NOT_STARTED, PASSED, SKIPPED)


def _begin(pen: Pen, *, keep: bool) -> None:
    """A fresh checkpoint."""
    pen.set("completed_at", None)
    pen.set("output_files", [])
    pen.set("notes", "")
    for name in () if keep else OF_ONE_ATTEMPT:
        pen.cut(name)
    if not keep:
        # What was cut is not there to be compared with.
        pen.checkpoint = {
            name: value for name, value in pen.checkpoint.items() if name not in OF_ONE_ATTEMPT
        }


def _goes_on(state: LoopState, command: Any) -> bool:
    """Whether a start continues an attempt."""
    status = status_of(state, step_of(state, command))
    return status == IN_PROGRESS and not command.get("reset")


def _is_over_limit(state: LoopState, command: Any) -> bool:
    """Whether a start would be a cycle of FIX beyond the limit."""
    if step_of(state, command) != FIX or _goes_on(state, command):
        return False
    limit = whole_of(command, "max_fix_cycles")
    return cycles_of(state) >= (limit if limit is not None else limit_of(state))


def list_persons_part(state: LoopState, command: Any) -> list[str]:
    """Return what only a person may do of a start: resolve blockers, and allow more fix cycles."""
    if _is_over_limit(state, command):
        return []
    wanted = [
        f"resolve the blocker of {blocker.get('blocked_step')}: {blocker.get('description')}"
        for blocker in active_blockers(state)
        if command.get("resolve") or blocker.get("blocked_step") == command["step"]
    ]
    limit = whole_of(command, "max_fix_cycles")
    if limit is not None and limit > limit_of(state):
        wanted.append(f"allow {limit} fix cycles instead of {limit_of(state)}")
    return wanted


def _refuse_unseen(state: LoopState, command: Any) -> None:
    wanted = list_persons_part(state, {**command, "step": step_of(state, command)})
    if wanted and not isinstance(command.get("by"), Person):
        raise NotAllowed(
            f"Only a person may {wanted[0]}.",
            hint="A person runs in a terminal of their own: "
            f"holdfast loop start {quote(step_of(state, command))} --track {quote(state['track'])}",
            kind="no_person",
        )


def _resolve_blockers(pen: Pen, *, all: bool) -> None:
    """An explicit start is how a person says that the way is free again."""
    for position, blocker in enumerate(pen.state["document"].get("blockers") or []):
        if blocker not in active_blockers(pen.state):
            continue
        if all or blocker.get("blocked_step") == pen.step:
            pen.resolve(position)


def over_the_limit(state: LoopState, now: int) -> Decision:
    """The fourth cycle is not run: FIX is blocked until a person decides."""
    pen = Pen(state, FIX, now)
    description = FIX_LIMIT.format(count=cycles_of(state))
    pen.loop("current_step", FIX)
    pen.loop("step_status", BLOCKED)
    pen.set("started_at", pen.now)
    pen.set("agent", pen.checkpoint.get("agent") or OWNERS[FIX])
    pen.end(BLOCKED, note_of(BLOCKED, description))
    standing = [one for one in active_blockers(state) if one.get("blocked_step") == FIX]
    blocker = standing[0] if standing else pen.block(description)
    body = {"step": FIX, "notes": description, "blocker": blocker, "changes": pen.done()}
    escalated = {"step": FIX, "reason": description, "changes": []}
    return Decision([("blocked", body), ("escalated", escalated)])


def cycles_of(state: LoopState) -> int:
    return whole(loop_of(state), "fix_cycle_count") or 0


def limit_of(state: LoopState) -> int:
    limit = whole(loop_of(state), "max_fix_cycles")
    return MAX_FIX_CYCLES if limit is None else limit


def decide(state: LoopState, command: Any, now: int) -> Decision:
    """`open`, `start`, `progress`, `task_done`, `pass`, `fail`, `block`, `advance`, `attempt`,
    `escalate`, `settle` (a conflict of edits); the command says which in `do`."""
    deciders: dict[str, Callable[[LoopState, Any, int], Decision]] = {
        "open": _open,
        "start": start,
        "progress": _progress,
        "task_done": task_done,
        "pass": _pass,
        "fail": _end_badly,
        "block": _end_badly,
        "advance": _advance,
        "attempt": _attempt,
        "escalate": _escalate,
    }
    if command.get("do") == "settle":
        return settle_conflict(state, command)
    if command.get("do") not in deciders:
        raise Usage(f"A track cannot {command.get('do')!r}.")
    return deciders[command["do"]](state, command, now)


def _open(state: LoopState, command: Any, now: int) -> Decision:
    """Begin to look after a track whose file is there, without changing what it says."""
    if state["opened"]:
        return Decision()
    return Decision([("opened", {"folder": command["folder"]})])


def _progress(state: LoopState, command: Any, now: int) -> Decision:
    step = step_of(state, command)
    refuse_illegal(step, status_of(state, step), IN_PROGRESS)
    if status_of(state, step) == NOT_STARTED:
        raise Conflict(
            f"{step} is {NOT_STARTED}: there is no progress before a start.",
            hint=way_on(step),
            kind="illegal_transition",
        )
    pen, fields = Pen(state, step, now), command.get("fields") or {}
    for done, total in (("tasks_completed", "tasks_total"), ("issues_fixed", "issues_total")):
        values = [
            count_done(pen.checkpoint, name) if fields.get(name) is None else whole_of(fields, name)
            for name in (done, total)
        ]
        if values[0] is not None and values[1] is not None:
            refuse_too_many(done, values[0], values[1])
    for name, (kind, _) in PROGRESS.items():
        if fields.get(name) is None:
            continue
        value = one_line(fields[name]) if kind is str else whole_of(fields, name)
        if name in COUNTERS:
            pen.count(name, int(value or 0))
        elif name == "current_issue":
            pen.set(name, value)
            pen.progress(name, value)
        else:
            pen.progress(name, value)
    pen.add("output_files", files_of(command))
    if command.get("notes"):
        pen.set("notes", trimmed(command["notes"]))
    return Decision([("progressed", body_of(pen, command))])


def _pass(state: LoopState, command: Any, now: int) -> Decision:
    step = step_of(state, command)
    refuse_illegal(step, status_of(state, step), PASSED)
    pen = Pen(state, step, now)
    notes, files = trimmed(command.get("notes") or ""), files_of(command)
    if step in (PLAN, BRAINSTORM) and not (files or pen.checkpoint.get("output_files")):
        raise Usage(
            f"{step} passes with the files that it wrote, and none is named.",
            hint=f"holdfast loop pass --output {quote(state['folder'] + '/plan.md')}",
        )
    if step in (PLAN, FIX) and not (notes or pen.checkpoint.get("notes")):
        raise Usage(
            f"{step} passes with a summary of what was done, and there is none.",
            hint='holdfast loop pass --notes "what was done"',
        )
    if step == EXECUTE:
        finish_tasks(pen, command.get("done_tasks") or [])
    pen.add("output_files", files)
    pen.end(PASSED, notes)
    return Decision([("passed", body_of(pen, command, notes=notes))])


def _end_badly(state: LoopState, command: Any, now: int) -> Decision:
    status = FAILED if command["do"] == "fail" else BLOCKED
    step, reason = step_of(state, command), trimmed(command.get("reason") or "")
    if not reason:
        raise Usage(f"{status} needs a reason.", hint=f'holdfast loop {command["do"]} "why"')
    refuse_illegal(step, status_of(state, step), status)
    pen = Pen(state, step, now)
    pen.add("output_files", files_of(command))
    pen.end(status, note_of(status, reason))
    facts: dict[str, Any] = {"notes": note_of(status, reason)}
    if status == BLOCKED:
        facts["blocker"] = pen.block(reason)
    return Decision([(status.lower(), body_of(pen, command, **facts))])


def _advance(state: LoopState, command: Any, now: int) -> Decision:
    """To the next step by the table. It enters as NOT_STARTED; nothing is run."""
    step = current_step(state)
    status = PASSED if step == COMPLETE else status_of(state, step)
    waiting = waiting_for(state)
    if waiting is not None:
        if state["escalated"] == waiting:
            return Decision()
        return Decision([("escalated", {**waiting, "changes": []})])
    if status == BLOCKED:
        following = step
    else:
        following = following_step(state, business_sync=bool(command.get("business_sync")))
    if following == FIX and cycles_of(state) >= limit_of(state):
        return over_the_limit(state, now)
    pen = Pen(state, following, now)
    pen.loop("current_step", following)
    pen.loop("step_started_at", None)
    if following == COMPLETE:
        pen.loop("step_status", PASSED)
        pen.root("status", "complete")
        pen.root("completed_at", pen.now)
    else:
        pen.loop("step_status", NOT_STARTED)
        pen.set("status", NOT_STARTED)
        if pen.checkpoint.get("completed_at") is not None:
            pen.set("completed_at", None)
    body = {"from": step, "step": following, "changes": pen.changes()}
    return Decision([("advanced", body)])


def _attempt(state: LoopState, command: Any, now: int) -> Decision:
    """The orchestrator starts a program: written down before it runs."""
    step, task = step_of(state, command), one_line(command.get("task") or "")
    pen = Pen(state, step, now)
    if task:
        pen.progress("current_task", task)
    number = state["attempts"] + 1
    facts = {"number": number, "task": task, "log": command["log"], "program": command["program"]}
    return Decision([("attempt_begun", body_of(pen, command, **facts))])


def _escalate(state: LoopState, command: Any, now: int) -> Decision:
    body = {"step": step_of(state, command), "reason": trimmed(command["reason"]), "changes": []}
    return Decision([("escalated", body)])
