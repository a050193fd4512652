"""Who tried to speak for a person and was refused, as history: the one `people:workspace` stream."""

from __future__ import annotations

from holdfast.kernel.rules import Decision, absorb_nothing, render_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.journal.interface import Event

    class Refused(TypedDict):
        """One attempt. `seen` names variables of an agent's environment, never their values."""

        purpose: str
        why: str
        seen: list[str]
        at: str
        actor: str

    class PeopleState(TypedDict):
        refused: int
        latest: list[Refused]


# Its state is made from records alone; see `kernel.state`.
PROVEN = True
STREAM = "people:workspace"
# So many of the latest attempts stay in the state; all of them are in the records.
KEPT = 20


def initial(stream: str) -> PeopleState:
    return {"refused": 0, "latest": []}


def decide(state: PeopleState, command: Any, now: int) -> Decision:
    """`{"do": "refuse", "purpose": what was wanted, "why": why not, "seen": [variables]}`"""
    body = {name: command[name] for name in ("purpose", "why", "seen")}
    return Decision([("refused", body)])


def apply(state: PeopleState, event: Event) -> PeopleState:
    if event["kind"] != "refused":
        return state
    body = event["body"]
    one: Refused = {
        "purpose": body["purpose"],
        "why": body["why"],
        "seen": body["seen"],
        "at": event["at"],
        "actor": event["actor"],
    }
    return {"refused": state["refused"] + 1, "latest": [*state["latest"], one][-KEPT:]}


absorb, render = absorb_nothing, render_nothing
