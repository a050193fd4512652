"""What a budget adds to the line under a client's prompt: the session's alerts, and limits for its numbers."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.budgets import alerts
from holdfast.kernel.state import load
from holdfast.kernel.text import one_line, quote, safe
from holdfast.kernel.workspace import Workspace
from holdfast.registry import StatusLine

STREAM = "budget:default"
LONGEST_REASON = 60


def show(workspace: Workspace, session: str) -> StatusLine:
    """Return the alerts that hold a session, and the limits of the last check."""
    waiting = []
    for type, reached in alerts.read(workspace, session).items():
        freed = f" (holdfast guard ack {quote(type)})" if type else ""
        waiting.append((f"ALERT: {one_line(safe(reached), LONGEST_REASON)}{freed}", "yellow"))
    return StatusLine(first=waiting, limits=_read_limits(workspace))


def _read_limits(workspace: Workspace) -> Mapping[str, Mapping[str, float]]:
    if not workspace.exists() or workspace.journal.head(STREAM) is None:
        return {}
    from holdfast.budgets.rules import budget

    found: Mapping[str, Mapping[str, float]] = load(workspace.journal, budget, STREAM)[0]["limits"]
    return found
