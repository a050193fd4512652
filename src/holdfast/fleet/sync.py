"""Sync points: everybody waits for everybody, within limits."""

from __future__ import annotations

import time

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet.agents import update
from holdfast.fleet.roster import listing
from holdfast.fleet.rules.sync import standing
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.fleet.agents import Told
    from holdfast.fleet.context import Post
    from holdfast.fleet.rules.model import Arrival
    from holdfast.fleet.rules.sync import Standing

# How often somebody who waits looks again, in seconds.
PAUSE = 5.0


def arrive(post: Post, agent: str, point: str) -> tuple[Told, Standing]:
    """The checkpoint before a sync point, and the one after it once all are there; FLEET-23."""
    told = update(post, agent, {"do": "arrive", "point": point})
    found = look(post, point)
    if found["state"] == "COMPLETE":
        told = update(post, agent, {"do": "leave"})
        told.lines.append(f"Sync {point} complete")
    return told, found


def wait(post: Post, agent: str, point: str, *, pause: float = PAUSE) -> tuple[Told, Standing]:
    """Until all are there, or the hard limit is reached."""
    told, found = arrive(post, agent, point)
    while found["state"] == "WAITING":
        refuse_overdue(point, found)
        refuse_stopped(post.worktree, "The checkpoint before it is saved.")
        time.sleep(pause)
        post.now = server_time.now(post.epic.workspace)
        found = look(post, point)
    if told.agent.state["sync"] is not None:
        told = update(post, agent, {"do": "leave"})
        told.lines.append(f"Sync {point} complete")
    return told, found


def look(post: Post, point: str) -> Standing:
    """Who is there. One that is complete, or has gone on already, keeps nobody waiting."""
    arrivals: dict[str, Arrival | None] = {}
    for entry in listing(post.epic, post.now):
        state = post.agent(entry["agent_id"]).state
        saved = state["checkpoint"] or {}
        passed = f"Sync {point} complete" in saved.get("completed_steps", [])
        if passed or entry["status"] == "COMPLETE":
            arrivals[entry["agent_id"]] = {"point": point, "at": clock.stamp(post.now)}
        else:
            arrivals[entry["agent_id"]] = state["sync"]
    return standing(point, arrivals, post.now)


def refuse_overdue(point: str, found: Standing) -> None:
    if found["hard"]:
        missing = ", ".join(found["missing"])
        raise HoldfastError(
            f"Sync {point} has waited {found['waited'] // clock.HOUR} h for {missing}.",
            hint="Decide about each of them: resume, takeover, restart, defer or absorb.",
            kind="sync_overdue",
        )
