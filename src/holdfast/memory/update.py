"""Bring the index up to what the clients have written: the newest sessions first, each from where it was read to."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, TypedDict

import apsw

from holdfast import registry
from holdfast.clients import kept
from holdfast.clients.conversation import lets_go_on, redact
from holdfast.clients.discovery import Everywhere, SessionPlace, list_since
from holdfast.clients.lines import Unread, read_piece, size_of
from holdfast.clients.transcripts import read_new
from holdfast.kernel import canonical_json, config
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import one_line
from holdfast.kernel.workspace import discover
from holdfast.memory.documents import Piece, pieces_of
from holdfast.memory.exclude import is_excluded
from holdfast.memory.forget import is_forgotten
from holdfast.memory.index import only_indexer
from holdfast.session.edits import read_subagents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from holdfast.clients.conversation import SessionEvent
    from holdfast.clients.discovery import FoundSession
    from holdfast.memory.index import Index, IndexedSession
    from holdfast.parts import Searched

# All files are looked at again after so many seconds; in between, only what is newer than the newest one.
COMPLETE_EVERY = 600
# A first look at very many sessions answers with what it has read by then; the next one goes on.
LONGEST_SECONDS = 45.0
# Sessions that are written together.
AT_ONCE, AT_ONCE_SECONDS = 32, 2.0
LONGEST_REQUEST = 300
SHORTEST_REQUEST = 12
HEAD, TAIL = 1 << 16, 1 << 15


class Updated(TypedDict):
    """What an update did: sessions that were read, those that are left for later, and lines that no reader knew.
    `waits_for`: another process is at it."""

    read: int
    left: int
    skipped: int
    is_busy: bool


class Rules:
    """The redaction of each project's sessions, by its own settings, and whether it is left out."""

    def __init__(self) -> None:
        self._known: dict[str, Redactor | None] = {}

    def of(self, cwd: str) -> Redactor | None:
        """Return what takes secrets out of a session that worked in a folder; None where it is left out."""
        if cwd not in self._known:
            self._known[cwd] = self._find(cwd)
        return self._known[cwd]

    def _find(self, cwd: str) -> Redactor | None:
        settings: dict[str, Any] = {}
        try:
            if os.path.isabs(cwd) and os.path.isdir(cwd):
                settings = config.load(discover(cwd))
        except (HoldfastError, OSError, ValueError):
            settings = {}
        if is_excluded(cwd, settings):
            return None
        return Redactor(rules=settings.get("redact.rules"))


def update(
    index: Index,
    place: SessionPlace,
    *,
    progress: Callable[[int, int], None] | None = None,
    seconds: float = LONGEST_SECONDS,
) -> Updated:
    """Read what is new of the sessions of a place."""
    with only_indexer() as is_ours:
        if not is_ours and not index.is_private:
            return {"read": 0, "left": 0, "skipped": 0, "is_busy": True}
        return _update(index, place, progress, time.monotonic() + seconds)


def _update(
    index: Index, place: SessionPlace, progress: Callable[[int, int], None] | None, end: float
) -> Updated:
    is_everywhere = isinstance(place, Everywhere)
    looked = canonical_json.loads(index.meta("complete") or "{}") if is_everywhere else {}
    began, newest = time.time(), 0
    is_due = not 0 <= began - float(looked.get("at", 0)) < COMPLETE_EVERY
    known = {
        (client, session): (modified, size)
        for client, session, modified, size in index.ask(
            "SELECT client, session, modified, size FROM session"
        )
    }
    changed = []
    for found in list_since(place, 0 if is_due else int(looked.get("newest", 0))):
        newest = max(newest, found["modified"])
        if known.get((found["client"], found["session"])) != (found["modified"], _size(found)):
            changed.append(found)
    if is_due:
        # The index was lost, or is of another home: what the clients have deleted is kept.
        changed += [
            one for one in _list_kept(place) if (one["client"], one["session"]) not in known
        ]
    skipped, done, rules = 0, 0, Rules()
    while done < len(changed) and (done == 0 or time.monotonic() < end):
        batch_end = time.monotonic() + AT_ONCE_SECONDS
        with index.writing():
            for found in changed[done : done + AT_ONCE]:
                skipped += _take(index, found, rules)
                done += 1
                if progress is not None:
                    progress(done, len(changed))
                if time.monotonic() > batch_end:
                    break
    _take_streams(index, place.folder if isinstance(place, Everywhere) else place.path, rules, end)
    if is_due:
        drop_excluded(
            index, [cwd for (cwd,) in index.ask("SELECT DISTINCT cwd FROM session")], rules
        )
    if is_everywhere and is_due and done == len(changed):
        complete = {"at": began, "newest": newest}
        with index.writing():
            index.keep_meta("complete", canonical_json.dumps(complete))
    return {"read": done, "left": len(changed) - done, "skipped": skipped, "is_busy": False}


def _take_streams(index: Index, folder: str, rules: Rules, end: float) -> None:
    """Read what changed of the streams that features let `find` search, in the workspace of a folder. Their sessions
    have no path."""
    registry.all_features()
    try:
        workspace = discover(folder)
        redactor = rules.of(workspace.root)
        if redactor is None or not workspace.exists():
            return
        sql = "SELECT session, modified FROM session WHERE path = '' AND cwd = ?"
        known = dict(index.ask(sql, workspace.root))
        for list_texts in registry.offers("texts"):
            for one in list_texts(workspace):
                if known.get(one.stream) != one.version and time.monotonic() < end:
                    _take_stream(index, workspace.root, one, redactor)
        workspace.close()
    except HoldfastError:  # the journal is away, or broken: `status` says so
        return


