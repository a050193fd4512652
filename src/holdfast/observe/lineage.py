"""Sessions that only go on with the work of one before, and those that did nothing. Pure."""

from __future__ import annotations

from holdfast.clients.conversation import LONGEST_REPLY, lets_go_on
from holdfast.observe.model import ROOM, clipped, newest, pick, size_of
from holdfast.observe.story import close_turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.observe.model import Observation, Said


def goes_on(seen: Observation) -> bool:
    """Return whether a session began with no request of its own, but with a word to go on."""
    return seen["first"] is not None and lets_go_on(seen["first"]["text"])


def is_trivial(seen: Any) -> bool:
    """Return whether nothing was done in a session: a question was answered, or not even that."""
    return not seen["calls"] and not seen["edits"]


def inherit(seen: Observation, before: Observation) -> Observation:
    """The observation with what holds since the session before it: its request, if this one has none of its own,
    rules, answers, and a plan and tasks where this one made none."""
    calls = -1  # before all that this session did
    rulings = {one["text"]: {**one, "call": calls} for one in before["rulings"]}
    answers = [{**one, "call": calls} for one in before["answers"]]
    mine = {one["text"]: one for one in seen["rulings"]}
    inherited: Any = {
        "asked": request_in(seen) or request_in(before),
        "rulings": newest(list({**rulings, **mine}.values()), 20, ROOM["rulings"]),
        "answers": newest([*answers, *seen["answers"]], 10, ROOM["answers"]),
        "plan": seen["plan"] or before["plan"],
        "tasks": seen["tasks"] or before["tasks"],
        "first": before["first"] or seen["first"],
        "story": _join_stories(before.get("story", []), seen.get("story", [])),
    }
    last = (seen["request"] or {"text": ""})["text"]
    if len(last) > LONGEST_REPLY and not lets_go_on(last):
        del inherited["asked"]
    return {**seen, **inherited}


def _join_stories(before: list[Any], mine: list[Any]) -> list[Any]:
    """Return what happened in the session before, as far as this one's story leaves room, and this one's. Its turns
    are numbered back from the first of this one."""
    room = ROOM["story"] - size_of(mine)
    if not before:
        return mine
    first = mine[0] if mine else [0, 0]
    turns, places = first[0] - before[-1][0] - 1, first[1] - before[-1][1] - 2
    kept = pick(before[::-1], room, lambda passage: size_of(passage) + 2)
    joined: Any = {"story": [[one[0] + turns, one[1] + places, *one[2:]] for one in kept[::-1]]}
    close_turn(joined)  # the session ended, and with it its last turn
    return [*joined["story"], *mine]


def request_in(seen: Observation) -> Said | None:
    """The last request that says what to do. A short one does so too if it is more than a word to go on."""
    request, asked = seen["request"], seen.get("asked")
    if asked is None and request is not None and not lets_go_on(request["text"]):
        return {**request, "text": clipped(request["text"], ROOM["asked"] - 200)}
    return asked
