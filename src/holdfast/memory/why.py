"""Which sessions wrote a file, or a line of it: their requests, what the person ruled, and what was verified after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from holdfast.clients.conversation import SessionEvent
from holdfast.clients.discovery import Everywhere, SessionPlace, found_session
from holdfast.git.repository import GitError, locate
from holdfast.git.run import git
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import one_line
from holdfast.memory.consent import may_index_all
from holdfast.memory.index import Index, IndexedSession, use_index
from holdfast.memory.open import command_to_open
from holdfast.memory.update import Rules, update
from holdfast.observe.fold import observe
from holdfast.observe.outcome import ends_of, is_check, steps_of
from holdfast.session.edits import read_all

LARGEST_FILE = 4 << 20
MOST_NAMES, MOST_SESSIONS, MOST_READ = 20, 5, 40
MOST_RULINGS, MOST_CHECKS, LONGEST = 3, 3, 200
UNKNOWN = "not from a session that Holdfast knows"
UNCOMMITTED = "0" * 40
# What git says of a commit stands at the beginning of what it prints.
LONGEST_ANSWER = 400
# A client may note an edit so much later than git the commit of it, as clocks go.
SLACK = 2 * clock.MINUTE


class Origin(TypedDict):
    """The commit that a line is from, by git's account; `commit` is empty for a line that is not committed."""

    commit: str
    at: str
    author: str
    subject: str
    path: str


class Writer(TypedDict):
    """A session that wrote the file or the line. `how` says whether it edited it or only committed it, `rulings` are
    the person's, `checks` passed after its last edit of the file, `failing` were left failing."""

    session: str
    client: str
    day: str
    branch: str
    folder: str
    request: str
    how: str
    edits: int
    rulings: list[str]
    checks: list[str]
    failing: list[str]
    open: str


class Reasons(TypedDict):
    """The sessions, newest first; empty where Holdfast knows none. `line` is 0 for a whole file, `names` are those
    that the file had."""

    path: str
    line: int
    text: str
    origin: Origin | None
    names: list[str]
    writers: list[Writer]
    left: int
    is_busy: bool


@dataclass(frozen=True)
class WhyRequest:
    """A file, from the caller's folder, and a line of it; 0 is the whole file."""

    path: str
    folder: str
    line: int = 0


def split_place(text: str, folder: str) -> WhyRequest:
    """Return what `PATH[:LINE]` names; a file whose name ends in such a number is meant itself."""
    path, colon, number = text.rpartition(":")
    if not colon or not number.isascii() or not number.isdigit():
        return WhyRequest(text, folder)
    if os.path.lexists(os.path.join(folder, text)):
        return WhyRequest(text, folder)
    if len(number) > 9 or int(number) < 1:
        raise Usage(f"{number:.20} is no line.", hint="The first line is 1: holdfast why PATH:1")
    return WhyRequest(path, folder, int(number))


def why(request: WhyRequest, *, progress: Callable[[int, int], None] | None = None) -> Reasons:
    """Return the sessions that wrote a file or a line."""
    if not request.path or "\0" in request.path:
        raise Usage("There is no path.", hint="holdfast why PATH, or PATH:LINE")
    whole = os.path.realpath(os.path.join(request.folder, request.path))
    top = _top(os.path.dirname(whole))
    text, origin = "", None
    if request.line:
        text = _line_of(whole, request.line)
        origin = _blame(top, whole, request.line) if top else None
    names = _names(top, whole, origin) if top else []
    if not os.path.lexists(whole) and not names:
        raise NotFound(
            f"There is no file {request.path}, and git knows none.",
            hint="Give the path of a file that is or was in this repository.",
        )
    place = Everywhere(request.folder) if may_index_all() else SessionPlace(request.folder)
    updated, known = use_index(
        lambda index: (
            update(index, place, progress=progress),
            _sessions_with(index, whole, top, names),
        )
    )
    here = SessionPlace(request.folder)
    writers = _find_writers(known, request, text, origin, [whole, *names], here)
    clean = Redactor().text
    return {
        "path": request.path,
        "line": request.line,
        "text": clean(text),
        "origin": origin,
        "names": names,
        "writers": writers[:MOST_SESSIONS],
        "left": max(0, len(writers) - MOST_SESSIONS) + updated["left"],
        "is_busy": updated["is_busy"],
    }


