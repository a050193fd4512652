"""What others wrote into the two files, as a record, and what that record changes."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Unparsable
from holdfast.rfc.rules import budget, document, fields
from holdfast.rfc.rules.parse import Parsed
from holdfast.rfc.rules.words import MOST_LINES, STATE_FILE, order_of, strictness_of, version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.views.reconcile import Change
    from holdfast.rfc.rules.words import Group, Meta, RfcState


def absorb(state: RfcState, base: RfcState, change: Change, now: int) -> list[tuple[str, Any]]:
    """What an editor changed in one of the two files, against what it showed them."""
    if change["kind"] != "edited":
        return []
    body: dict[str, Any] = {
        "path": change["path"],
        "set": {},
        "unset": [],
        "groups": [],
        "removed": [],
        "meta": {},
        "extra": None,
    }
    empty = {**body}
    if change["path"].endswith(STATE_FILE):
        body |= _edited_fields(state, base, change["text"])
    else:
        body |= _edited_checkpoint(state, base, change["text"])
    if body == empty:
        return []
    lines = document.count(apply(state, body))
    if lines > MOST_LINES:
        raise Unparsable(
            f"with it the checkpoint would have {lines} lines, {MOST_LINES} is the most"
        )
    return [("edited_outside", body)]


def _edited_fields(state: RfcState, base: RfcState, text: str) -> dict[str, Any]:
    try:
        theirs = fields.read(text)
    except ValueError as problem:
        raise Unparsable(str(problem)) from None
    theirs.pop("rfc_id", None)
    nothing = object()
    changed = {
        key: value
        for key, value in theirs.items()
        if base["fields"].get(key, nothing) != value and state["fields"].get(key, nothing) != value
    }
    if not state["fields"]:
        changed["rfc_id"] = state["id"]
    gone = [key for key in base["fields"] if key not in theirs and key not in fields.KEYS]
    return {"set": changed, "unset": [key for key in gone if key in state["fields"]]}


def _edited_checkpoint(state: RfcState, base: RfcState, text: str) -> dict[str, Any]:
    read = Parsed(text)
    said = read.document
    if read.fatal:
        raise Unparsable(read.fatal)
    if said["id"] != state["id"]:
        raise Unparsable(f"line 1: it is the checkpoint of {said['id']!r:.60}, not {state['id']}")
    theirs = {one["key"]: budget.lossless(one["key"], one["sections"]) for one in said["groups"]}
    for key, sections in theirs.items():
        try:
            budget.check(key, sections, lenient=True)
        except HoldfastError as error:
            line = read.spans[key][0]
            raise Unparsable(f"line {line}: {error.message.partition(chr(10))[0]}") from None
    shown = {one["key"]: one["sections"] for one in base["groups"]}
    ours = {one["key"]: one["sections"] for one in state["groups"]}
    groups = [
        {"key": key, "sections": sections, "written": 0}
        for key, sections in theirs.items()
        if sections != shown.get(key) and sections != ours.get(key)
    ]
    changed: dict[str, Any] = {}
    if said["version"] > version_of(state["fields"]):
        changed["checkpoint_version"] = said["version"]
    if said["strictness"] not in (strictness_of(base["fields"]), strictness_of(state["fields"])):
        changed["strictness"] = said["strictness"]
    return {
        "set": changed,
        "groups": groups,
        "removed": [key for key in shown if key not in theirs and key in ours],
        "meta": _edited_meta(state["meta"], base["meta"], said["meta"]),
        "extra": said["extra"] if said["extra"] not in (base["extra"], state["extra"]) else None,
    }


def _edited_meta(ours: Meta, shown: Meta, theirs: Meta) -> dict[str, Any]:
    """The parts of Meta that the editor changed. The file has no digest of the evidence."""
    changed: dict[str, Any] = {}
    for name in ("last_phase", "round", "extra"):
        if theirs[name] not in (shown[name], ours[name]):
            changed[name] = theirs[name]
    artifacts = {**theirs["artifacts"], "evidence_digest": ours["artifacts"]["evidence_digest"]}
    seen = {**shown["artifacts"], "evidence_digest": ours["artifacts"]["evidence_digest"]}
    if artifacts not in (seen, ours["artifacts"]):
        changed["artifacts"] = {**theirs["artifacts"]}
    return changed


def _by_hand(state: RfcState, theirs: Group) -> list[str]:
    """The bullets of an edited group that no answer brought."""
    answered: set[str] = set()
    for group in state["groups"]:
        if group["key"] == theirs["key"]:
            bullets = {bullet for one in group["sections"] for bullet in one["bullets"]}
            answered = bullets.difference(group.get("by_hand", []))
    return [
        bullet
        for section in theirs["sections"]
        for bullet in section["bullets"]
        if bullet not in answered
    ]


def apply(state: RfcState, body: Any) -> RfcState:
    """The state with an outside edit in it."""
    after = fields.merged(state["fields"], body["set"])
    for key in body["unset"]:
        after.pop(key, None)
    theirs: dict[str, Group] = {group["key"]: group for group in body["groups"]}
    kept = [one for one in state["groups"] if one["key"] not in {*theirs, *body["removed"]}]
    written: list[Group] = [
        {
            "key": key,
            "sections": one["sections"],
            "written": version_of(after),
            "by_hand": _by_hand(state, one),
        }
        for key, one in theirs.items()
    ]
    moved = not {"current_phase", "gate_b_round"}.isdisjoint(body["set"])
    move = state["move"]
    if move is not None and move["owed"] in theirs:
        move = {**move, "owed": ""}
    return {
        **state,
        "fields": after,
        "groups": sorted([*kept, *written], key=lambda one: order_of(one["key"])),
        "meta": {**state["meta"], **body["meta"]},
        "extra": body["extra"] if body["extra"] is not None else state["extra"],
        "move": move,
        "counted": 0 if moved else state["counted"],
    }
