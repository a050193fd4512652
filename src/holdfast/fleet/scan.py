"""Read the checkpoint files of an epic, whichever program wrote them.

Holdfast exchanges whole files. Shells write in place (`cat > file` empties the file first, and fills it
when its text is ready). So a file that looks broken is read again while a program may still be writing it,
and only then reported as corrupted.
"""

from __future__ import annotations

import gc
import os
import stat
import time
from typing import TYPE_CHECKING

from holdfast.fleet.rules import model
from holdfast.fleet.rules.liveness import instant_of
from holdfast.fleet.rules.model import CHECKPOINTS
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of

if TYPE_CHECKING:
    from typing import Any

    # Device, inode, size, time of the content and time of the last change of any kind.
    Stamp = tuple[int, int, int, int, int]

# After so many seconds without a change, a broken file stays broken.
MOMENT = 0.5
# How many seconds a scan waits for programs that have broken files open for writing.
PATIENCE = 5.0
PAUSE = 0.01
# No checkpoint is as large. A file that is cut here does not parse, and is read again with care.
GLANCE = 1 << 16
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# So many nanoseconds before a look, a file whose times are older was complete: no program has written to it
# since. Clocks of file systems move in steps, and a second write in the same step would not be seen. A process
# that looks again and again, such as `agent watch` and the page, remembers such a file and parses it again only
# after it has changed.
SETTLED = 100_000_000
MOST_REMEMBERED = 50_000
_SECONDS = {f"{second:02d}Z": second * 1000 for second in range(60)}
_minutes: dict[str, int] = {}
_remembered: dict[str, CheckpointFile] = {}


class CheckpointFile:
    """One agent's checkpoint file, and its problem if it has one."""

    __slots__ = (
        *("_content", "agent", "identity", "last_checkpoint", "last_ms", "path", "problem"),
        *("session", "stamp", "status", "stem"),
    )

    def __init__(
        self,
        path: str,
        stem: str,
        content: bytes,
        said: dict[str, Any],
        problem: str = "",
        identity: str = "",
        stamp: Stamp | None = None,
    ) -> None:
        self.path = path
        """Where it is on disk."""
        self.stem = stem
        """Its name without `.json`."""
        self.identity = identity
        """The identity of a file that looks broken; empty if it is whole."""
        self.stamp = stamp
        """Of a file that is whole: what `stat` said when it was read."""
        # Not the parsed value: to keep ten thousand of them takes longer than to parse them again. Not the
        # text: the next one is a little larger than the bytes that this one leaves free, so that each file
        # would take its size twice.
        self._content = content
        agent, status, session = said.get("agent_id"), said.get("status"), said.get("session_id")
        self.agent: str = agent if type(agent) is str and agent else model.agent_of(stem)
        self.status: str = status if type(status) is str else ""
        self.session: str | None = session if type(session) is str else None
        self.last_checkpoint = last = said.get("last_checkpoint")
        self.last_ms = _instant(last)
        if self.last_ms is None and not problem:
            problem = f"last_checkpoint is no time: {last!r:.60}"
        self.problem = problem
        """Why it is CORRUPTED, or empty."""

    def parse(self) -> dict[str, Any]:
        """All that the file says; nothing if it is broken."""
        if not self._content:
            return {}
        value: dict[str, Any] = canonical_json.loads(self._content.decode())
        return value

    def __repr__(self) -> str:
        return f"<CheckpointFile {self.agent} {self.status} {self.problem}>"


def _instant(value: Any) -> int | None:
    """`instant_of`, worked out once for all times that differ in their seconds alone."""
    seconds = _SECONDS.get(value[17:]) if type(value) is str else None
    if seconds is None:
        return instant_of(value)
    minute = _minutes.get(value[:17])
    if minute is None:
        minute = instant_of(f"{value[:17]}00Z")
        if minute is None:
            return None
        if len(_minutes) >= MOST_REMEMBERED:
            _minutes.clear()
        _minutes[value[:17]] = minute
    return minute + seconds


def scan(epic_root: str, *, include_primary: bool = False) -> list[CheckpointFile]:
    """The checkpoints of all agents, in the order of their file names; FLEET-41, FLEET-42."""
    folder = os.path.join(epic_root, CHECKPOINTS)
    settled = time.time_ns() - SETTLED
    found = _names_in(folder, include_primary)
    if not found:
        return []
    seen: dict[str, CheckpointFile | None] = {}
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # What is parsed has no cycles: a look for some after every few hundred files finds nothing.
    collects = gc.isenabled()
    gc.disable()
    try:
        for name in found:
            seen[name] = _glance(f"{folder}/{name}", name, top, settled)
    finally:
        if collects:
            gc.enable()
        os.close(top)
    doubtful = [name for name, file in seen.items() if file is None]
    for file in _read_with_care(folder, doubtful):
        seen[f"{file.stem}.json"] = file
    return [file for file in seen.values() if file is not None]


