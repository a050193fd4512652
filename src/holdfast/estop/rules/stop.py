"""The emergency stop, as history: who stopped everything, why, and who let it go on.

The rules of the one `stop:workspace` stream. What holds agents back is the latch's file; this is the
record of it.
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
