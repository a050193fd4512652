"""Putting a view's new content in place: staged before the commit, exchanged after.

Because the file exists before the commit, the journal can store its identity in the same
transaction. That is what later tells "our projection did not happen" from "an editor changed it".
"""

from __future__ import annotations

import os
import stat
import time

from holdfast.kernel.crash import reached
from holdfast.kernel.digest import digest
from holdfast.kernel.plain_file import write_all
from holdfast.kernel.stream_write import row_of
from holdfast.kernel.views import edits
from holdfast.kernel.views.exchange import exchange, place_new
from holdfast.kernel.views.files import content_digest, identity, identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from holdfast.kernel.stream_write import StreamWrite
    from holdfast.kernel.views.reconcile import Sighting
    from holdfast.kernel.workspace import Workspace

    # placed: ours is there. raced: it is, and an edit that we had not seen was displaced.
    # removed: the file was deleted under our hands, and stays deleted.
    Placement = Literal["placed", "raced", "removed", "blocked"]

# In `.holdfast/`: new content on its way into place, and what it displaced.
FOLDER = "views"


def stem_of(workspace: Workspace, path: str, target: str) -> str:
    """What the names of a view's files aside begin with.

    They are in `.holdfast/`, so that no second file appears beside the view; beside it only when
    that is another file system.
    """
    try:
        if os.stat(os.path.dirname(target)).st_dev != os.stat(workspace.root).st_dev:
            return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.holdfast")
    except FileNotFoundError:
        pass
    return f"{workspace.tool_folder}/{FOLDER}/{digest(path.encode()).hex()[:16]}"


def aside_of(stem: str, placed: str) -> str:
    """Where the content with this identity waits before the exchange, and the displaced file after.

    The name follows from the identity, so that what a process staged and never committed cannot be
    taken for a displaced file.
    """
    return f"{stem}.{placed.split(':')[2]}"


def stage(
    workspace: Workspace, target: str, stem: str, content: bytes, found: str | None = None
) -> str:
    """Write the new content aside; the identity it will have in place of what was `found` there."""
    if found is None:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    is_inside = stem.startswith(workspace.tool_folder)
    if is_inside:
        workspace.refuse_links(FOLDER)
    # The kernel's file times move in steps of milliseconds. A random remainder makes sure that an
    # edit in the same step cannot leave the file with the identity that we remember.
    when = time.time_ns() // 1_000_000 * 1_000_000 + int.from_bytes(os.urandom(3), "big") % 999_983
    aside = f"{stem}.{when}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    mode = _mode_of(target)
    try:
        descriptor = os.open(aside, flags, mode)
    except FileNotFoundError:
        if not is_inside:
            raise
        workspace.prepare_tool_folder(FOLDER)
        descriptor = os.open(aside, flags, mode)
    try:
        write_all(descriptor, content)
        os.utime(descriptor, ns=(when, when))
        _make_durable(descriptor, replaces=found is not None)
        return identity(os.fstat(descriptor))
    except BaseException:
        os.unlink(aside)
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


def _mode_of(target: str) -> int:
    try:
        status = os.lstat(target)
    except FileNotFoundError:
        return 0o666
    return stat.S_IMODE(status.st_mode) & 0o777 if stat.S_ISREG(status.st_mode) else 0o666


def put_in_place(target: str, stem: str, placed: str, found: str | None, base: int) -> Placement:
    """Exchange the staged content with what stands there, and look at what was displaced.

    `found` is what we expect to displace, and `base` the version that it shows.
    """
    aside = aside_of(stem, placed)
    reached("before placing")
    if found is None:
        try:
            place_new(aside, target)
            reached("after placing")
            return "placed"
        except FileExistsError:
            pass
    if os.path.isdir(target) and not os.path.islink(target):
        return "blocked"
    try:
        displaced = exchange(aside, target)
        reached("after placing")
        if not displaced:
            return "placed"
    except FileNotFoundError:
        os.unlink(aside)
        return "removed"
    if identity_of(aside) == found:
        return "placed"
    edits.keep(stem, aside, base)
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
            sighting.placed = stage(
                write.workspace, sighting.target, sighting.stem, content, sighting.found
            )
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
            os.unlink(aside_of(sighting.stem, sighting.placed))
        write.staged = []


def put_view_in_place(write: StreamWrite, sighting: Sighting) -> bool:
    """True when an edit was displaced."""
    report = write.reports[sighting.path]
    try:
        placement = put_in_place(
            sighting.target, sighting.stem, sighting.placed, sighting.found, write.version
        )
        is_late = edits.put_away(
            sighting.stem,
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
