"""What happened when in a session: its requests, edits, failures and finished tasks, from its transcript.

An observation keeps what matters for the next session and forgets when most of it happened. A course
keeps the times and a few words each, for a chart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from holdfast.clients.lines import Unread
from holdfast.clients.transcripts import read_new
from holdfast.kernel import clock
from holdfast.observe.outcome import ends_of, steps_of

if TYPE_CHECKING:
    from holdfast.clients.conversation import SessionEvent
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.transcripts import ReadProgress

MomentKind = Literal["request", "edit", "failure", "task"]
KINDS: tuple[MomentKind, ...] = ("request", "edit", "failure", "task")
# The newest are kept; a chart of more would show a block.
MOST_MOMENTS = 5_000
LONGEST_WORDS = 160
# Calls without an end: a client that was killed leaves some.
MOST_OPEN = 200


class Moment(NamedTuple):
    """One thing that happened. `text` is the request, the file, the command line or the task."""

    kind: MomentKind
    at: int
    text: str


class SessionCourse:
    """The course of one session. Each `read` takes in what was written since the last one."""

    def __init__(self, found: FoundSession, clean: Callable[[str], str]) -> None:
        self.found = found
        self.moments: list[Moment] = []
        self._clean = clean
        self._progress: ReadProgress | None = None
        self._forget()

    def read(self) -> bool:
        """Whether there was something new. A transcript that cannot be read leaves what was known."""
        try:
            new = read_new(self.found, self._progress, whole=True)
        except Unread:
            return False
        if new["restarted"]:
            self._forget()
        self._progress = new["progress"]
        self._take_in(new["events"])
        self.moments = self.moments[-MOST_MOMENTS:]
        return bool(new["events"]) or new["restarted"]

    def _forget(self) -> None:
        self.moments = []
        self._at = 0
        # A patch changes several files in one call.
        self._edits: dict[str, list[Moment]] = {}
        self._commands: dict[str, str] = {}
        self._tasks: dict[str, tuple[str, str]] = {}

    def _take_in(self, events: Iterable[SessionEvent]) -> None:
        for event in events:
            self._at = _instant(event.at) or self._at
            if event.kind == "prompt":
                self._add("request", event.text)
            elif event.kind == "edit":
                self._edits.setdefault(event.id, []).append(self._add("edit", event.path))
                _bound(self._edits)
            elif event.kind == "run":
                self._commands[event.id] = event.text
                _bound(self._commands)
            elif event.kind == "result":
                self._end(event)
            elif event.kind in ("tasks", "task"):
                self._change_tasks(event)

    def _add(self, kind: MomentKind, text: str) -> Moment:
        words = self._clean(" ".join(text[: 4 * LONGEST_WORDS].split()))
        moment = Moment(kind, self._at, words[:LONGEST_WORDS])
        if self._at:
            self.moments.append(moment)
        return moment

    def _end(self, event: SessionEvent) -> None:
        for edit in self._edits.pop(event.id, []) if event.failed is not False else ():
            if edit in self.moments:
                self.moments.remove(edit)
        line = self._commands.get(event.id)
        if line is None:
            return
        if any(failed for _, failed in ends_of(steps_of(line), event.text, event.failed)):
            self._add("failure", line)
        if event.failed is not None:
            del self._commands[event.id]

    def _change_tasks(self, event: SessionEvent) -> None:
        """A list replaces all tasks, a single task changes what it names."""
        before = self._tasks
        if event.kind == "tasks":
            self._tasks = {}
        for task in event.tasks:
            key = task["key"]
            text, state = before.get(key, ("", "open"))
            self._tasks[key] = (task["text"] or text, task["state"] or state)
            # A new list may number its tasks anew: the same text that was done is not done again.
            was_done = state == "done" and text == self._tasks[key][0]
            if self._tasks[key][1] == "done" and not was_done:
                self._add("task", self._tasks[key][0])


def _bound(table: dict[str, Any]) -> None:
    while len(table) > MOST_OPEN:
        del table[next(iter(table))]


def _instant(at: str) -> int:
    try:
        return clock.parse(at) if at else 0
    except ValueError:
        return 0
