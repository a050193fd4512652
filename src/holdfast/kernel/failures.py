"""Hooks that failed. A hook never fails its host; it writes down why, and the next reader is told."""

from __future__ import annotations

import os

from holdfast.kernel import clock, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace

    class Failure(TypedDict):
        at: str
        hook: str
        reason: str


NAME = "hook-failures.jsonl"
LONGEST_REASON = 500
LARGEST_FILE = 256 * 1024


def note(workspace: Workspace, hook: str, reason: str, now: int) -> None:
    """One line, appended; silently nothing when even that cannot be written."""
    line = jsontext.dumps(
        {"at": clock.precise(now), "hook": hook, "reason": reason[:LONGEST_REASON]}
    )
    try:
        path = os.path.join(workspace.prepare_tool_folder(), NAME)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        if os.path.exists(path) and os.path.getsize(path) > LARGEST_FILE:
            flags |= os.O_TRUNC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, f"{line}\n".encode())
        finally:
            os.close(descriptor)
    except OSError:
        return


def read(workspace: Workspace) -> list[Failure]:
    try:
        with open(os.path.join(workspace.tool_folder, NAME), encoding="utf-8") as file:
            lines = file.readlines()
    except OSError:
        return []
    failures: list[Failure] = []
    for line in lines:
        try:
            value = jsontext.loads(line)
            failures.append({"at": value["at"], "hook": value["hook"], "reason": value["reason"]})
        except (ValueError, KeyError, TypeError):
            continue
    return failures


def forget(workspace: Workspace) -> int:
    """After a person saw them: how many there were."""
    count = len(read(workspace))
    try:
        os.unlink(os.path.join(workspace.tool_folder, NAME))
    except FileNotFoundError:
        pass
    return count
