"""What a run does outside of its decisions: records, programs, commits, and events for a watcher."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.estop.stop import lifted_by
from holdfast.git.repository import GitError, read_head
from holdfast.git.run import git
from holdfast.kernel import latch
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, Stopped
from holdfast.loop import run_file
from holdfast.processes.programs import Programs
from holdfast.processes.supervisor import NOT_STARTED, TICK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.rules.tasks import TrackTask
    from holdfast.loop.run_file import RunPlan
    from holdfast.loop.track import Track
    from holdfast.processes.supervisor import Ended


class LoopEvent(TypedDict):
    """Something that a watcher may want to see. `tick` comes a few times a second."""

    event: str
    step: str
    task: str
    done: int
    total: int
    text: str


_TOO_LONG = os.strerror(errno.E2BIG)


class Driver:
    """The hands of a run: it decides nothing."""

    def __init__(self, track: Track, plan: RunPlan, tell: Callable[[LoopEvent], None]) -> None:
        self.track = track
        self.plan = plan
        self.attempts = 0
        self.programs = Programs(track.writer.redactor)
        self._tell = tell

    def attempt(
        self, state: LoopState, step: str, task: TrackTask | None, done: int, total: int
    ) -> tuple[dict[str, Any], Ended]:
        """Write down that a program is started, start it, and follow it to its end."""
        command = run_file.command_for(self.plan, state, step, task)
        number = state["attempts"] + 1
        name = f"{number:04d}-{step}-{new_id()[:4]}.log"
        begun = self.execute(
            {
                "do": "attempt",
                "step": step,
                "task": task["id"] if task else "",
                "log": name,
                "program": command[0],
            }
        )
        self.attempts += 1
        id = task["id"] if task else ""
        self.say("attempt", step, id, done, total, (task or {"title": ""})["title"])
        words = run_file.words(state, step, task)
        ended = self._follow(
            command,
            {f"LOOP_{key.upper()}": value for key, value in words.items()},
            name,
            self.plan["steps"].get(step, {}).get("seconds"),
            lambda line: self._tick(step, id, done, total, line),
        )
        if ended["code"] == NOT_STARTED and ended["last_line"].endswith(_TOO_LONG):
            longest = max(len(value.encode()) for value in words.values())
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

    def _follow(
        self,
        command: list[str],
        environment: dict[str, str],
        log: str,
        seconds: int | None,
        tick: Callable[[str], None],
    ) -> Ended:
        """Run a program to its end. An interrupt ends the program too."""
        mark = new_id()
        try:
            self.programs.start(
                {
                    "mark": mark,
                    "stages": [{"name": "", "words": command, "input": ""}],
                    "folder": self.track.workspace.root,
                    "environment": {**os.environ, **environment},
                    "log": os.path.join(self.track.place.logs, log),
                    "own": self.track.place.jobs,
                    "seconds": seconds,
                }
            )
            while True:
                for ended in self.programs.wait(TICK_SECONDS):
                    return ended
                tick(self.programs.last_line(mark))
        except BaseException:
            self.programs.end()
            raise

    def execute(self, command: dict[str, Any]) -> LoopState:
        done = self.track.execute(command)
        for warning in done.warnings:
            self.say("warning", command.get("step", ""), text=warning)
        for broken in done.broken:
            text = f"broke the lock of {broken['holder']}, {broken['age_seconds']} s old"
            self.say("warning", command.get("step", ""), text=text)
        if done.outcome["queued"]:
            raise HoldfastError(
                "The journal cannot be written from here, so a run could not be resumed.",
                hint="Run it where the journal is writable.",
                kind="read_only",
            )
        return done.state

    def _tick(self, step: str, task: str, done: int, total: int, line: str) -> None:
        """A stop ends the program that runs, too."""
        self.refuse_if_stopped()
        self.say("tick", step, task, done, total, line)

    def refuse_if_stopped(self) -> None:
        held = latch.read(self.track.workspace)
        if held is not None:
            raise Stopped(
                f"Stopped: {held['reason']}",
                hint=f"The track stays where it is; a person lifts the stop with: {lifted_by(held)}",
            )

    def say(
        self, event: str, step: str, task: str = "", done: int = 0, total: int = 0, text: str = ""
    ) -> None:
        self._tell(
            {"event": event, "step": step, "task": task, "done": done, "total": total, "text": text}
        )


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
