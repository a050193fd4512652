"""Read what any client wrote down of a session, and describe the session in a few words."""

from __future__ import annotations

from itertools import chain

from holdfast.clients import conversation
from holdfast.clients.lines import NewLines, Unread, size_of
from holdfast.clients.liveness import liveness
from holdfast.clients.table import capability, part
from holdfast.kernel.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypedDict

    from holdfast.clients.conversation import ReaderState, SessionEvent, Transcript
    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.liveness import ClientProcess, Liveness

    class ReadProgress(TypedDict):
        """How far a session was read. Plain JSON, to be kept for the next time."""

        mark: Any
        state: ReaderState

    class NewEvents(TypedDict):
        """What happened since. `restarted`: the transcript was replaced, and these are all events."""

        events: list[SessionEvent]
        progress: ReadProgress
        restarted: bool

    class Description(TypedDict):
        """One line of a list of sessions. `age` is in milliseconds; `problem` says why a session
        could not be read, and is empty otherwise."""

        client: str
        session: str
        path: str
        cwd: str
        age: int
        request: str
        edits: int
        open_tasks: list[str]
        alive: Liveness
        problem: str


LONGEST_REQUEST = 200


def read_new(
    found: FoundSession, progress: ReadProgress | None = None, *, whole: bool = False
) -> NewEvents:
    """What happened in a session since `progress`; `Unread` when its transcript cannot be read and was not kept.

    The beginning of a long transcript is only skimmed, unless the `whole` is wanted.
    """
    try:
        new = _read_transcript(found, progress, whole=whole)
    except Unread:
        events = _read_kept(found, whole=whole) if progress is None else None
        if events is None:
            raise
        state = conversation.new_state()
        return {"events": events, "progress": {"mark": None, "state": state}, "restarted": False}
    if not new["events"] and progress is None and capability(found["client"], "store") is not None:
        new["events"] = _read_kept(found, whole=whole) or []
    return new


def _read_kept(found: FoundSession, *, whole: bool) -> list[SessionEvent] | None:
    from holdfast.clients.kept import read_kept

    return read_kept(found, whole=whole)


def _read_transcript(
    found: FoundSession, progress: ReadProgress | None, *, whole: bool
) -> NewEvents:
    mark = progress["mark"] if progress else None
    state = progress["state"] if progress else conversation.new_state()
    events: list[SessionEvent] = []
    restarted = False
    path = found["path"]
    if capability(found["client"], "store") is not None:
        stored = part(found["client"], "transcript")
        mark = stored.read(path, found["session"], mark, state, events)
    else:
        lines = NewLines(path, mark)
        new = iter(lines)
        first = next(new, None)
        restarted = lines.restarted
        if restarted:
            state = conversation.new_state()
        if first is not None:
            size = size_of(path) - (mark["offset"] if mark and not restarted else 0)
            reader: Transcript = part(found["client"], "transcript")
            read = conversation.read(reader, chain((first,), new), state, size=0 if whole else size)
            events.extend(read)
        mark = lines.mark
    return {"events": events, "progress": {"mark": mark, "state": state}, "restarted": restarted}


def describe(
    found: FoundSession,
    running: Sequence[ClientProcess] | None,
    clean: Callable[[str], str],
    *,
    now: int,
) -> Description:
    """A session as a list shows it, redacted by `clean`. `running` is what `liveness.running_clients` gave."""
    problem, events = "", []
    try:
        events = read_new(found)["events"]
    except Unread as error:
        problem = str(error)
    return {
        "client": found["client"],
        "session": found["session"],
        "path": found["path"],
        "cwd": found["cwd"],
        "age": max(0, now - found["modified"]),
        "request": _request_under_way(events, clean),
        "edits": _count_edits(events),
        "open_tasks": [
            clean(text) for text, state in tasks_in(events) if state in ("open", "active")
        ],
        "alive": liveness(found, running, now=now),
        "problem": problem,
    }


def _request_under_way(events: Iterable[SessionEvent], clean: Callable[[str], str]) -> str:
    asked = [event.text for event in events if event.kind == "prompt"]
    text = clean(conversation.request_under_way(asked))
    # Enough for the line, however long the request is.
    return one_line(text[: 4 * LONGEST_REQUEST], LONGEST_REQUEST)


def _count_edits(events: Sequence[SessionEvent]) -> int:
    """How many edits there were, without those that failed or that the person refused."""
    ends = {event.id: event.failed for event in events if event.kind == "result" and event.id}
    return sum(event.kind == "edit" and ends.get(event.id, False) is False for event in events)


def tasks_in(events: Iterable[SessionEvent]) -> list[tuple[str, str]]:
    """Text and state of each task of the client's list: a list replaces all, one task changes what it
    names."""
    tasks: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.kind == "tasks":
            tasks = {}
        if event.kind in ("tasks", "task"):
            for task in event.tasks:
                text, state = tasks.get(task["key"], ("", "open"))
                tasks[task["key"]] = (task["text"] or text, task["state"] or state)
    return [(text, state) for text, state in tasks.values() if text]
