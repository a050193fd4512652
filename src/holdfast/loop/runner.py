"""The orchestrator: drives a track to its end, step by step, and can be killed at any instant.

Nothing is kept in memory that matters: each round begins with what the track's file says.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any, NoReturn, TypedDict

from holdfast.git.repository import GitError, read_head
from holdfast.git.run import git
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.loop import run_file
from holdfast.loop.commands import StartRequest, build_start
from holdfast.loop.rules import orchestrator
from holdfast.loop.rules.checkpoint import checkpoint_of, count_done, current_step, status_of
from holdfast.loop.rules.model import (
    BLOCKED,
    BUSINESS_SYNC,
    COMPLETE,
    EVALUATIONS,
    EXECUTE,
    FAILED,
    FIX,
    IN_PROGRESS,
    MAX_ROUNDS,
    OWNERS,
    PASSED,
    SKIPPED,
    LoopState,
)
from holdfast.loop.rules.orchestrator import (
    BLOCKED_DEPENDENCY,
    FILE_NOT_FOUND,
    INPUTS,
    MEANINGS,
    MISSING_PARAMETER,
    OK,
)
from holdfast.loop.rules.tasks import TrackTask, count_tasks, remaining
from holdfast.loop.run_file import RunPlan
from holdfast.loop.track import Track
from holdfast.processes.programs import Programs
from holdfast.processes.supervisor import NOT_STARTED, Ended
from holdfast.runner.checks import refuse_queued, refuse_while_stopped

_TOO_LONG = os.strerror(errno.E2BIG)


class LoopEvent(TypedDict):
    """Something that a watcher may want to see."""

    event: str
    step: str
    task: str
    done: int
    total: int
    text: str


class LoopResult(TypedDict):
    """How a run ended: complete, paused for a person, or interrupted."""

    track: str
    ended: str
    step: str
    reason: str
    rounds: int
    attempts: int
    escalation: list[str]


class Paused(Exception):
    """The orchestrator cannot go on without a person."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(reason)
        self.step = step
        self.reason = reason


