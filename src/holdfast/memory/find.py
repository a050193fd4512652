"""Find the sessions that a question is about. Every face calls `find`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

from holdfast.clients.discovery import Everywhere, SessionPlace
from holdfast.clients.table import own_id
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.memory.consent import may_index_all
from holdfast.memory.index import Index, IndexedSession, use_index
from holdfast.memory.open import command_to_open
from holdfast.memory.search import Line, Question, choose_lines, rank
from holdfast.memory.tokens import read_question
from holdfast.memory.update import LONGEST_SECONDS, drop_excluded, update

FileState = Literal["unchanged", "changed", "gone"]

MOST_FILES = 3
# A file may be written so much later than the client notes the edit.
SLACK = 5_000


class FileSince(TypedDict):
    """A file that a session edited, and what became of it since."""

    path: str
    edits: int
    state: FileState


class Hit(TypedDict):
    """A session that fits. `open` is the command that prints the text to continue it from."""

    session: str
    client: str
    day: str
    branch: str
    folder: str
    request: str
    score: float
    lines: list[Line]
    files: list[FileSince]
    is_kept: bool
    transcript: str
    open: str


class Finding(TypedDict):
    """The hits, best first, and what they were looked for among. `left` sessions are not indexed yet, `skipped`
    lines no reader knew. `is_here`: only the sessions of this repository were looked at."""

    hits: list[Hit]
    sessions: int
    left: int
    skipped: int
    is_busy: bool
    is_here: bool
    is_private: bool


@dataclass(frozen=True)
class FindRequest:
    """What to look for, and among which sessions.

    Args:
        question: words, in any order; empty lists the newest sessions of a file.
        folder: where the caller is.
        client: only this client's sessions.
        since: only sessions with an event at this instant or later.
        file: only sessions that edited this file.
        is_here: only sessions of the repository of `folder`.
        is_all: the sessions of all projects; the caller agrees that their texts go into one index.
        limit: at most so many hits.
    """

    question: str
    folder: str
    client: str = ""
    since: int = 0
    file: str = ""
    is_here: bool = False
    is_all: bool = False
    limit: int = 10


def find(
    request: FindRequest,
    *,
    progress: Callable[[int, int], None] | None = None,
    seconds: float = LONGEST_SECONDS,
) -> Finding:
    """Bring the index up to date, for at most so many seconds, and return the sessions that fit best."""
    words = read_question(request.question)
    if request.question.strip() and not words:
        raise Usage(
            "The question has no word to look for.",
            hint="Words and numbers are found, in any order; signs and regular expressions are not.",
        )
    if not words and not request.file:
        raise Usage(
            "There is nothing to look for.",
            hint='holdfast find "why did we drop the retry"; --file PATH lists the sessions that edited a file',
        )
    is_here = request.is_here or not (request.is_all or may_index_all())
    return use_index(lambda index: _find(index, request, words, progress, seconds, is_here=is_here))


def _find(
    index: Index,
    request: FindRequest,
    words: Sequence[str],
    progress: Callable[[int, int], None] | None,
    seconds: float,
    *,
    is_here: bool,
) -> Finding:
    here = SessionPlace(request.folder)
    place = here if is_here else Everywhere(request.folder)
    updated = update(index, place, progress=progress, seconds=seconds)
    among = _choose_among(index, request, here if is_here else None)
    if among is not None and not among:
        scored: list[tuple[int, float]] = []
    elif words:
        question = Question(index, words)
        scored = rank(question, among, request.limit)
    else:
        scored = [(id, 0.0) for id in among or ()][: request.limit]
    known = {
        one["id"]: one
        for one in index.sessions(f"WHERE id IN ({','.join(str(id) for id, _ in scored)})")
    }
    excluded = drop_excluded(index, {one["cwd"] for one in known.values()})
    hits = [
        _hit(index, known[id], score, choose_lines(question, id) if words else [], here)
        for id, score in scored
        if id in known and known[id]["cwd"] not in excluded
    ]
    return {
        "hits": hits,
        "sessions": index.ask("SELECT count(*) FROM session")[0][0]
        if among is None
        else len(among),
        "left": updated["left"],
        "skipped": updated["skipped"],
        "is_busy": updated["is_busy"],
        "is_here": is_here,
        "is_private": index.is_private,
    }


def _choose_among(
    index: Index, request: FindRequest, here: SessionPlace | None
) -> list[int] | None:
    """The numbers of the sessions that may be hits, the newest first; None for all."""
    own = own_id()
    where, values = ["1"], []
    if request.client:
        where.append("client = ?")
        values.append(request.client)
    if request.since:
        where.append("ended >= ?")
        values.append(clock.stamp(request.since))
    if own:
        where.append("session != ?")
        values.append(own)
    if request.file:
        where.append("id IN (SELECT session FROM file WHERE path = ? OR path LIKE ? ESCAPE '~')")
        whole = os.path.normpath(os.path.join(request.folder, request.file))
        tail = (
            request.file.removeprefix("./").replace("~", "~~").replace("%", "~%").replace("_", "~_")
        )
        values += [whole, f"%/{tail}"]
    if len(where) == 1 and here is None:
        return None
    rows = index.ask(
        f"SELECT id, cwd FROM session WHERE {' AND '.join(where)} ORDER BY ended DESC", *values
    )
    return [id for id, cwd in rows if here is None or here.holds(cwd)]


def _hit(
    index: Index, known: IndexedSession, score: float, lines: list[Line], here: SessionPlace
) -> Hit:
    return {
        "session": known["session"],
        "client": known["client"],
        "day": (known["ended"] or known["began"])[:10],
        "branch": known["branch"],
        "folder": known["cwd"],
        "request": known["request"],
        "score": round(score, 3),
        "lines": lines,
        "files": _files_since(index, known, lines),
        "is_kept": bool(known["path"]) and not os.path.exists(known["path"]),
        "transcript": known["path"],
        "open": command_to_open(known, here),
    }


def _files_since(index: Index, known: IndexedSession, lines: list[Line]) -> list[FileSince]:
    """The files that a hit is about, first those of its lines, and what became of each."""
    shown = {one["path"] for one in lines if one["path"]}
    files = index.files(known["id"])
    files.sort(key=lambda one: not any(one[0].endswith(path) for path in shown))
    folder = f"{known['cwd'].rstrip('/')}/"
    return [
        {"path": path.removeprefix(folder), "edits": edits, "state": _state_of(path, at)}
        for path, edits, at in files[:MOST_FILES]
    ]


def _state_of(path: str, at: str) -> FileState:
    try:
        written = os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return "gone"
    edited = clock.instant_of(at)
    return "unchanged" if edited is not None and written <= edited + SLACK else "changed"
