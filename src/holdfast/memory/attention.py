"""What needs a person: sessions that Claude Code is about to delete and that are not kept."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.clients import kept
from holdfast.clients.discovery import SessionPlace, finder_of
from holdfast.clients.table import home_of
from holdfast.kernel import clock
from holdfast.kernel.canonical_json import read_table
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import Workspace
from holdfast.registry import SETTINGS, Attention

# Claude Code deletes a transcript so many days after its last line, unless its settings say otherwise.
CLEANUP_DAYS, CLEANUP_SETTING = 30, "cleanupPeriodDays"
WARN_DAYS = 7


def cleanup_days() -> int:
    """Return after how many days Claude Code deletes a transcript."""
    said = read_table(os.path.join(home_of("claude"), "settings.json")).get(CLEANUP_SETTING)
    return (
        said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else CLEANUP_DAYS
    )


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the sessions of this work tree that will be gone within a week and of which nothing is kept."""
    if not os.path.isdir(home_of("claude")):
        return
    soon = now - max(0, cleanup_days() - WARN_DAYS) * clock.DAY
    names = {os.path.basename(path) for path in kept.list_files(kept.folders_of(workspace.root))}
    lost = [
        one
        for one in finder_of("claude").sessions(SessionPlace(workspace.root))
        if one["modified"] < soon and kept.name_of("claude", one["session"]) not in names
    ]
    if lost:
        days = max(0, (min(one["modified"] for one in lost) - now) // clock.DAY + cleanup_days())
        when = f"in {plural(days, 'day')}" if days else "any day now"
        yield Attention(
            f"Claude Code deletes {plural(len(lost), 'session')} of this folder that nothing keeps, the first {when}",
            "holdfast remember",
            SETTINGS,
        )
