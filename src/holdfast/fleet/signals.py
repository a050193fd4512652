"""The signals of an agent besides its heartbeat: its process, its work tree, its transcript.

`holdfast.fleet.rules.verdict` judges them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from holdfast.fleet.epic import Sight
from holdfast.fleet.rules.model import CHECKPOINTS, COMMS, WARNING_AFTER
from holdfast.fleet.rules.verdict import age_minutes
from holdfast.git.repository import locate
from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import split_words
from holdfast.processes.agent_process import process_state

if TYPE_CHECKING:
    from holdfast.fleet.rules.model import AgentLife, AgentState
    from holdfast.fleet.rules.verdict import Signals

# How many files of a work tree are looked at.
MOST_ENTRIES = 5000
# Too large to look through, or written by other agents and not by this one.
PASSED_OVER = {
    CHECKPOINTS,
    COMMS,
    *split_words(".git .holdfast node_modules .epic_locks EPIC_README.md"),
}
# A folder with one of these is another work tree, or a Python environment.
_OF_OTHERS = (".git", "pyvenv.cfg")


def gather(
    state: AgentState, status: str, last: int | None, now: int, seen_at: str, sight: Sight
) -> Signals:
    """All signals of an agent. `status` and `last` are the status and the time of its last checkpoint,
    `seen_at` is when its stream was written or touched last."""
    life = state["life"]
    is_unstarted = bool(life and life.get("awaits"))
    near = life if life and not is_unstarted and sight.reaches(state) else None
    worktree = transcript = None
    if near is not None:
        ahead = sight.ahead  # the times of files are this machine's
        times = (_change_at(near["worktree"], now - ahead), transcript_change(near["transcript"]))
        worktree, transcript = (None if time is None else time + ahead for time in times)
    return {
        "heartbeat": f"{age_minutes(last, now)} min" if last is not None else "",
        "process": process_state(life["process"] if life else None),
        "worktree": worktree,
        "transcript": transcript,
        "activity": _activity(seen_at, last) if life and not is_unstarted else None,
        "busy_until": life["busy_until"] if life else "",
        "doing": life["doing"] if life else "",
        "waiting": state["sync"] is not None or status == "WAITING",
        "unstarted": is_unstarted,
        "unbeaten": _is_unbeaten(life, last),
    }


def _is_unbeaten(life: AgentLife | None, last: int | None) -> bool:
    """Whether a command started the life for an agent that has not been heard since."""
    if life is None or not life.get("launched"):
        return False
    return last is not None and last == instant_of(life["started_at"])


def _activity(seen_at: str, last: int | None) -> int | None:
    """When a hook saw the agent at work after its last checkpoint."""
    seen = instant_of(seen_at)
    if seen is None or last is None or seen // 1000 <= last // 1000:
        return None
    return seen


def transcript_change(path: str) -> int | None:
    """When an agent's transcript changed last."""
    try:
        return os.stat(path).st_mtime_ns // 1_000_000 if path else None
    except (OSError, ValueError):
        return None


def last_change(worktree: str, now: int, limit: int = MOST_ENTRIES) -> int | None:
    """When a file of a work tree changed last, from at most `limit` files.

    If there are more files, an old time does not prove that nothing is new: the answer is None. The git
    index does not count, because every `git status` changes it.
    """
    if not os.path.isdir(worktree):
        return None
    newest = _commit_time(worktree)
    for entry in _files_below(worktree):
        limit -= 1
        if limit < 0:
            is_recent = newest is not None and age_minutes(newest, now) <= WARNING_AFTER
            return newest if is_recent else None
        try:
            changed = entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
        except OSError:
            continue
        newest = changed if newest is None or changed > newest else newest
    return newest


@lru_cache(maxsize=1024)
def _change_at(worktree: str, now: int) -> int | None:
    """The last change of a work tree at one instant: agents may share one."""
    return last_change(worktree, now)


def _files_below(worktree: str) -> Iterator[os.DirEntry[str]]:
    """The files of a work tree, outer folders first, without other work trees inside it."""
    folders = [worktree]
    for folder in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        if folder != worktree and any(entry.name in _OF_OTHERS for entry in entries):
            continue
        for entry in entries:
            if entry.name in PASSED_OVER:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                yield entry


def _commit_time(worktree: str) -> int | None:
    """When HEAD moved last: a commit may come long after the changes in it."""
    try:
        log = os.path.join(locate(worktree).git_dir, "logs", "HEAD")
        return os.stat(log).st_mtime_ns // 1_000_000
    except (OSError, HoldfastError):
        return None
