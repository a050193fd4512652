"""Recorded sessions, read with the product's transcript readers, and the places where they are cut."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.clients.conversation import TOOL_CALLS, SessionEvent, decode, text_in
from holdfast.clients.discovery import session_at
from holdfast.clients.lines import Unread
from holdfast.clients.transcripts import read_new
from holdfast.kernel.canonical_json import table_of, text_of

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession

FEWEST_CALLS_AHEAD = 10
FEWEST_CALLS = 40
FEWEST_EVENTS_BEFORE = 30
MID_TURN_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)
ENDINGS = (".jsonl", ".json", ".db")

Kind = Literal["compaction", "mid-turn"]


@dataclass
class Recording:
    """One session: what happened, and whose it is."""

    name: str
    client: str
    events: list[SessionEvent]
    # The client's own summaries, whole: the readers shorten them.
    summaries: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        return next((event.path for event in self.events if event.kind == "place"), "")

    @property
    def calls(self) -> list[int]:
        """The places of the tool calls among the events."""
        return [number for number, event in enumerate(self.events) if is_call(event)]


class Cut(NamedTuple):
    """A place in a recording; the events before it are known, those from it on are not."""

    kind: Kind
    place: int


def recordings_in(folder: str, client: str = "") -> Iterator[Recording]:
    """The sessions of the transcripts in a folder and below; `.gz` is unpacked on the way."""
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.removesuffix(".gz").endswith(ENDINGS):
                recording = _recording_at(os.path.join(root, name))
                if recording and client in ("", recording.client):
                    yield recording


def _recording_at(path: str) -> Recording | None:
    name = os.path.basename(path).removesuffix(".gz")
    if not path.endswith(".gz"):
        found = session_at(path)
        return _read(found, name) if found else None
    with tempfile.TemporaryDirectory() as folder:
        unpacked = os.path.join(folder, name)
        try:
            with gzip.open(path) as packed, open(unpacked, "wb") as file:
                file.write(packed.read())
        except (OSError, EOFError):
            return None
        found = session_at(unpacked)
        return _read(found, name) if found else None


def _read(found: FoundSession, name: str) -> Recording | None:
    try:
        events = read_new(found)["events"]
    except Unread:
        return None
    return Recording(name, found["client"], events, list(_summaries_in(found["path"])))


def _summaries_in(path: str) -> Iterator[str]:
    """The summaries that Claude Code and Codex wrote at their compactions, in order."""
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        for line in file:
            if b'"isCompactSummary"' not in line and b'"compacted"' not in line:
                continue
            for record in decode(line):
                if record.get("isCompactSummary"):
                    content = table_of(record.get("message")).get("content")
                    yield text_in(content, len(line))
                elif record.get("type") == "compacted":
                    yield text_of(table_of(record.get("payload")).get("message"))


# Cuts


def is_call(event: SessionEvent) -> bool:
    return event.kind in TOOL_CALLS and not event.again


def cuts_of(recording: Recording) -> list[Cut]:
    """Every compaction, and five places in the middle of turns."""
    events, calls = recording.events, recording.calls
    if len(calls) < FEWEST_CALLS:
        return []
    cuts = [Cut("compaction", n) for n, event in enumerate(events) if event.kind == "compact"]
    cuts += [Cut("mid-turn", calls[int(len(calls) * share)]) for share in MID_TURN_SHARES]
    return [cut for cut in cuts if _is_fair(cut, calls)]


def _is_fair(cut: Cut, calls: Sequence[int]) -> bool:
    ahead = sum(1 for place in calls if place >= cut.place)
    return ahead >= FEWEST_CALLS_AHEAD and cut.place >= FEWEST_EVENTS_BEFORE


def before(recording: Recording, cut: Cut) -> list[SessionEvent]:
    """What was known at the cut, without the client's own summaries."""
    return [event for event in recording.events[: cut.place] if event.kind != "summary"]
