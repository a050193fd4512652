"""Tracks for programs: `with ws.loop("t").step("EXECUTE", tasks=[...]) as step`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.kernel.errors import HoldfastError, Stopped, Usage
from holdfast.kernel.git_exclude import hide_new
from holdfast.kernel.streams import open_writer
from holdfast.loop import commands
from holdfast.loop.commands import StartRequest
from holdfast.loop.rules.checkpoint import checkpoint_of, current_step, status_of, step_named
from holdfast.loop.rules.model import EXECUTE, IN_PROGRESS, PASSED, TRACKS, LoopState
from holdfast.loop.rules.tasks import TrackTask, plain_tasks, remaining
from holdfast.loop.track import Track, find_track
from holdfast.offers import Offers


class Loop:
    """One track: its steps, and where it is."""

    def __init__(self, track: Track) -> None:
        self._track = track

    @property
    def state(self) -> LoopState:
        """The track as its file says it is now."""
        return self._track.read()

    def step(
        self, name: str, *, tasks: Sequence[str] | None = None, agent: str = "", again: bool = False
    ) -> LoopStep:
        """Return a step to enter with `with`: it begins, or continues after a crash.

        Without `tasks`, EXECUTE takes those of the track's plan.md. `again` begins a new attempt at a
        step that has passed.
        """
        return LoopStep(self._track, step_named(name), tasks, agent, again)

    def advance(self, *, business_sync: bool = False) -> str:
        """Go to the next step by the protocol's table, and return its name."""
        return current_step(commands.advance(self._track, business_sync=business_sync).state)


class LoopStep:
    """A step at work. An exception fails it; leaving it unfinished keeps it for the next process."""

    def __init__(
        self, track: Track, name: str, tasks: Sequence[str] | None, agent: str, again: bool
    ) -> None:
        self.name = name
        self._track = track
        self._agent = agent
        self._again = again
        self._tasks = None if tasks is None else _checked(tasks)

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The step's checkpoint, as the file says it is now."""
        return dict(checkpoint_of(self._track.read(), self.name))

    @property
    def status(self) -> str:
        """The step's status, also when another process set it."""
        return status_of(self._track.read(), self.name)

    def remaining(self) -> list[str]:
        """The tasks that are not done, in their order."""
        return [task["id"] for task in remaining(self._known(), self.checkpoint)]

    def done(self, task: str, *, commit: str = "", message: str = "") -> bool:
        """Record durably that a task is done. False when it was reported before."""
        result = commands.complete_task(
            self._track, task, self.name, commit=commit, message=message
        )
        return bool(result.outcome["records"] or result.outcome["queued"])

    def progress(
        self, *, notes: str = "", outputs: Sequence[str] = (), **fields: int | str
    ) -> None:
        """Record how far the step is: current_phase, total_phases, current_task, tasks_completed, and so on."""
        commands.report_progress(
            self._track, self.name, fields=fields, outputs=outputs, notes=notes
        )

    def passed(self, *, outputs: Sequence[str] = (), notes: str = "") -> None:
        """Record that the step passed, with the files that it wrote."""
        commands.pass_step(self._track, self.name, tasks=self._tasks, outputs=outputs, notes=notes)

    def failed(self, reason: str) -> None:
        """Record that the step failed."""
        commands.stop_step(self._track, "fail", reason, self.name)

    def blocked(self, reason: str) -> None:
        """Record that the step cannot continue; a person resolves that."""
        commands.stop_step(self._track, "block", reason, self.name)

    def __enter__(self) -> LoopStep:
        hide_new(self._track.workspace, [TRACKS.partition("/")[0]])
        has_passed = status_of(commands.read_state(self._track), self.name) == PASSED
        if has_passed and not self._again and not (self._tasks and self.remaining()):
            return self
        commands.start(
            self._track,
            StartRequest(
                step=self.name,
                tasks=self._tasks,
                agent=self._agent,
                reset=has_passed and self._again,
            ),
        )
        if self.status != IN_PROGRESS:
            raise HoldfastError(
                f"{self.name} cannot begin: {self.checkpoint.get('notes')}", kind="blocked"
            )
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, Stopped):
            # A stop, an interrupt and an exit are no failures of the work: it goes on later.
            self._fail_with(error)
        elif error is None and self._is_finished():
            self.passed()

    def _is_finished(self) -> bool:
        """Whether all tasks are done and the step has not ended."""
        if self.name != EXECUTE or self.status != IN_PROGRESS:
            return False
        return bool(self._known()) and not self.remaining()

    def _fail_with(self, error: Exception) -> None:
        """Record an exception as the step's failure. If that fails, a note on the exception says so."""
        try:
            if self.status == IN_PROGRESS:
                said = f": {error}" if str(error) else ""
                self.failed(f"{type(error).__name__}{said}")
        except HoldfastError as problem:
            error.add_note(f"holdfast could not record it: {problem.message}")

    def _known(self) -> list[TrackTask]:
        return self._track.plan() if self._tasks is None else self._tasks


def _checked(tasks: Sequence[str]) -> list[TrackTask]:
    if isinstance(tasks, str) or not all(isinstance(task, str) and task.strip() for task in tasks):
        raise Usage("The tasks of a step are a list of names.")
    if len(set(tasks)) < len(tasks):
        raise Usage("Two tasks of a step have the same name.", hint="Give each a name of its own.")
    return plain_tasks(tasks)


def loop(opened: Offers, track: str) -> Loop:
    """Return a track of `conductor/tracks`, or one that the journal knows elsewhere, to take its steps one by
    one."""
    place = find_track(opened.place, track)
    return Loop(Track(opened.place, open_writer(opened.place), place, actor=opened.actor))
