"""Where a work tree stands: its branch, what is not pushed, and what is not committed."""

from __future__ import annotations

import os
from typing import TypedDict

from holdfast.git.repository import GitError, locate
from holdfast.git.run import Running
from holdfast.git.status import parse, parse_branch, start_status
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.session.world import is_own

# A work tree for which git needs longer is left out: nobody waits for it in the morning.
SECONDS = 5.0
LARGEST_CONFIG = 1_000_000


class TreeState(TypedDict):
    """`ahead` counts commits that are not pushed; None where the branch was never pushed. `has_remote` says whether
    there is anything to push to. `changed` are files that are not committed."""

    branch: str
    ahead: int | None
    has_remote: bool
    changed: list[str]


def start_git(root: str) -> Running | None:
    """Let git look at a work tree while the caller reads transcripts; None where it cannot."""
    try:
        return start_status(root, with_branch=True)
    except (HoldfastError, OSError):
        return None


def read_tree(root: str, started: Running | None) -> TreeState | None:
    """Return where a work tree stands; None where git does not say."""
    try:
        output = started.answer(seconds=SECONDS) if started is not None else b""
        place = locate(root)
    except (GitError, OSError):
        return None
    if not output:
        return None
    branch = parse_branch(output)
    changed = [one["path"] for one in parse(output) if not is_own(one["path"])]
    return {
        "branch": branch["branch"],
        "ahead": branch["ahead"] if branch["upstream"] else None,
        "has_remote": bool(branch["upstream"]) or _has_remote(place.common_dir),
        "changed": [os.path.join(place.top, name) for name in changed],
    }


def _has_remote(common_dir: str) -> bool:
    try:
        return b"[remote " in read_plain(os.path.join(common_dir, "config"), LARGEST_CONFIG)
    except OSError:
        return False