class Run:
    """One run of a track, with the programs of a plan."""

    def __init__(self, track: Track, plan: RunPlan, tell: Callable[[LoopEvent], None]) -> None:
        self.track = track
        self.plan = plan
        self.rounds = 0
        self.attempts = 0
        self._programs = Programs(track.writer.redactor)
        self._tell = tell
        self._said: set[str] = set()

    def to_the_end(self) -> LoopResult:
        state = self.track.read()
        sync = self.plan.business_sync or bool(checkpoint_of(state, BUSINESS_SYNC).get("required"))
        self.plan.refuse_unfit(self.track.workspace.root, current_step(state), sync)
        place = self.track.place
        what, hint = f"The track {place.track}", "`holdfast loop show` shows how far it is."
        with place.hold(what, hint):
            for left in place.end_leftovers():
                self._say("leftover", current_step(state), text=f"ended process {left}")
            try:
                self._begin_again()
                while self._round():
                    pass
            except Paused as paused:
                return self._pause(paused)
            finally:
                # What a step left in the background, such as a server, was there for the next ones.
                self._programs.end()
        return self._result("complete", COMPLETE, "")

    def interrupted(self) -> LoopResult:
        """How far it came, for the person who interrupted it."""
        return self._result("interrupted", current_step(self.track.recorded()), "Interrupted")

    def _result(self, ended: str, step: str, reason: str) -> LoopResult:
        return {
            "track": self.track.place.track,
            "ended": ended,
            "step": step,
            "reason": reason,
            "rounds": self.rounds,
            "attempts": self.attempts,
            "escalation": [],
        }

    def _pause(self, paused: Paused) -> LoopResult:
        state = self.track.read()
        known = state["escalated"]
        if known is None or (known["step"], known["reason"]) != (paused.step, paused.reason):
            state = self._execute({"do": "escalate", "step": paused.step, "reason": paused.reason})
        result = self._result("paused", paused.step, paused.reason)
        result["escalation"] = orchestrator.escalation_text(state, paused.step, paused.reason)
        return result

    def _begin_again(self) -> None:
        """A person who runs a track again wants the step that failed to be tried again."""
        state = self.track.read()
        step = current_step(state)
        escalated = state["escalated"] is not None and state["escalated"]["step"] == step
        if status_of(state, step) == FAILED and (step not in EVALUATIONS or escalated):
            self._execute({"do": "start", "step": step})

    def _round(self) -> bool:
        """What comes next is done; False at the end of the track."""
        refuse_while_stopped(self.track.workspace)
        state = self.track.read()
        step = current_step(state)
        status = status_of(state, step)
        if step == COMPLETE:
            return False
        if status in (PASSED, SKIPPED, BLOCKED) or (status == FAILED and step in EVALUATIONS):
            self._advance(step)
            return True
        if status == FAILED:
            notes = str(checkpoint_of(state, step).get("notes") or "")
            raise Paused(step, notes or f"{step} failed")
        if self.rounds >= MAX_ROUNDS:
            raise Paused(step, f"Stopped after {MAX_ROUNDS} rounds without an end")
        self.rounds += 1
        self._dispatch(state, step)
        return True

    def _advance(self, step: str) -> None:
        state = self._execute({"do": "advance", "business_sync": self.plan.business_sync})
        pause = orchestrator.pause_of(state)
        if pause is not None:
            raise Paused(pause["step"], pause["reason"])
        self._say("advanced", current_step(state), text=step)

    def _dispatch(self, state: LoopState, step: str) -> None:
        tasks: list[TrackTask] = []
        if step == EXECUTE:
            self._refuse_unread()
            tasks = self.plan.choose_tasks(self.track.plan())
        request = StartRequest(step=step, tasks=tasks or None)
        state = self._execute(build_start(self.track, request))
        if status_of(state, step) == BLOCKED:
            pause = orchestrator.pause_of(state)
            raise Paused(step, pause["reason"] if pause else f"{step} is blocked")
        self._say("step", step, text=OWNERS.get(step, ""))
        if self.plan.steps[step].get("skip"):
            self._execute({"do": "pass", "step": step, "notes": "Skipped by the run's file."})
            return
        self._require_input(step)
        if self.plan.is_per_task(step):
            self._run_tasks(state, step, tasks)
        else:
            self._run_step(state, step, tasks)

    def _refuse_unread(self) -> None:
        """No task is left out in silence."""
        if self.plan.steps[EXECUTE].get("tasks"):
            return
        path, found = f"{self.track.place.folder}/plan.md", self.track.unread()
        meant = [one for one in found if one["meant"]]
        if meant:
            lines = "; ".join(f"line {one['line']}: {one['text'][:80]}" for one in meant)
            raise HoldfastError(
                f"{path} has lines that cannot be read as tasks: {lines}.",
                hint="A task is `- [ ] Task 1.1: what to do`, in UTF-8.",
                kind="bad_plan",
            )
        for one in found:
            text = f"{path}, line {one['line']} has no id and is no task: {one['text'][:80]}"
            if text not in self._said:
                self._said.add(text)
                self._say("warning", EXECUTE, text=text)

    def _require_input(self, step: str) -> None:
        """Pause before a superpower whose input file is missing."""
        name = INPUTS.get(step, "")
        path = f"{self.track.place.folder}/{name}"
        is_there = os.path.exists(os.path.join(self.track.workspace.root, path))
        if name and not is_there and not self.plan.command(step):
            self._fail_and_pause(step, f"Missing required {name} file at {path}")

    def _fail_and_pause(self, step: str, reason: str) -> NoReturn:
        self._execute({"do": "fail", "step": step, "reason": reason})
        raise Paused(step, reason)

    # One program a task

    def _run_tasks(self, state: LoopState, step: str, tasks: list[TrackTask]) -> None:
        if not tasks:
            self._fail_and_pause(step, f"There is no task in {self.track.place.folder}/plan.md")
        left = remaining(tasks, checkpoint_of(state, step))
        while left:
            task = left[0]
            refuse_while_stopped(self.track.workspace)
            before = head_now(self.track.workspace.root)
            facts, ended = self._attempt(state, step, task, len(tasks) - len(left), len(tasks))
            if ended["code"] != OK or ended["too_long"]:
                return self._end_step(step, facts, ended)
            following = left[1]["id"] if len(left) > 1 else ""
            commit, message = commit_since(self.track.workspace.root, before)
            done = {"do": "task_done", "step": step, "task": task["id"], "next": following}
            made = {"commit": commit, "message": message}
            state = self._execute({**done, **made, "attempt": facts})
            if status_of(state, step) != IN_PROGRESS:
                return None  # the program itself, or another one, ended the step
            now = self.plan.choose_tasks(self.track.plan())
            if [task["id"] for task in now] != [task["id"] for task in tasks]:
                return None  # the next round counts the tasks anew
            tasks, left = now, remaining(now, checkpoint_of(state, step))
        known = count_tasks(tasks, checkpoint_of(state, step))[0]
        notes = f"{len(tasks)} tasks done"
        self._execute({"do": "pass", "step": step, "notes": notes, "done_tasks": known})
        self._say("ended", step, text=PASSED)
        return None

    # One program for the whole step

    def _run_step(self, state: LoopState, step: str, tasks: list[TrackTask]) -> None:
        before = len(remaining(tasks, checkpoint_of(state, step)))
        facts, ended = self._attempt(state, step, None, len(tasks) - before, len(tasks))
        after = self.track.read()
        if status_of(after, step) != IN_PROGRESS:
            self._say("ended", step, text=status_of(after, step))
            return
        if step == EXECUTE and ended["code"] == OK and not ended["too_long"]:
            left = remaining(self.plan.choose_tasks(self.track.plan()), checkpoint_of(after, step))
            if left and len(left) < before:
                return  # it did a part, and the next round goes on from there
            if left:
                reason = f"{self._name(step)} ended with 0, and {len(left)} tasks are open"
                self._execute({"do": "fail", "step": step, "reason": reason, "attempt": facts})
                self._say("ended", step, text=FAILED)
                return
            total = count_done(checkpoint_of(after, step), "tasks_total")
            if total is not None:
                fields = {"tasks_completed": total}
                self._execute({"do": "progress", "step": step, "fields": fields})
        self._end_step(step, facts, ended)

    def _end_step(self, step: str, facts: dict[str, Any], ended: Ended) -> None:
        """The exit code, by the protocol's table."""
        said = f"{ended['last_line']} " if ended["last_line"] else ""
        meant = f"{said}({_meaning(ended['code'])})"
        what: dict[str, Any] = {"step": step, "attempt": facts}
        if ended["too_long"]:
            reason = f"{said}({self._name(step)} had no end after {ended['seconds']:.0f} s)"
            self._execute({**what, "do": "fail", "reason": reason})
        elif ended["code"] == OK:
            self._pass(step, what, ended)
        else:
            do = "block" if ended["code"] == BLOCKED_DEPENDENCY else "fail"
            self._execute({**what, "do": do, "reason": meant})
        status = status_of(self.track.read(), step)
        self._say("ended", step, text=status)
        if ended["code"] in (MISSING_PARAMETER, FILE_NOT_FOUND):
            raise Paused(step, meant)

    def _pass(self, step: str, what: dict[str, Any], ended: Ended) -> None:
        state, root = self.track.read(), self.track.workspace.root
        wanted = self.plan.list_outputs(state, step)
        files = [path for path in wanted if os.path.exists(os.path.join(root, path))]
        known = checkpoint_of(state, step).get("output_files")
        if wanted and not files and not known and step != FIX:
            reason = f"{self._name(step)} ended with 0, and wrote no {' and no '.join(wanted)}"
            self._execute({**what, "do": "fail", "reason": reason})
            return
        notes = ended["last_line"] or f"{self._name(step)} ended well"
        self._execute({**what, "do": "pass", "output_files": files, "notes": notes})

    def _name(self, step: str) -> str:
        own = self.plan.command(step)
        return os.path.basename(own[0]) if own else OWNERS.get(step, step)

    # Programs and records

    def _attempt(
        self, state: LoopState, step: str, task: TrackTask | None, done: int, total: int
    ) -> tuple[dict[str, Any], Ended]:
        """Write down that a program is started, start it, and follow it to its end."""
        command = self.plan.fill_command(state, step, task)
        variables = run_file.variables_of(state, step, task)
        id = variables["task"]
        name = f"{state['attempts'] + 1:04d}-{step}-{new_id()[:4]}.log"
        begun = self._execute(
            {"do": "attempt", "step": step, "task": id, "log": name, "program": command[0]}
        )
        self.attempts += 1
        self._say("attempt", step, id, done, total, variables["task_title"])
        job = self.track.place.make_job(
            new_id(),
            name,
            [{"name": "", "words": command, "input": ""}],
            folder=self.track.workspace.root,
            environment={f"LOOP_{key.upper()}": value for key, value in variables.items()},
            seconds=self.plan.steps[step].get("seconds"),
        )
        # A stop ends the program that runs, too.
        ended = self._programs.follow(job, lambda: refuse_while_stopped(self.track.workspace))
        if ended["code"] == NOT_STARTED and ended["last_line"].endswith(_TOO_LONG):
            longest = max(len(value.encode()) for value in variables.values())
            raise HoldfastError(
                f"The program of {step} cannot be told {id or 'what to do'}: the longest of its words "
                f"has {longest} bytes, more than this system hands to a program.",
                hint="Shorten the task's title in plan.md; details can stand in the lines below it.",
                kind="too_long",
            )
        facts = {
            "number": begun["attempts"],
            "exit_code": ended["code"],
            "seconds": round(ended["seconds"], 1),
            "log": name,
        }
        return facts, ended

    def _execute(self, command: dict[str, Any]) -> LoopState:
        done = self.track.execute(command)
        for warning in done.warnings:
            self._say("warning", command.get("step", ""), text=warning)
        for broken in done.broken:
            text = f"broke the lock of {broken['holder']}, {broken['age_seconds']} s old"
            self._say("warning", command.get("step", ""), text=text)
        refuse_queued(done.outcome)
        return done.state

    def _say(
        self, event: str, step: str, task: str = "", done: int = 0, total: int = 0, text: str = ""
    ) -> None:
        self._tell(
            {"event": event, "step": step, "task": task, "done": done, "total": total, "text": text}
        )


def _meaning(code: int) -> str:
    if code < 0:
        return f"ended by signal {-code}"
    meaning = MEANINGS.get(code)
    return f"exit code {code}: {meaning}" if meaning else f"exit code {code}"


def head_now(root: str) -> str:
    """The commit of this worktree; empty where there is none, or no git."""
    try:
        return read_head(root)["commit"] or ""
    except GitError:
        return ""


def commit_since(root: str, before: str) -> tuple[str, str]:
    """The commit that a task's program made, and the first line of its message; empty when HEAD did not
    move."""
    now = head_now(root)
    if now in ("", before):
        return "", ""
    try:
        return now, git(root, "log", "-1", "--format=%s", now).decode("utf-8", "replace").strip()
    except GitError:
        return now, ""
