"""The line under the prompt: how full the context is, what was spent, what waits for a person."""

from __future__ import annotations

import os

from holdfast import registry
from holdfast.clients.claude import sessions as claude
from holdfast.clients.usage.model import Found
from holdfast.kernel import clock, failures, latch
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.money import dollars
from holdfast.kernel.text import one_line, plural, safe
from holdfast.usage import quotas
from holdfast.usage.spending import note_status_line
from holdfast.usage.usage_limits import local_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from holdfast.kernel.workspace import Workspace

    # By level and type.
    Limits = Mapping[str, Mapping[str, float]]

BETWEEN = " · "
LONGEST_REASON = 60
FULL = 100  # percent
HIGHEST_COST = 1_000_000  # dollars; more is a mistake
_COLOURS = {"red": "31", "yellow": "33", "dim": "2"}


def write(workspace: Workspace, payload: Mapping[str, Any], *, now: int) -> str:
    """Return the line, from what the client sends and what the journal knows. The client's numbers are
    kept, because it tells its context window nowhere else."""
    _keep_numbers(workspace, payload, now)
    session = text_of(payload.get("session_id"))
    added = [show(workspace, session) for show in registry.parts("status_line")]
    limits = {level: numbers for one in added for level, numbers in one.limits.items()}
    parts = [
        *_holding(workspace),
        *(_coloured(*part) for one in added for part in one.first),
        *_numbers(workspace, payload, limits, now),
        *(_coloured(*part) for one in added for part in one.last),
        *_failing(workspace),
        *_unheard(workspace, now),
    ]
    return BETWEEN.join(parts) or _coloured("holdfast", "dim")


def _holding(workspace: Workspace) -> Iterator[str]:
    """Return what stops the agent; it comes first."""
    stopped = latch.read(workspace)
    if stopped is not None:
        yield _coloured(f"STOPPED: {one_line(safe(stopped['reason']), LONGEST_REASON)}", "red")


def _numbers(
    workspace: Workspace, payload: Mapping[str, Any], limits: Limits, now: int
) -> Iterator[str]:
    full = _number(table_of(payload.get("context_window")).get("used_percentage"), FULL)
    if full is not None:
        yield _level(f"context {full:.0f}%", full, limits, "context")
    cost = _number(table_of(payload.get("cost")).get("total_cost_usd"), HIGHEST_COST)
    if cost is not None:
        most = limits.get("stop", {}).get("cost")
        of = f" of ${most:g}" if most is not None else ""
        yield _level(f"{dollars(cost)}{of}", cost, limits, "cost")
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


def _level(text: str, value: float, limits: Limits, type: str) -> str:
    for level, colour in (("stop", "red"), ("alert", "yellow"), ("warning", "yellow")):
        limit = limits.get(level, {}).get(type)
        if limit is not None and value >= limit:
            return _coloured(text, colour)
    return text


def _failing(workspace: Workspace) -> Iterator[str]:
    failed = failures.read(workspace)
    if failed:
        text = f"{plural(len(failed), 'hook')} failed (holdfast doctor)"
        yield _coloured(text, "red")


def _unheard(workspace: Workspace, now: int) -> Iterator[str]:
    """Return how long the server was not heard, and what waits for it here."""
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
    """Return a number, or None for anything else, such as NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= highest else None


def _coloured(text: str, colour: str) -> str:
    if os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"
