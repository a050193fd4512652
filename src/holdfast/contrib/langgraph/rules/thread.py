"""Threads of graphs: which checkpoint of each namespace is the newest, and what waits for a person.

The values stay in the records. The state has a fixed size, however long the thread is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel.blank import blank
from holdfast.kernel.errors import Conflict
from holdfast.kernel.rules import Decision, absorb_nothing, render_nothing

if TYPE_CHECKING:
    from holdfast.journal.interface import Event


class Waits(TypedDict):
    """What a graph asks a person: the checkpoint, the ids of the interrupts, and their redacted text."""

    checkpoint: str
    interrupts: list[str]
    asks: str


class ThreadState(TypedDict):
    """`last` is the newest record's id. `is_ordered` says that no checkpoint's id is smaller than those before."""

    last: str
    tips: dict[str, str]
    greatest: str
    is_ordered: bool
    step: int | None
    source: str
    waits: Waits | None


# Values come back exactly as they were put: nothing in these records is redacted, and `gc` leaves them.
EXACT = True
PUT, WRITTEN, PRUNED, DELETED = "put", "written", "pruned", "deleted"
# Each run of a subgraph has its own namespace. The newest are in the state; others are looked for.
MOST_TIPS = 32


def initial(stream: str) -> ThreadState:
    return blank(ThreadState, is_ordered=True)


def decide(state: ThreadState, command: Any, now: int) -> Decision:
    """`{"do": "append", "seen": id or None, "records": [[kind, body], ...]}`. `seen` is the newest record that the
    writer has read; None where it has read nothing."""
    seen = command["seen"]
    if seen is not None and seen != state["last"]:
        raise Conflict(
            "Another process wrote to this thread after this one had read it. Nothing of this write was stored.",
            hint="Read the thread's state again, and invoke the graph again.",
            kind="thread_changed",
        )
    return Decision([(kind, body) for kind, body in command["records"]])


def apply(state: ThreadState, event: Event) -> ThreadState:
    kind, body = event["kind"], event["body"]
    if kind == DELETED:
        return {**initial(""), "last": event["id"]}
    state = {**state, "last": event["id"]}
    namespace, id = body.get("ns"), body.get("checkpoint")
    if kind == WRITTEN and body["asks"] is not None and not namespace:
        asks = body["asks"]
        state["waits"] = {"checkpoint": id, "interrupts": asks["interrupts"], "asks": asks["asks"]}
    if kind == PRUNED:
        state["tips"], state["greatest"] = body["tips"], max(body["tips"].values(), default="")
    if kind != PUT:
        return state
    tips = state["tips"]
    if id >= tips.get(namespace, ""):
        state["tips"] = {**tips, namespace: id}
        while len(state["tips"]) > MOST_TIPS:
            others = [one for one in state["tips"] if one]
            del state["tips"][min(others, key=lambda one: state["tips"][one])]
        if not namespace:
            state["step"], state["source"] = body["step"], body["source"]
            if state["waits"] and state["waits"]["checkpoint"] != id:
                state["waits"] = None
    state["is_ordered"] = state["is_ordered"] and id >= state["greatest"]
    state["greatest"] = max(state["greatest"], id)
    return state


absorb, render = absorb_nothing, render_nothing
