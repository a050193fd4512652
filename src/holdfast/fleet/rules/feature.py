"""A feature and its owner: one agent at a time.

The rules of the `feature:<epic>/<feature>` streams. They have no file: the agents' files name their feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.rules import Decision, absorb_nothing, render_nothing
from holdfast.kernel.text import quote

if TYPE_CHECKING:
    from holdfast.journal.interface import Event

    class FeatureState(TypedDict):
        """`decision` is the last decision about it; `wave` is 2 once it was deferred."""

        feature: str
        owner: str
        session: str
        wave: int
        decision: str
        decided_at: str


# The decisions of a person or the Primary about a silent agent; AMB-FLEET-15.
DECISIONS = ("resume", "reassign", "restart", "defer_wave_2", "primary_absorbs")


def initial(stream: str) -> FeatureState:
    return {
        "feature": stream.partition(":")[2].rpartition("/")[2],
        "owner": "",
        "session": "",
        "wave": 1,
        "decision": "",
        "decided_at": "",
    }


def decide(state: FeatureState, command: Any, now: int) -> Decision:
    """`claim` (by an agent, perhaps from another) and `release`."""
    body: dict[str, Any] = {"agent": command["agent"], "at": clock.stamp(now)}
    body["decision"] = command.get("decision", "")
    if body["decision"] not in ("", *DECISIONS):
        raise Usage(f"{body['decision']} is no decision.", hint=f"One of {', '.join(DECISIONS)}.")
    if command["do"] == "claim":
        if state["owner"] not in ("", command["agent"], command.get("from", "")):
            raise Conflict(
                f"{state['feature']} belongs to {state['owner']}.",
                hint=f"Take it over: holdfast agent takeover {quote(state['owner'])} --by {quote(command['agent'])}",
                kind="feature_taken",
            )
        return Decision([("claimed", {**body, "session": command["session"]})])
    if state["owner"] not in ("", command["agent"]):
        return Decision()
    return Decision([("released", {**body, "wave": command.get("wave", state["wave"])})])


def apply(state: FeatureState, event: Event) -> FeatureState:
    body = event["body"]
    decided: FeatureState = dict(state)  # type: ignore[assignment]
    if body["decision"]:
        decided["decision"], decided["decided_at"] = body["decision"], body["at"]
    if event["kind"] == "claimed":
        return {**decided, "owner": body["agent"], "session": body["session"]}
    if event["kind"] == "released":
        return {**decided, "owner": "", "session": "", "wave": body["wave"]}
    return state


absorb, render = absorb_nothing, render_nothing