def _glance(path: str, name: str, top: int, settled: int) -> CheckpointFile | None:
    """The checkpoint of a file that is whole; None if the file must be read with care."""
    known = _remembered.get(path)
    try:
        if known is not None:
            status = os.stat(name, dir_fd=top, follow_symlinks=False)
            if _stamp(status) == known.stamp:
                return known
        descriptor = os.open(name, _FLAGS, dir_fd=top)
    except OSError:
        return None
    try:
        # A named pipe has no place to read at: it fails, and keeps what was written to it.
        content = os.pread(descriptor, GLANCE, 0)
        status = os.fstat(descriptor)
        stamp = _stamp(status)
        # A program that wrote while we read has changed the file's times after the look began.
        is_settled = stamp[3] < settled and stamp[4] < settled
        if not is_settled:
            content = os.pread(descriptor, GLANCE, 0)
            if stamp != _stamp(os.fstat(descriptor)):
                return None
        if not stat.S_ISREG(status.st_mode):
            return None
        said = canonical_json.loads(content.decode())
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)
    if type(said) is not dict:
        return None
    file = CheckpointFile(path, name[:-5], content, said, "", "", stamp)
    if file.problem:
        return None
    if is_settled:
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[path] = file
    return file


def _stamp(status: os.stat_result) -> Stamp:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _names_in(folder: str, include_primary: bool) -> list[str]:
    try:
        present = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise NotAllowed(
            f"{folder} cannot be read.", hint="Make the folder readable for this user."
        ) from None
    found = [
        name
        for name in present
        if name.endswith(".json")
        and (name.startswith("secondary_") or (include_primary and name == "primary.json"))
        # Both words end so; asking of all would take as long as decoding them does.
        and not ("ed_" in name and model.is_archive(name))
    ]
    found.sort()
    return found


def _read_with_care(folder: str, found: list[str]) -> list[CheckpointFile]:
    """The files of these names, in that order, without those that vanished meanwhile."""
    read: dict[str, CheckpointFile] = {}
    stood: dict[str, float] = {}
    patience = time.monotonic() + PATIENCE
    waiting = found
    while waiting:
        again = []
        for name in waiting:
            path = os.path.join(folder, name)
            seen = _read(path)
            if seen is None:
                read.pop(name, None)
                continue
            read[name] = seen
            if seen.problem and time.monotonic() < patience and _may_change(seen, stood):
                again.append(name)
        waiting = again
        if waiting:
            time.sleep(PAUSE)
    return [read[name] for name in found if name in read]


def _read(path: str) -> CheckpointFile | None:
    stem = os.path.basename(path).removesuffix(".json")
    try:
        identity, content = read_file(path)
    except FileNotFoundError:
        return None
    except (Unreadable, OSError) as why:
        standing = identity_of(path)
        return CheckpointFile(path, stem, b"", {}, str(why), standing) if standing else None
    if not content:
        return CheckpointFile(path, stem, b"", {}, "empty", identity)
    try:
        text = text_of(content)
        said = canonical_json.loads(text)
    except (ValueError, Unreadable) as why:
        return CheckpointFile(path, stem, b"", {}, f"invalid JSON: {why}", identity)
    if not isinstance(said, dict):
        return CheckpointFile(path, stem, b"", {}, "not a JSON object", identity)
    return CheckpointFile(path, stem, text.encode(), said, identity=identity)


def _may_change(seen: CheckpointFile, stood: dict[str, float]) -> bool:
    """Whether a program may still be writing a file that looks broken.

    `stood` holds since when a file is unchanged, because its modification time may be wrong.
    """
    # In this order: a writer that ends before the first question has changed the identity.
    if not is_quiet(seen.path) or identity_of(seen.path) != seen.identity:
        return True
    modified = int(seen.identity.split(":")[2])
    if time.time_ns() - modified > MOMENT * 1_000_000_000:
        return False
    since = stood.setdefault(f"{seen.path}\0{seen.identity}", time.monotonic())
    return time.monotonic() - since < MOMENT
