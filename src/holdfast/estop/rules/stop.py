"""The emergency stop in the history: who stopped the agents, why, and who released them.

These are the rules of the stream `stop:workspace`. The latch's file is what holds agents back; this
is its record.
"""

from __future__ import annotations

from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.rules import Decision, Person, absorb_nothing, render_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    from holdfast.journal.interface import Event

    class Lifted(TypedDict):
        """A stop that a person lifted, and the person; no person in records of earlier versions."""

        reason: str
        by: str
        person: dict[str, Any] | None

    class StopState(TypedDict):
        stopped: bool
        reason: str
        by: str
        lifted: NotRequired[Lifted]


# Its state is made from records alone; see `kernel.state`.
PROVEN = True
STREAM = "stop:workspace"


def initial(stream: str) -> StopState:
    return {"stopped": False, "reason": "", "by": ""}


def decide(state: StopState, command: Any, now: int) -> Decision:
    """`{"do": "stop", "reason": why, "by": who}`; `{"do": "release", "reason": why, "by": a person}`"""
    if command["do"] == "stop":
        body = {"reason": command["reason"], "by": command["by"]}
        return Decision([("stopped", body)])
    person = command["by"]
    if not isinstance(person, Person):
        raise NotAllowed("Only a person may lift the emergency stop.", kind="no_person")
    body = {"reason": command["reason"], "by": person["name"], "person": person}
    # `holds`: it was lifted before, without the signature that is asked for.
    return Decision([("released", body)] if state["stopped"] or command.get("holds") else [])


def apply(state: StopState, event: Event) -> StopState:
    body = event["body"]
    if event["kind"] == "stopped":
        return {"stopped": True, "reason": body["reason"], "by": body["by"]}
    if event["kind"] != "released":
        return state
    before = state if state["stopped"] else state.get("lifted", state)
    lifted: Lifted = {"reason": before["reason"], "by": before["by"], "person": body.get("person")}
    return {"stopped": False, "reason": body["reason"], "by": body["by"], "lifted": lifted}


absorb, render = absorb_nothing, render_nothing
