"""Read the checkpoint files of an epic, whichever program wrote them.

Holdfast exchanges whole files. Shells write in place (`cat > file` empties the file first, and fills it
when its text is ready). So a file that looks broken is read again while a program may still be writing it,
and only then reported as corrupted.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from holdfast.fleet.rules.model import CHECKPOINTS, is_archive
from holdfast.kernel import canonical_json
from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.views.edits import is_quiet
from holdfast.kernel.views.files import Unreadable, identity_of, read_file, text_of

# After so many seconds without a change, a broken file stays broken.
MOMENT = 0.5
# How many seconds a scan waits for programs that have broken files open for writing.
PATIENCE = 5.0
PAUSE = 0.01


@dataclass(frozen=True)
class CheckpointFile:
    """One agent's checkpoint file. `stem` is its name without `.json`, `said` all that it says, nothing if it is
    broken; `problem` is why it is CORRUPTED, or empty."""

    path: str
    stem: str
    identity: str
    said: dict[str, Any]
    problem: str = ""

    @property
    def session(self) -> str | None:
        session = self.said.get("session_id")
        return session if isinstance(session, str) else None

    @property
    def last_ms(self) -> int | None:
        return instant_of(self.said.get("last_checkpoint"))


def scan(epic_root: str) -> list[CheckpointFile]:
    """Return the checkpoints of all agents, in the order of their file names; FLEET-41, FLEET-42."""
    folder = os.path.join(epic_root, CHECKPOINTS)
    try:
        present = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        raise NotAllowed(
            f"{folder} cannot be read.", hint="Make the folder readable for this user."
        ) from None
    names = [name for name in present if name.endswith(".json") and not is_archive(name)]
    agents = [name for name in names if name.startswith("secondary_") or name == "primary.json"]
    return _read_with_care(folder, sorted(agents))


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
    said: Any = {}
    try:
        identity, content = read_file(path)
    except FileNotFoundError:
        return None
    except (Unreadable, OSError) as why:
        standing = identity_of(path)
        return CheckpointFile(path, stem, standing, {}, str(why)) if standing else None
    try:
        said = canonical_json.loads(text_of(content)) if content else {}
        problem = "" if content else "empty"
    except (Unreadable, ValueError) as why:
        problem = f"invalid JSON: {why}"
    if not isinstance(said, dict):
        said, problem = {}, "not a JSON object"
    last = said.get("last_checkpoint")
    if not problem and instant_of(last) is None:
        problem = f"last_checkpoint is no time: {last!r:.60}"
    return CheckpointFile(path, stem, identity, said, problem)


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