# What git says


def _top(folder: str) -> str:
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        top = locate(folder).top
    except GitError:
        return ""
    return os.path.realpath(top) if top else ""


def _line_of(path: str, line: int) -> str:
    try:
        lines = read_plain(path, LARGEST_FILE).split(b"\n")
    except OSError as error:
        raise NotFound(f"{path} cannot be read: {error.strerror}.") from error
    if line > len(lines) - (lines[-1] == b""):
        raise NotFound(f"{path} has {len(lines) - (lines[-1] == b'')} lines.")
    return lines[line - 1].decode("utf-8", "replace")


def _blame(top: str, path: str, line: int) -> Origin | None:
    """Return the commit that a line is from, with the name that the file had in it."""
    name = os.path.relpath(path, top)
    arguments = ("blame", "--no-textconv", "--porcelain", f"-L{line},{line}", "--", name)
    try:
        printed = git(top, *arguments).decode("utf-8", "replace").split("\n")
    except HoldfastError:
        return None  # not tracked, or there is no commit yet
    said = dict(one.partition(" ")[::2] for one in printed[1:] if one[:1] != "\t")
    commit = printed[0].partition(" ")[0]
    seconds = said.get("author-time", "")
    return {
        "commit": "" if commit == UNCOMMITTED else commit,
        "at": clock.stamp(int(seconds) * 1000) if seconds.isdigit() else "",
        "author": said.get("author", ""),
        "subject": said.get("summary", ""),
        "path": said.get("filename", ""),
    }


def _names(top: str, path: str, origin: Origin | None) -> list[str]:
    """Return the names that a file has had, seen from the top, as git follows its renames."""
    name = os.path.relpath(path, top)
    walk = ("log", "--follow", "--name-only", "--format=", "-n", "200", "--", name)
    try:
        printed = git(top, *walk).decode("utf-8", "replace")
    except HoldfastError:
        printed = ""  # there is no commit yet
    first = [origin["path"]] if origin and origin["path"] else []
    found = dict.fromkeys([*first, name, *printed.split("\n")])
    if not os.path.lexists(path) and not printed.strip():
        return []
    return [name for name in found if name][:MOST_NAMES]


# Which sessions


def _sessions_with(
    index: Index, whole: str, top: str, names: Sequence[str]
) -> list[IndexedSession]:
    """Return the sessions that edited the file under any of its names, the newest first: in this work tree, or in
    another one of the same files."""
    paths = list(dict.fromkeys([whole, *(os.path.join(top, name) for name in names)]))
    tails = [name for name in names if name] or [os.path.basename(whole)]
    of_path = "SELECT session FROM file WHERE path = ?"
    of_tail = (
        "SELECT file.session FROM file JOIN session ON session.id = file.session "
        "WHERE file.path = session.cwd || '/' || ?"
    )
    asked = [(of_path, path) for path in paths] + [(of_tail, tail) for tail in tails if top]
    ids = ",".join({str(id) for sql, name in asked for (id,) in index.ask(sql, name)})
    return index.sessions(f"WHERE id IN ({ids}) ORDER BY ended DESC LIMIT {MOST_READ}")


def _find_writers(
    known: Sequence[IndexedSession],
    request: WhyRequest,
    text: str,
    origin: Origin | None,
    names: Sequence[str],
    here: SessionPlace,
) -> list[Writer]:
    rules, writers, committed = Rules(), [], []
    for one in known:
        redactor = rules.of(one["cwd"])
        client: Any = one["client"]
        found = found_session(client, one["session"], one["path"], one["modified"], one["cwd"])
        if redactor is None:
            continue
        try:
            events = read_all(found)
        except (HoldfastError, OSError):
            events = []
        edits = _edits_of(events, names, one["cwd"])
        if request.line:
            putting = [event for event in edits if _puts_in(event, text)]
            if origin is not None and origin["commit"]:
                putting = [event for event in putting if not _is_later(event, origin)]
            if putting:
                writers.append(_writer(one, events, putting, "edited", redactor, here))
                break
            if origin is not None and origin["commit"] and _committed(events, origin["commit"]):
                committed.append(_writer(one, events, edits, "committed", redactor, here))
        elif edits or not events:
            writers.append(_writer(one, events, edits, "edited", redactor, here))
    return writers or committed[:1]


