"""The line under the prompt: how full the context is, what was spent, what waits for a person."""

from __future__ import annotations

import os

from holdfast.budgets import alerts
from holdfast.budgets.rules import budget
from holdfast.clients.claude import sessions as claude
from holdfast.clients.usage.model import Found
from holdfast.kernel import clock, failures, latch
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.kernel.text import one_line, plural, quote, safe
from holdfast.session import quotas
from holdfast.session.spending import note_status_line
from holdfast.session.usage_limits import local_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from holdfast.kernel.workspace import Workspace

BETWEEN = " · "
LONGEST_REASON = 60
FULL = 100  # percent
HIGHEST_COST = 1_000_000  # dollars; more is a mistake
_COLOURS = {"red": "31", "yellow": "33", "dim": "2"}


def write(workspace: Workspace, payload: Mapping[str, Any], *, now: int) -> str:
    """The line, from what the client sends and what the journal knows. The client's numbers are
    kept, because it tells its context window nowhere else."""
    _keep_numbers(workspace, payload, now)
    parts = [
        *_holding(workspace, text_of(payload.get("session_id"))),
        *_numbers(workspace, payload, now),
        *_waiting(workspace),
        *_unheard(workspace, now),
    ]
    return BETWEEN.join(parts) or _coloured("holdfast", "dim")


def _holding(workspace: Workspace, session: str) -> Iterator[str]:
    """What stops the agent; it comes first."""
    stopped = latch.read(workspace)
    if stopped is not None:
        yield _coloured(f"STOPPED: {one_line(safe(stopped['reason']), LONGEST_REASON)}", "red")
    for type, reached in alerts.read(workspace, session).items():
        freed = f" (holdfast guard ack {quote(type)})" if type else ""
        yield _coloured(f"ALERT: {one_line(safe(reached), LONGEST_REASON)}{freed}", "yellow")


def _numbers(workspace: Workspace, payload: Mapping[str, Any], now: int) -> Iterator[str]:
    limits = _limits(workspace)
    full = _number(table_of(payload.get("context_window")).get("used_percentage"), FULL)
    if full is not None:
        yield _level(f"context {full:.0f}%", full, limits, "context")
    cost = _number(table_of(payload.get("cost")).get("total_cost_usd"), HIGHEST_COST)
    if cost is not None:
        most = limits.get("stop", {}).get("cost")
        of = f" of ${most:g}" if most is not None else ""
        yield _level(f"${cost:.2f}{of}", cost, limits, "cost")
    found = Found()
    claude.status_line({**payload}, clock.precise(now), found)
    held = quotas.still_held("claude", found.quotas, now) if found.quotas else []
    nearest = quotas.fullest(held)
    if nearest is None:
        return
    percent, when = nearest["percent"], nearest["resets_at"]
    text = f"{nearest['name']} limit {int(percent)}%"
    text += f", resets {local_time(when)}" if when else ""
    is_full = percent >= quotas.FULL
    yield _coloured(text, "red") if is_full else _level(text, percent, limits, "quota")


def _limits(workspace: Workspace) -> Mapping[str, Mapping[str, float]]:
    """The limits of the budget's last check; none without a budget."""
    if not workspace.exists() or workspace.journal.head(budget.STREAM) is None:
        return {}
    found: Mapping[str, Mapping[str, float]] = load(workspace.journal, budget, budget.STREAM)[0][
        "limits"
    ]
    return found


def _level(text: str, value: float, limits: Mapping[str, Mapping[str, float]], type: str) -> str:
    for level, colour in (("stop", "red"), ("alert", "yellow"), ("warning", "yellow")):
        limit = limits.get(level, {}).get(type)
        if limit is not None and value >= limit:
            return _coloured(text, colour)
    return text


def _waiting(workspace: Workspace) -> Iterator[str]:
    if workspace.exists() and workspace.journal.heads("gate:"):
        from holdfast.gates.lookup import open_gates

        count = sum(1 for gate in open_gates(workspace) if gate["presented_at"])
        if count:
            text = plural(count, "gate waits", "gates wait")
            yield _coloured(f"{text} (holdfast gate list)", "yellow")
    failed = failures.read(workspace)
    if failed:
        text = f"{plural(len(failed), 'hook')} failed (holdfast doctor)"
        yield _coloured(text, "red")


def _unheard(workspace: Workspace, now: int) -> Iterator[str]:
    """How long the server was not heard, and what waits for it here."""
    if not os.path.exists(os.path.join(workspace.home, "forward")):
        return
    from holdfast.remote import facts

    known = facts.gather(workspace)
    if facts.is_old(known["heard_at"], now):
        text = f"server not heard {facts.how_long(known['heard_at'], now)}"
        waits = f", {known['undelivered']} wait" if known["undelivered"] else ""
        yield _coloured(f"{text}{waits} (holdfast status)", "yellow")


def _keep_numbers(workspace: Workspace, payload: Mapping[str, Any], now: int) -> None:
    if os.path.isdir(workspace.home) and payload.get("session_id"):
        try:
            note_status_line(workspace, payload, now=now)
        except HoldfastError:
            return  # busy, or without a session: the next one comes in a moment


def _number(value: object, highest: float) -> float | None:
    """A number, or None for anything else, such as NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= highest else None


def _coloured(text: str, colour: str) -> str:
    if os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"
