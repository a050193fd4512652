"""The calls that have no result yet: where a session dies, their outcome is unknown.

And those that the person refused, which are neither done nor failed.
"""

from __future__ import annotations

from holdfast.clients.conversation import CUT, TOOL_CALLS, shorten
from holdfast.kernel.text import one_line
from holdfast.observe.model import ROOM, clipped, newest, size_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.clients.conversation import SessionEvent
    from holdfast.observe.model import Observation, OpenCall, Refusal

# What looks or plans changes nothing, and a subagent has its own list.
_CHANGES_NOTHING = frozenset(("read", "search", "plan", "tasks", "agent"))
# A call without a result is over after this many others: its line was lost, or the client wrote none.
MOST_CALLS_SINCE, MOST_CALLS_OF_EARLIER_TURN = 12, 3
LONGEST_CALL = 400
LONGEST_WORDS = 300
_OWN = ("holdfast ", "mcp__holdfast", "mcp_holdfast", "holdfast-", "holdfast_")


def open_call(seen: Observation, event: SessionEvent) -> None:
    """Add a call that may change something, until its result comes."""
    text = f"edit of {event.path}" if event.kind == "edit" else event.text.strip()
    is_one = event.kind in TOOL_CALLS and event.kind not in _CHANGES_NOTHING and not event.again
    if not is_one or not text or not event.id or len(event.id) > 100 or text.startswith(_OWN):
        return
    calls: dict[str, OpenCall] = seen["open"]
    calls.pop(event.id, None)
    text = clipped(shorten(text, LONGEST_CALL).replace(CUT, " … "), LONGEST_CALL)
    calls[event.id] = {"text": text, "at": event.at[:40], "call": seen["calls"]}
    while len(calls) > 1 and (
        seen["calls"] - next(iter(calls.values()))["call"] > MOST_CALLS_SINCE
        or size_of(calls) > ROOM["open"]
    ):
        del calls[next(iter(calls))]


def close_call(seen: Observation, event: SessionEvent) -> OpenCall | None:
    """Take a call out that has ended. One that runs on behind the session stays, and is marked."""
    calls = seen["open"]
    call = calls.get(event.id)
    if call is None:
        return None
    if event.end == "running":
        call["behind"] = True
    else:
        del calls[event.id]
    return call


def refuse_call(seen: Observation, call: OpenCall | None, words: str) -> None:
    """Keep what the person refused, once, with what they said."""
    text = clipped(one_line(call["text"]), 160) if call else ""
    said = clipped(one_line(words), LONGEST_WORDS)
    if not text and not said:
        return
    others = [one for one in seen["refused"] if (one["text"], one["words"]) != (text, said)]
    refusal: Refusal = {"text": text, "words": said, "call": seen["calls"], "turn": seen["prompts"]}
    seen["refused"] = newest([*others, refusal], 8, ROOM["refused"])


def cut_off(seen: Observation) -> list[OpenCall]:
    """The calls of which no result was seen, the latest first. An older observation knows of none."""
    asked = seen["request"]["call"] if seen["request"] else 0
    found = []
    for call in reversed(seen.get("open", {}).values()):
        most = MOST_CALLS_SINCE if call["call"] > asked else MOST_CALLS_OF_EARLIER_TURN
        if seen["calls"] - call["call"] <= most:
            found.append(call)
    return found