def _edits_of(events: Iterable[SessionEvent], names: Sequence[str], cwd: str) -> list[SessionEvent]:
    """Return the edits of a file, under any of its names, without those that failed."""
    events = list(events)
    failed = {event.id for event in events if event.kind == "result" and event.failed}
    whole, *others = names
    folder, found = cwd, []
    for event in events:
        if event.kind == "place":
            folder = event.path or folder
        elif event.kind == "edit" and event.id not in failed:
            path = os.path.normpath(os.path.join(folder, event.path))
            if path == whole or any(path.endswith(f"/{name}") for name in others):
                found.append(event)
    return found


def _puts_in(event: SessionEvent, line: str) -> bool:
    """Return whether an edit put a line in, by what it was without the blanks around it."""
    wanted = line.strip()
    if not wanted:
        return False
    for one in event.exact:
        new = map(str.strip, one.get("new", "").split("\n"))
        old = map(str.strip, one.get("old", "").split("\n"))
        if wanted in new and wanted not in old:
            return True
    return False


def _is_later(event: SessionEvent, origin: Origin) -> bool:
    at, committed = clock.instant_of(event.at), clock.instant_of(origin["at"])
    return at is not None and committed is not None and at > committed + SLACK


def _committed(events: Iterable[SessionEvent], commit: str) -> bool:
    """Return whether git told a session that it made a commit."""
    return any(
        event.kind == "result" and f" {commit[:7]}" in event.text[:LONGEST_ANSWER]
        for event in events
    )


def _writer(
    one: IndexedSession,
    events: Sequence[SessionEvent],
    edits: Sequence[SessionEvent],
    how: str,
    redactor: Redactor,
    here: SessionPlace,
) -> Writer:
    seen: Any = observe(None, events)
    checks = _checks_after(events, edits[-1] if edits else None)

    def clean(text: str) -> str:
        return one_line(redactor.text(text), LONGEST)

    return {
        "session": one["session"],
        "client": one["client"],
        "day": (one["ended"] or one["began"])[:10],
        "branch": one["branch"],
        "folder": one["cwd"],
        "request": _request_before(events, edits, redactor) or one["request"],
        "how": how,
        "edits": len(edits),
        "rulings": [clean(said["text"]) for said in seen["rulings"][-MOST_RULINGS:]],
        "checks": [clean(line) for line in checks[-MOST_CHECKS:]],
        "failing": [clean(failure["text"]) for failure in seen["failures"][-MOST_CHECKS:]],
        "open": command_to_open(one, here),
    }


def _request_before(
    events: Sequence[SessionEvent], edits: Sequence[SessionEvent], redactor: Redactor
) -> str:
    """Return what the person had asked for last before the first of the edits."""
    said = ""
    for event in events:
        if edits and event is edits[0]:
            break
        if event.kind == "prompt" and len(event.text.strip()) > len("continue"):
            said = event.text
    return one_line(redactor.text(said), LONGEST) if edits else ""


def _checks_after(events: Sequence[SessionEvent], last: SessionEvent | None) -> list[str]:
    """Return the checks that passed after an edit and did not fail since."""
    place = next((at for at, event in enumerate(events) if event is last), len(events))
    ended = {event.id: event for event in events[place:] if event.kind == "result"}
    passed: dict[str, None] = {}
    for event in events[place:]:
        result = ended.get(event.id) if event.kind == "run" else None
        if result is None or result.failed is None:
            continue
        for step, has_failed in ends_of(steps_of(event.text), result.text, result.failed):
            passed.pop(step, None)
            if has_failed is False and is_check([step]):
                passed[step] = None
    return list(passed)
