"""The reserve at a budget's stop: once the latch is set, every session gets one more turn, for a few
minutes, to checkpoint in; then nothing more.

Kept in files beside the latch, because a hook that asks for it may not have the database.
"""

from __future__ import annotations

import os

from holdfast.kernel import clock
from holdfast.kernel.digest import digest
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.workspace import Workspace

LONGEST = 5 * clock.MINUTE
FOLDER = "last-turn"
WORDS = "One last turn: run `holdfast checkpoint`, then end. Nothing more runs after it."
_UNTIL = "until"


def _folders(workspace: Workspace) -> tuple[str, str]:
    return os.path.join(workspace.home, FOLDER), os.path.join(workspace.private, FOLDER)


def grant(workspace: Workspace, *, now: int) -> None:
    """From now on, for a few minutes. Where it cannot be written there is none: the stop holds."""
    end(workspace)
    text = clock.precise(now + LONGEST).encode()
    for folder in _folders(workspace):
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            write_synced(os.path.join(folder, _UNTIL), text)
            return
        except OSError:
            continue


def take(workspace: Workspace, session: str, *, now: int) -> bool:
    """Whether this session may have its last turn now; the second time it may not."""
    for folder in _folders(workspace):
        try:
            if _is_over(folder, now):
                return False
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
            os.close(os.open(_marker(folder, session), flags, 0o600))
            return True
        except FileExistsError:
            return False
        except (OSError, ValueError):
            continue
    return False


def is_open(workspace: Workspace, *, now: int) -> bool:
    """Whether last turns may still be under way."""
    for folder in _folders(workspace):
        try:
            return not _is_over(folder, now)
        except (OSError, ValueError):
            continue
    return False


def _is_over(folder: str, now: int) -> bool:
    until = clock.parse(read_plain(os.path.join(folder, _UNTIL)).decode("ascii"))
    # A clock that was set back must not make a few minutes a few hours.
    return not until - LONGEST <= now < until


def _marker(folder: str, session: str) -> str:
    return os.path.join(folder, digest(session.encode()).hex()[:32])


def end(workspace: Workspace) -> None:
    for folder in _folders(workspace):
        try:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
        except OSError:
            continue
