"""Read what is new of the sessions into the index, and keep what the clients will delete."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypedDict

from holdfast.clients import kept
from holdfast.clients.discovery import Everywhere, SessionPlace
from holdfast.clients.lines import size_of
from holdfast.kernel import clock, config
from holdfast.kernel.workspace import Workspace
from holdfast.memory import index as stored
from holdfast.memory.consent import may_index_all
from holdfast.memory.index import Index, use_index
from holdfast.memory.keep import KEEP_DAYS, keep_sessions
from holdfast.memory.update import Updated, update

STAMP = "remembered"


class Remembered(TypedDict):
    """What is indexed and kept by now, and what this run added. `is_here`: only this repository's sessions."""

    sessions: int
    read: int
    left: int
    kept: int
    kept_in_all: int
    removed: int
    bytes_indexed: int
    bytes_kept: int
    is_here: bool
    is_busy: bool


def remember(
    workspace: Workspace | None,
    folder: str,
    *,
    is_all: bool = False,
    now: int,
    progress: Callable[[int, int], None] | None = None,
) -> Remembered:
    """Bring index and archive up to date: of this repository, or of all projects where the person agreed."""
    is_here = not (is_all or may_index_all())
    place = SessionPlace(folder) if is_here else Everywhere(folder)
    settings = config.load(workspace) if workspace is not None else config.without_file()
    _stamp()
    oldest = clock.stamp(max(0, now - int(settings[KEEP_DAYS]) * clock.DAY))

    def bring_up(index: Index) -> tuple[Updated, int]:
        updated = update(index, place, progress=progress)
        with index.writing():
            for one in index.sessions("WHERE ended < ? AND ended != '' AND path != ''", oldest):
                if not os.path.exists(one["path"]):
                    index.remove(one["id"])
        return updated, int(index.ask("SELECT count(*) FROM session")[0][0])

    updated, count = use_index(bring_up)
    kept_now = keep_sessions(place, settings, now=now)
    files = list(kept.list_all(folder))
    return {
        "sessions": count,
        "read": updated["read"],
        "left": updated["left"] + kept_now["left"],
        "kept": kept_now["kept"],
        "kept_in_all": len(files),
        "removed": kept_now["removed"],
        "bytes_indexed": size_of(stored.path()),
        "bytes_kept": sum(map(size_of, files)),
        "is_here": is_here,
        "is_busy": updated["is_busy"],
    }


def _stamp() -> None:
    if stored.make_folder():
        try:
            with open(os.path.join(stored.folder(), STAMP), "w", encoding="ascii"):
                pass
        except OSError:
            return
