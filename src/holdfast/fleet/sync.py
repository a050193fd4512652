"""Sync points: every agent waits for all others, within limits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.fleet.context import updates_life
from holdfast.fleet.roster import list_agents
from holdfast.fleet.rules.model import SYNC_POINTS
from holdfast.fleet.updates import update
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.text import quote

if TYPE_CHECKING:
    from holdfast.fleet.context import AgentResult, FleetContext
    from holdfast.fleet.rules.model import Arrival

    class Standing(TypedDict):
        """`waited` is in milliseconds; `soft` and `hard` say which limit it has reached."""

        state: Literal["WAITING", "COMPLETE"]
        missing: list[str]
        waited: int
        soft: bool
        hard: bool


# A record that is committed wakes a waiting agent. So often, in seconds, it looks all the same.
PAUSE = 5.0
# The shortest time between two looks: the other agents beat all the time.
SHORTEST_PAUSE = 0.2


@updates_life
def sync(context: FleetContext, id: str, point: str, *, wait: bool = False) -> AgentResult:
    """Write the checkpoint before a sync point, and the one after it once all are there; with `wait`, return then.
    FLEET-23"""
    result = update(context, id, {"do": "arrive", "point": point})
    seen = _newest(context)
    found = look(context, point)
    while wait and found["state"] == "WAITING":
        _refuse_overdue(point, found)
        refuse_stopped(context.worktree, "The checkpoint before it is saved.")
        if context.worktree.journal.wait(seen, PAUSE):
            time.sleep(SHORTEST_PAUSE)
        context.refresh()
        # Before the agents are read: an arrival between the two ends the next pause at once.
        seen = _newest(context)
        found = look(context, point)
    if found["state"] == "COMPLETE":
        result = update(context, id, {"do": "leave"})
        result.lines.append(f"Sync {point} complete")
    else:
        _refuse_overdue(point, found)
        result.lines.append(f"WAITING at {point} for {', '.join(found['missing'])}")
        if found["soft"]:
            minutes = found["waited"] // clock.MINUTE
            result.warnings.append(f"Waiting for {minutes} minutes: the soft limit has passed.")
        result.next = [f"holdfast agent sync {quote(id)} {quote(point)}"]
    result.sync = found
    return result


def _newest(context: FleetContext) -> int:
    newest = context.worktree.journal.latest(limit=1)
    return newest[0]["seq"] if newest else 0


def look(context: FleetContext, point: str) -> Standing:
    """Which agents are at a sync point. An agent that is complete, or has passed it, is not missing."""
    arrivals: dict[str, Arrival | None] = {}
    for entry in list_agents(context):
        state = context.agent(entry["agent_id"]).state
        saved = state["checkpoint"] or {}
        passed = f"Sync {point} complete" in saved.get("completed_steps", [])
        if passed or entry["status"] == "COMPLETE":
            arrivals[entry["agent_id"]] = {"point": point, "at": clock.stamp(context.now)}
        else:
            arrivals[entry["agent_id"]] = state["sync"]
    return assess(point, arrivals, context.now)


def assess(point: str, arrivals: Mapping[str, Arrival | None], now: int) -> Standing:
    """Which agents are missing at a sync point, and how long the first one has waited: until now, or until
    the last one arrived. An agent that waits at another point is missing."""
    there = {
        agent: clock.parse(arrival["at"])
        for agent, arrival in arrivals.items()
        if arrival is not None and arrival["point"] == point
    }
    missing = [agent for agent in arrivals if agent not in there]
    until = now if missing else max(there.values(), default=now)
    waited = max(0, until - min(there.values(), default=until))
    is_complete = bool(there) and not missing
    soft, hard = SYNC_POINTS[point]
    return {
        "state": "COMPLETE" if is_complete else "WAITING",
        "missing": missing,
        "waited": waited,
        "soft": not is_complete and waited >= soft,
        "hard": not is_complete and waited >= hard,
    }


def _refuse_overdue(point: str, found: Standing) -> None:
    if found["hard"]:
        missing = ", ".join(found["missing"])
        raise HoldfastError(
            f"Sync {point} has waited {found['waited'] // clock.HOUR} h for {missing}.",
            hint="Decide about each of them: resume, takeover, restart, defer or absorb.",
            kind="sync_overdue",
        )
