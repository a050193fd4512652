"""Hooks that failed. A hook never fails its host; it writes down why, and the next reader is told."""

from __future__ import annotations

import errno
import os

from holdfast.kernel import canonical_json, clock
from holdfast.kernel.plain_file import modified_at, read_plain, unlink_if_any
from holdfast.kernel.text import harmless_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class HookFailure(TypedDict):
        at: str
        hook: str
        reason: str


NAME = "hook-failures.jsonl"
# Behind the file's name: failures for which there was no room.
LOST = ".lost"
WITHOUT_REASON = "What failed could not be written down; the disk was probably full."
LONGEST_REASON = 500
LARGEST_FILE = 256 * 1024


def note(workspace: Workspace, hook: str, reason: str, now: int) -> bool:
    """One line, appended, in the private folder or else in the workspace's home. False when even that cannot
    be written: then the hook itself has to say it. On a full disk an empty file says that there was
    something."""
    from holdfast.kernel.redact import Redactor

    reason = Redactor().text(reason[: 4 * LONGEST_REASON])[:LONGEST_REASON]
    said = {"at": clock.precise(now), "hook": hook, "reason": reason}
    line = harmless_json(canonical_json.dumps(said))
    for path in reversed(_places(workspace)):
        try:
            if path.startswith(workspace.private):
                workspace.prepare_private()
            _append(path, f"{line}\n".encode())
            return True
        except OSError:
            continue
    for path in _places(workspace):
        try:
            os.close(
                os.open(
                    f"{path}{LOST}", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
                )
            )
            break
        except OSError:
            continue
    return False


def _append(path: str, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    if os.path.exists(path) and os.path.getsize(path) > LARGEST_FILE:
        flags |= os.O_TRUNC
    descriptor = os.open(path, flags, 0o600)
    try:
        # A line with half of it missing is none, and ends what is written next.
        if os.write(descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def read(workspace: Workspace) -> list[HookFailure]:
    failures: list[HookFailure] = []
    for line in (line for path in _places(workspace) for line in _lines(path)):
        # It may have been written under older rules.
        from holdfast.kernel.redact import Redactor

        try:
            value = canonical_json.loads(line)
            reason = Redactor().text(value["reason"])
            failures.append({"at": value["at"], "hook": value["hook"], "reason": reason})
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    for path in _places(workspace):
        if at := modified_at(f"{path}{LOST}"):
            failures.append({"at": clock.precise(at), "hook": "hooks", "reason": WITHOUT_REASON})
    return sorted(failures, key=lambda failure: str(failure["at"]))


def _places(workspace: Workspace) -> list[str]:
    """The home's, then the worktree's."""
    return [os.path.join(folder, NAME) for folder in (workspace.home, workspace.private)]


def _lines(path: str) -> list[str]:
    try:
        return read_plain(path).decode(errors="replace").splitlines(keepends=True)
    except OSError:
        return []


def forget(workspace: Workspace) -> int:
    """After a person saw them: how many there were."""
    count = len(read(workspace))
    for path in (f"{place}{end}" for place in _places(workspace) for end in ("", LOST)):
        unlink_if_any(path)
    return count