def _take_stream(index: Index, root: str, one: Searched, redactor: Redactor) -> None:
    pieces = [Piece(what, "", redactor.text(text), True) for what, text in one.read()]
    telling = sorted(pieces, key=lambda each: each.what != "asked")[:1]
    values = {
        "path": "",
        "cwd": root,
        "request": one_line(telling[0].text, LONGEST_REQUEST) if telling else "",
        "began": one.at,
        "ended": one.at,
        "modified": one.version,
        **dict.fromkeys(("edits", "size", "skipped"), 0),
        **dict.fromkeys(("branch", "progress", "problem"), ""),
    }
    with index.writing():
        index.write_documents(index.write_session(one.title, one.stream, values), pieces)


def _list_kept(place: SessionPlace) -> Iterator[FoundSession]:
    """The sessions of a place that only Holdfast still has."""
    if not isinstance(place, Everywhere):
        yield from kept.sessions_kept_in(place.path)
        return
    for path in kept.list_all(place.folder):
        header = kept.read_header(path)
        if header is not None and kept.is_gone(header):
            yield kept.as_found(header)


def drop_excluded(index: Index, folders: Iterable[str], rules: Rules | None = None) -> list[str]:
    """Forget the sessions of folders that are left out by now. Return these folders."""
    rules = rules or Rules()
    excluded = [cwd for cwd in folders if rules.of(cwd) is None]
    for cwd in excluded:
        with index.writing():
            for (id,) in index.ask("SELECT id FROM session WHERE cwd = ?", cwd):
                index.remove(id)
    return excluded


def _size(found: FoundSession) -> int:
    return 0 if found["client"] == "opencode" else size_of(found["path"])


def _take(index: Index, found: FoundSession, rules: Rules) -> int:
    """Read what is new of one session into the index; how many of its lines no reader knew."""
    rows = index.sessions("WHERE client = ? AND session = ?", found["client"], found["session"])
    row: IndexedSession | None = rows[0] if rows else None
    redactor = rules.of(found["cwd"])
    if redactor is None or is_forgotten(found["client"], found["session"]):
        if row is not None:
            index.remove(row["id"])
        return 0
    values: dict[str, Any] = {
        "path": found["path"],
        "cwd": redactor.text(found["cwd"]),
        "modified": found["modified"],
        "size": _size(found),
    }
    progress = index.progress(row["id"]) if row is not None else None
    try:
        new = read_new(found, progress, whole=True)
    except (Unread, apsw.Error) as problem:
        known = {"problem": str(problem), "request": row["request"] if row else ""}
        index.write_session(found["client"], found["session"], {**values, **known})
        return 0
    events = new["events"]
    redact(events, redactor.text)
    is_same = row is not None and progress is not None and not new["restarted"]
    before = index.pieces_of(row["id"]) if row is not None and is_same else []
    state = new["progress"]["state"]
    skipped = state["unknown"]
    times = [event.at for event in events if event.at]
    old = row if row is not None and is_same else None
    edits = list(_edits_in(events, found["cwd"]))
    values |= {
        "branch": redactor.text(branch_of(found)) or (old["branch"] if old else ""),
        "request": (old["request"] if old else "") or _request_in(events),
        "began": (old["began"] if old else "") or (times[0] if times else ""),
        "ended": max([*times[-50:], old["ended"] if old else ""]),
        "edits": len(edits) + (old["edits"] if old else 0),
        "skipped": skipped,
        # Without what the reader remembers of calls under way: it is not redacted.
        "progress": canonical_json.dumps(
            {**new["progress"], "state": {**state, "pending": {}, "seen": []}}
        ),
        "problem": "",
    }
    id = index.write_session(found["client"], found["session"], values)
    if old is None:
        index.ask("DELETE FROM file WHERE session = ?", id)
    index.add_files(id, edits)
    index.note_files(id, _edits_of_subagents(found, redactor))
    index.write_documents(id, [*before, *pieces_of(events)])
    return int(skipped)


def _request_in(events: list[SessionEvent]) -> str:
    """The first thing that the person asked for, and that is more than a word to go on."""
    asked = [one_line(event.text, LONGEST_REQUEST) for event in events if event.kind == "prompt"]
    telling = (
        text
        for text in asked
        if len(text) >= SHORTEST_REQUEST and not text.startswith("/") and not lets_go_on(text)
    )
    return next(telling, asked[0] if asked else "")


def _edits_in(events: list[SessionEvent], cwd: str) -> Iterator[tuple[str, str]]:
    """The files that were edited, by their whole paths, each with its time. Edits that failed are none."""
    ended = {
        event.id: event.failed or bool(event.end == "refused")
        for event in events
        if event.kind == "result"
    }
    folder = cwd
    for event in events:
        if event.kind == "place" and event.path:
            folder = event.path
        elif event.kind == "edit" and event.path and not ended.get(event.id):
            yield os.path.normpath(os.path.join(folder, event.path)), event.at


def _edits_of_subagents(found: FoundSession, redactor: Redactor) -> Iterator[tuple[str, str]]:
    try:
        parts = read_subagents(found)
    except Unread:
        return
    for events in parts:
        redact(events, redactor.text)
        yield from _edits_in(events, found["cwd"])


def branch_of(found: FoundSession) -> str:
    """The git branch that a client noted, the last one; empty where it notes none."""
    if found["client"] == "opencode":
        return ""
    if not os.path.exists(found["path"]):
        path = kept.find_file(found)
        header = kept.read_header(path) if path else None
        return header["branch"] if header else ""
    size = size_of(found["path"])
    pattern = rb'"(?:gitBranch|branch)": ?"([^"\\]{1,200})"'
    for start, length in ((max(0, size - TAIL), TAIL), (0, HEAD)):
        named = re.findall(pattern, read_piece(found["path"], length, start))
        if named:
            return str(named[-1].decode("utf-8", "replace"))
    return ""
