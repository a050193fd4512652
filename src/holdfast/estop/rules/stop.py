"""The emergency stop in the history: who stopped the agents, why, and who released them.

These are the rules of the stream `stop:workspace`. The latch's file is what holds agents back; this
is its record.
"""

from __future__ import annotations

from holdfast.kernel.rules import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change

    class StopState(TypedDict):
        stopped: bool
        reason: str
        by: str


STREAM = "stop:workspace"


def initial(stream: str) -> StopState:
    return {"stopped": False, "reason": "", "by": ""}


def decide(state: StopState, command: Any, now: int) -> Decision:
    """`{"do": "stop" | "release", "reason": why, "by": who}`"""
    body = {"reason": command["reason"], "by": command["by"]}
    return Decision([("stopped" if command["do"] == "stop" else "released", body)])


def apply(state: StopState, event: Event) -> StopState:
    body = event["body"]
    return {"stopped": event["kind"] == "stopped", "reason": body["reason"], "by": body["by"]}


def absorb(state: StopState, base: StopState, change: Change, now: int) -> list[tuple[str, Any]]:
    return []


def render(state: StopState) -> dict[str, str]:
    return {}
