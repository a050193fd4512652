"""Read the checkpoint files of an epic, whichever program wrote them.

Holdfast exchanges whole files. Shells write in place (`cat > file` empties the file first, and fills it
when its text is ready). So a file that looks broken is read again while a program may still be writing it,
and only then reported as corrupted.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from holdfast.fleet.rules import names
from holdfast.fleet.rules.liveness import age_minutes, instant_of, liveness
from holdfast.fleet.rules.model import CHECKPOINTS
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of

if TYPE_CHECKING:
    from typing import Any

    # Agent's id, age in minutes, liveness; a file that says neither is (id, None, "CORRUPTED").
    Age = tuple[str, int | None, str]

# After so many seconds without a change, a broken file stays broken.
MOMENT = 0.5
# How many seconds a scan waits for programs that have broken files open for writing.
PATIENCE = 5.0
PAUSE = 0.01
# No checkpoint is as large. A file that is cut here does not parse, and is read again with care.
GLANCE = 1 << 16
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SECONDS = {f"{second:02d}Z": second * 1000 for second in range(60)}


class CheckpointFile:
    """One agent's checkpoint file, and its problem if it has one."""

    __slots__ = (
        *("agent", "checkpoint", "feature", "identity", "last_ms"),
        *("path", "problem", "stage", "status", "stem"),
    )

    def __init__(self, path: str, identity: str, checkpoint: Any, problem: str) -> None:
        self.path = path
        """Where it is on disk."""
        self.stem = os.path.basename(path).removesuffix(".json")
        self.identity = identity
        """The identity of the file that was read, or that could not be read."""
        self.checkpoint: dict[str, Any] | None = None if problem else checkpoint
        said = self.checkpoint or {}
        self.agent = _text(said, "agent_id") or names.agent_of(self.stem)
        self.status, self.feature, self.stage = (
            _text(said, name) for name in ("status", "feature", "stage")
        )
        self.last_ms = instant_of(said.get("last_checkpoint"))
        if self.last_ms is None and not problem:
            problem = f"last_checkpoint is no time: {said.get('last_checkpoint')!r:.60}"
        self.problem = problem
        """Why it is CORRUPTED, or empty."""

    def __repr__(self) -> str:
        return f"<CheckpointFile {self.agent} {self.status} {self.problem}>"


def _text(checkpoint: dict[str, Any], name: str) -> str:
    value = checkpoint.get(name)
    return value if isinstance(value, str) else ""


def scan(epic_root: str, *, include_primary: bool = False) -> list[CheckpointFile]:
    """The checkpoints of all agents, in the order of their file names; FLEET-41, FLEET-42."""
    folder = os.path.join(epic_root, CHECKPOINTS)
    return _read_with_care(folder, _names_in(folder, include_primary))


def staleness(epic_root: str, now_ms: int) -> list[Age]:
    """How long each secondary has been silent: the same as `scan` finds, fast for thousands of files."""
    folder = os.path.join(epic_root, CHECKPOINTS)
    found = _names_in(folder, include_primary=False)
    if not found:
        return []
    minutes: dict[str, int] = {}
    ages: list[Age | None] = []
    doubtful: dict[str, int] = {}
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in found:
            try:
                agent, last, status = _glance(_bytes_of(name, top))
                # Worked out once for all times that differ in their seconds alone.
                minute = minutes.get(last[:17])
                if minute is None:
                    minute = minutes[last[:17]] = _start_of(last[:17])
                age = age_minutes(minute + _SECONDS[last[17:]], now_ms)
                agent = agent or names.agent_of(name[:-5])
                ages.append((agent, age, liveness(age, status)))
            except (ValueError, KeyError, RecursionError):
                doubtful[name] = len(ages)
                ages.append(None)
    finally:
        os.close(top)
    for seen in _read_with_care(folder, list(doubtful)):
        ages[doubtful[f"{seen.stem}.json"]] = _age_of(seen, now_ms)
    return [age for age in ages if age is not None]


def _start_of(minute: str) -> int:
    start = instant_of(f"{minute}00Z")
    if start is None:
        raise ValueError(minute)
    return start


def _glance(content: bytes) -> tuple[str, str, str]:
    """Agent, last checkpoint and status of a file; ValueError if the file must be read with care."""
    value = canonical_json.loads(content.decode())
    if type(value) is not dict:
        raise ValueError("not a JSON object")
    agent, last, status = (
        value.get("agent_id", ""),
        value.get("last_checkpoint", ""),
        value.get("status", ""),
    )
    if not type(agent) is type(last) is type(status) is str:
        raise ValueError("a field is no text")
    return agent, last, status


def _bytes_of(name: str, top: int) -> bytes:
    """A file's content; empty when it cannot be read, and then it is read again with care."""
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=top)
    except OSError:
        return b""
    try:
        content = os.read(descriptor, GLANCE)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    # A decoder that skips texts does not look at their bytes.
    return content if content.isascii() else content.decode().encode()


def _age_of(seen: CheckpointFile, now_ms: int) -> Age:
    if seen.last_ms is None:
        return seen.agent, None, "CORRUPTED"
    age = age_minutes(seen.last_ms, now_ms)
    return seen.agent, age, liveness(age, seen.status)


def _names_in(folder: str, include_primary: bool) -> list[str]:
    try:
        present = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise NotAllowed(
            f"{folder} cannot be read.", hint="Make the folder readable for this user."
        ) from None
    return sorted(
        name
        for name in present
        if name.endswith(".json")
        and (name.startswith("secondary_") or (include_primary and name == "primary.json"))
        # Both words end so; asking of all would take as long as decoding them does.
        and not ("ed_" in name and names.is_archive(name))
    )


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
    try:
        identity, content = read_file(path)
    except FileNotFoundError:
        return None
    except (Unreadable, OSError) as why:
        standing = identity_of(path)
        return CheckpointFile(path, standing, None, str(why)) if standing else None
    if not content:
        return CheckpointFile(path, identity, None, "empty")
    try:
        value = canonical_json.loads(text_of(content))
    except (ValueError, Unreadable) as why:
        return CheckpointFile(path, identity, None, f"invalid JSON: {why}")
    problem = "" if isinstance(value, dict) else "not a JSON object"
    return CheckpointFile(path, identity, value, problem)


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
