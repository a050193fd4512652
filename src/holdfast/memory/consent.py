"""Whether the texts of all projects may go into one file: a person is told once, and says so."""

from __future__ import annotations

import json
import os

from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.memory.index import folder, make_folder

FILE = "choice.json"
LARGEST = 4096


def read_choice() -> bool | None:
    """Return what the person chose: all projects, or only the one they ask in; None before they were told."""
    try:
        said = json.loads(read_plain(os.path.join(folder(), FILE), LARGEST, follow=False))
    except (OSError, ValueError):
        return None
    return said.get("all") is True if isinstance(said, dict) else None


def may_index_all() -> bool:
    """Return whether the person agreed that all projects are indexed."""
    return read_choice() is True


def keep_choice(*, all_projects: bool) -> bool:
    """Keep what the person chose. Return whether that was possible."""
    if not make_folder():
        return False
    try:
        write_synced(os.path.join(folder(), FILE), json.dumps({"all": all_projects}).encode())
    except OSError:
        return False
    return True
