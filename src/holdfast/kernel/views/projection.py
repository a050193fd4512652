"""Putting a view's new content in place: staged before the commit, exchanged after.

Because the file exists before the commit, the journal can store its identity in the same
transaction. That is what later tells "our projection did not happen" from "an editor changed it".
"""

from __future__ import annotations

import os
import stat
import time

from holdfast.kernel.crash import reached
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.stream_write import row_of
from holdfast.kernel.tree_file import exchange, place_new
from holdfast.kernel.views import edits
from holdfast.kernel.views.files import content_digest, identity, identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from holdfast.kernel.stream_write import StreamWrite
    from holdfast.kernel.views.asides import Asides
    from holdfast.kernel.views.reconcile import Sighting

    # placed: ours is there. raced: it is, and an edit that we had not seen was displaced.
    # removed: the file was deleted under our hands, and stays deleted.
    Placement = Literal["placed", "raced", "removed", "blocked"]

# How often another name is tried for the staged file.
TRIES = 5


def stage(asides: Asides, content: bytes, found: str | None = None) -> str:
    """Write the new content beside the target; the identity it will have in place of what was `found` there."""
    status = asides.target.status()
    is_file = status is not None and stat.S_ISREG(status.st_mode)
    mode = status.st_mode & 0o777 if status and is_file else 0o666
    for left in reversed(range(TRIES)):
        # The kernel's file times move in steps of milliseconds. A random remainder makes sure that an
        # edit in the same step cannot leave the file with the identity that we remember.
        step = time.time_ns() // 1_000_000 * 1_000_000
        when = step + int.from_bytes(os.urandom(3), "big") % 999_983
        aside = asides.staged(f"::{when}")
        try:
            descriptor = aside.create(mode, make_folders=found is None)
            break
        except FileExistsError:
            if not left:
                raise
    try:
        if is_file:
            os.fchmod(descriptor, mode)
        write_all(descriptor, content)
        os.utime(descriptor, ns=(when, when))
        _make_durable(descriptor, replaces=found is not None)
        return identity(os.fstat(descriptor))
    except BaseException:
        aside.remove_if_any()
        raise
    finally:
        os.close(descriptor)


def _make_durable(descriptor: int, *, replaces: bool) -> None:
    """Let the content reach the disk before its name does.

    A file that replaces another need not be waited for: what a power cut leaves is the old file, which
    `look` knows and replaces again. Its writing is begun, because a file system may otherwise put the
    name on the disk long before the content. A new file is waited for: if it were not there after a
    power cut, a person would have removed it.
    """
    start_writing = getattr(os, "posix_fadvise", None)
    if not replaces or start_writing is None:
        os.fsync(descriptor)
        return
    # Drops what is on the disk already from memory, and begins to write the rest.
    start_writing(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def put_in_place(asides: Asides, placed: str, found: str | None, base: int) -> Placement:
    """Exchange the staged content with what stands there, and look at what was displaced.

    `found` is what we expect to displace, and `base` the version that it shows.
    """
    target, aside = asides.target, asides.staged(placed)
    reached("before placing")
    if found is None:
        try:
            place_new(aside, target)
            reached("after placing")
            return "placed"
        except FileExistsError:
            pass
    status = target.status()
    if status is not None and stat.S_ISDIR(status.st_mode):
        return "blocked"
    try:
        displaced = exchange(aside, target)
        reached("after placing")
        if not displaced:
            return "placed"
    except FileNotFoundError:
        aside.remove_if_any()
        return "removed"
    if identity_of(aside) == found:
        asides.stow(aside, placed.split(":")[2])
        return "placed"
    asides.keep(aside, base)
    return "raced"


def stage_views(write: StreamWrite, version: int) -> None:
    """Write the new text of every view aside, and note in `new_rows` what will be put in place."""
    write.staged = []
    for path, text in write.texts.items():
        content = text.encode()
        wanted = content_digest(content)
        report = write.reports.setdefault(path, {"path": path, "status": "unchanged", "reason": ""})
        sighting = write.sightings[path]
        if sighting.blocked:
            is_removed = sighting.blocked == "removed"
            report["status"] = "removed" if is_removed else "failed"
            report["reason"] = "" if is_removed else sighting.blocked
            continue
        if sighting.found is not None and sighting.digest == wanted:
            continue
        try:
            sighting.placed = stage(sighting.asides, content, sighting.found)
        except OSError as error:
            report["status"], report["reason"] = "failed", error.strerror or str(error)
            continue
        write.new_rows.append(
            row_of(write, sighting, sighting.placed, version=version, digest=wanted)
        )
        write.staged.append(sighting)


def unstage(writes: Sequence[StreamWrite]) -> None:
    """Remove what was staged for a transaction that did not happen."""
    for write in writes:
        for sighting in write.staged:
            sighting.asides.staged(sighting.placed).remove_if_any()
        write.staged = []


def put_view_in_place(write: StreamWrite, sighting: Sighting) -> bool:
    """True when an edit was displaced."""
    report = write.reports[sighting.path]
    try:
        placement = put_in_place(sighting.asides, sighting.placed, sighting.found, sighting.shown)
        is_late = edits.put_away(
            sighting.asides,
            sighting.displaced,
            sighting.expected,
            sighting.displaced_version,
            write.displaced,
        )
    except OSError as error:
        report["status"], report["reason"] = "failed", error.strerror or str(error)
        return False
    report["status"] = {"removed": "removed", "blocked": "failed"}.get(placement, "written")
    if placement == "blocked":
        report["reason"] = "a folder"
    return is_late or placement == "raced"
