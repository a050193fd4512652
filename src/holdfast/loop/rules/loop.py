"""LOOP: a step machine (plan, execute, evaluate, fix) that resumes at the exact task.

The rules of the `loop:<track>` streams, whose view is the track's `metadata.json`. Taking part in the
track's lock, running programs and finding plans is composed in `holdfast.loop`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.kernel import conflicts
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote
from holdfast.loop.rules import document as text_of
from holdfast.loop.rules.changes import (
    SET,
    conflicts_of,
    join_changes,
    joined_unseen,
    met,
    place_name,
)
from holdfast.loop.rules.changes import apply as changed
from holdfast.loop.rules.checkpoint import newest
from holdfast.loop.rules.decisions import decide
from holdfast.loop.rules.model import LONGEST_TRACK, METADATA, MIRRORED, TRACKS, LoopState

if TYPE_CHECKING:
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change


__all__ = ["absorb", "apply", "decide", "initial", "render", "stream_of"]


def stream_of(track: str) -> str:
    """The stream of a track; an id that could lead elsewhere is refused."""
    plain = track.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or track.startswith((".", "-")) or len(track) > LONGEST_TRACK:
        raise Usage(
            f"{track!r} cannot be the id of a track.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_TRACK}, no '.' in front.",
        )
    return f"loop:{track}"


def initial(stream: str) -> LoopState:
    track = stream.partition(":")[2]
    return {
        "track": track,
        "folder": f"{TRACKS}/{track}",
        "opened": False,
        "document": {},
        "order": {},
        "last": "",
        "attempts": 0,
        "escalated": None,
    }


def apply(state: LoopState, event: Event) -> LoopState:
    kind, body = event["kind"], event["body"]
    after: LoopState = {**state, "last": event["id"]}
    if not isinstance(body, dict):
        return after
    if body.get("folder"):
        after = {**after, "opened": True, "folder": body["folder"]}
    if "changes" in body:
        after["opened"] = True
        after["document"] = changed(state["document"], body["changes"])
    if kind in ("edited_outside", "settled"):
        after.update(conflicts.after(state, body))  # type: ignore[typeddict-item]
    if kind == "edited_outside":
        known = {**state["order"], **body["order"]}
        after["order"] = {place: keys for place, keys in known.items() if keys}
    elif kind == "attempt_begun":
        after["attempts"] = body["number"]
    elif kind == "escalated":
        after["escalated"] = {"step": body["step"], "reason": body["reason"]}
    elif kind in ("started", "advanced"):
        after["escalated"] = None
    return after


def absorb(state: LoopState, base: LoopState, change: Change, now: int) -> list[tuple[str, Any]]:
    """What others wrote into the file, key by key. A file that cannot be read is refused, so
    that it is never written over."""
    if change["kind"] == "removed":
        return []
    try:
        if change["kind"] == "broken":
            raise text_of.Corrupt(change["reason"])
        theirs = text_of.parse(change["text"])
    except text_of.Corrupt as problem:
        raise corrupt(state, change["path"], str(problem)) from None
    ours = state["document"]
    both: list[Any] = []
    if change["base"] >= 0 or not ours:
        changes = join_changes(ours, base["document"] if ours else {}, theirs)
        if base["document"] and ours:
            changes, both = met(ours, base["document"], changes)
    else:
        is_newer = newest(theirs) >= newest(ours)
        changes = joined_unseen(ours, theirs, theirs_is_newer=is_newer)
    changes += _mirrored(ours, changed(ours, changes))
    order = _order_changes(state, theirs)
    if not changes and not both and not order and state["opened"]:
        return []
    body: dict[str, Any] = {"path": change["path"], "changes": changes, "order": order}
    if not state["opened"]:
        body["folder"] = change["path"].rpartition("/")[0]
    if both:
        body["conflicts"] = conflicts_of(change["path"], ours, both)
    places = (place_name(each[1]) for each in changes)
    body |= conflicts.settled_by(base, change["path"], places)
    return [("edited_outside", body)]


def _mirrored(before: Any, after: Any) -> Iterator[list[Any]]:
    """The changes that make a checkpoint and its progress say the same: what was edited counts, and the
    checkpoint where both were. AMB-LOOP-03"""
    known = (before.get("loop_state") or {}).get("checkpoints") or {}
    for step, checkpoint in ((after.get("loop_state") or {}).get("checkpoints") or {}).items():
        progress = (checkpoint or {}).get("progress") or {}
        seen = known.get(step) or {}
        for name in MIRRORED:
            if name in progress and name in checkpoint and progress[name] != checkpoint[name]:
                place = ["loop_state", "checkpoints", step]
                is_edited_inside = checkpoint[name] == seen.get(name)
                if is_edited_inside:
                    yield [SET, [*place, name], progress[name]]
                else:
                    yield [SET, [*place, "progress", name], checkpoint[name]]


def _order_changes(state: LoopState, theirs: dict[str, Any]) -> dict[str, list[str]]:
    """Where their keys stand otherwise than ours did; an empty list forgets."""
    found = text_of.orders(theirs)
    changes = {place: keys for place, keys in found.items() if state["order"].get(place) != keys}
    gone: dict[str, list[str]] = {place: [] for place in state["order"] if place not in found}
    return {**changes, **gone}


def corrupt(state: LoopState, path: str, reason: str) -> HoldfastError:
    """The refusal to touch a file that cannot be read, with the way back to a good one."""
    what = "is corrupt"
    if reason.startswith("a link to "):
        what, way = "cannot be used", "Let the folder be the link, and not the file in it."
    elif state["last"]:
        good = state["last"][:8]
        way = (
            f"The last good version is record {good}: `holdfast restore {quote(good)}` writes it again and "
            f"keeps a copy of the broken file. `holdfast show {quote(good)}` shows it."
        )
    else:
        way = f"No version of it is in the journal; git may have one: git log -- {quote(path)}"
    return HoldfastError(
        f"{path} {what} and was left as it is: {reason}.", hint=way, kind="corrupt_metadata"
    )


def render(state: LoopState) -> dict[str, str]:
    if not state["opened"]:
        return {}
    return {f"{state['folder']}/{METADATA}": text_of.write(state["document"], state["order"])}
