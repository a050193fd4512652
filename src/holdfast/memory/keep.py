"""Keep sessions before their clients delete the transcripts: redacted, compressed, within a limit of age and size."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypedDict

import apsw

from holdfast.clients import kept
from holdfast.clients.conversation import COUNTED_CALL, redact
from holdfast.clients.discovery import finder_of, list_since
from holdfast.clients.lines import Unread, size_of
from holdfast.clients.transcripts import read_new
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.memory.forget import is_forgotten
from holdfast.memory.update import Rules, branch_of
from holdfast.session.edits import read_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.clients.conversation import Replacement, SessionEvent
    from holdfast.clients.discovery import FoundSession, SessionPlace
    from holdfast.kernel.redact import Redactor

KEEP_DAYS, KEEP_MEGABYTES = "memory.keep_days", "memory.keep_megabytes"
# A session that was written to within this time is read again anyway.
SETTLED = 10 * clock.MINUTE
LONGEST_SECONDS = 300.0


class KeptNow(TypedDict):
    """What a run kept: sessions, those left for the next run, and files that a limit removed."""

    kept: int
    left: int
    removed: int


def keep_sessions(place: SessionPlace, settings: dict[str, Any], *, now: int) -> KeptNow:
    """Keep the sessions of a place that changed since, and remove what is over the limits."""
    days = int(settings[KEEP_DAYS])
    if days <= 0:
        return {"kept": 0, "left": 0, "removed": 0}
    end, rules = time.monotonic() + LONGEST_SECONDS, Rules()
    oldest = now - days * clock.DAY
    folders: dict[str, list[str]] = {}
    waiting = []
    for found in list_since(place, oldest):
        if now - found["modified"] < SETTLED or rules.of(found["cwd"]) is None:
            continue
        if found["cwd"] not in folders:
            folders[found["cwd"]] = kept.folders_of(found["cwd"])
        path = os.path.join(
            folders[found["cwd"]][0], kept.name_of(found["client"], found["session"])
        )
        header = kept.read_header(path)
        is_same = header is not None and header["modified"] == found["modified"]
        if not is_same and not is_forgotten(found["client"], found["session"]):
            waiting.append((path, found))
    done = 0
    for path, found in waiting:
        if done and time.monotonic() > end:
            break
        redactor = rules.of(found["cwd"])
        if redactor is not None:
            keep_session(path, found, redactor)
        done += 1
    removed = remove_old(
        {folder for each in folders.values() for folder in each},
        oldest,
        int(settings[KEEP_MEGABYTES]) * 1_000_000,
    )
    return {"kept": done, "left": len(waiting) - done, "removed": removed}


def keep_session(path: str, found: FoundSession, redactor: Redactor) -> None:
    """Keep one session, where it can be read."""
    try:
        events, seen = read_all(found), read_new(found)["events"]
    except (Unread, HoldfastError, apsw.Error, OSError):
        return
    for one in (events, seen):
        redact(one, redactor.text)
        _redact_exact(one, redactor)
    header: kept.KeptSession = {
        "client": found["client"],
        "session": found["session"],
        "path": found["path"],
        "modified": found["modified"],
        "cwd": found["cwd"],
        "bytes": _size_of(found),
        "branch": redactor.text(branch_of(found)),
    }
    with suppress(OSError):
        kept.write(path, header, events, seen)


def _size_of(found: FoundSession) -> int:
    sources = finder_of(found["client"]).find(found["session"])
    paths = {found["path"], *(one["path"] for one in sources if one["client"] != "opencode")}
    return sum(map(size_of, paths))


def _redact_exact(events: Iterable[SessionEvent], redactor: Redactor) -> None:
    """Leave the text of an edit with a secret out: it could only be made again without the secret."""
    for event in events:
        if event is not COUNTED_CALL and any(_has_secret(one, redactor) for one in event.exact):
            event.exact = ()


def _has_secret(one: Replacement, redactor: Redactor) -> bool:
    texts = [value for value in one.values() if isinstance(value, str)]
    return any(redactor.text(text) != text for text in texts)


def remove_old(folders: Iterable[str], oldest: int, largest: int) -> int:
    """Remove the kept sessions that are older, and the oldest ones where all together are larger. Return how many."""
    found = []
    for path in kept.list_files(sorted(folders)):
        header = kept.read_header(path)
        found.append((header["modified"] if header else 0, path, size_of(path)))
    found.sort(reverse=True)
    total = removed = 0
    for modified, path, size in found:
        total += size
        if modified < oldest or total > largest:
            os.unlink(path)
            removed += 1
    return removed
