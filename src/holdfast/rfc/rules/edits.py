"""Edits that others made in checkpoint.md or state.json, as a record, and the effect of that record."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Unparsable
from holdfast.rfc.rules import budget, document, state_file
from holdfast.rfc.rules.model import (
    MOST_LINES,
    STATE_FILE,
    in_order,
    sections_in,
    strictness_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.views.reconcile import Change
    from holdfast.rfc.rules.model import Group, Meta, RfcState


def absorb(state: RfcState, base: RfcState, change: Change, now: int) -> list[tuple[str, Any]]:
    """The record of an edit. `base` is the state that the editor saw in the file."""
    if change["kind"] != "edited":
        return []
    empty: dict[str, Any] = {
        "path": change["path"],
        "set": {},
        "unset": [],
        "groups": [],
        "removed": [],
    }
    empty |= {"meta": {}, "extra": None}
    is_state = change["path"].endswith(STATE_FILE)
    found = (_edited_fields if is_state else _edited_checkpoint)(state, base, change["text"])
    body = {**empty, **found}
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
        theirs = state_file.read(text)
    except ValueError as problem:
        raise Unparsable(str(problem)) from None
    theirs.pop("rfc_id", None)
    nothing = object()
    seen, ours = base["fields"], state["fields"]
    changed = {
        key: value
        for key, value in theirs.items()
        if value not in (seen.get(key, nothing), ours.get(key, nothing))
    }
    if not ours:
        changed["rfc_id"] = state["id"]
    # A key of the schema that is missing is written again; another key was removed on purpose.
    gone = [key for key in seen if key not in theirs and key not in state_file.KEYS]
    return {"set": changed, "unset": [key for key in gone if key in ours]}


def _edited_checkpoint(state: RfcState, base: RfcState, text: str) -> dict[str, Any]:
    read = document.Parsed(text)
    if read.fatal:
        raise Unparsable(read.fatal)
    if read.id != state["id"]:
        raise Unparsable(f"line 1: it is the checkpoint of {read.id!r:.60}, not {state['id']}")
    theirs = {one["key"]: budget.compress(one["key"], one["sections"]) for one in read.groups}
    for key, sections in theirs.items():
        try:
            budget.check(key, sections, lenient=True)
        except HoldfastError as error:
            what = error.message.partition("\n")[0]
            raise Unparsable(f"line {read.spans[key][0]}: {what}") from None
    groups = [
        {"key": key, "sections": sections, "written": 0}
        for key, sections in theirs.items()
        if sections not in (sections_in(base, key), sections_in(state, key))
    ]
    changed: dict[str, Any] = {}
    if read.version > version_of(state["fields"]):
        changed["checkpoint_version"] = read.version
    if read.strictness not in (strictness_of(base["fields"]), strictness_of(state["fields"])):
        changed["strictness"] = read.strictness
    ours = [group["key"] for group in state["groups"]]
    shown = [group["key"] for group in base["groups"]]
    return {
        "set": changed,
        "groups": groups,
        "removed": [key for key in shown if key not in theirs and key in ours],
        "meta": _edited_meta(state["meta"], base["meta"], read.meta),
        "extra": None if read.extra in (base["extra"], state["extra"]) else read.extra,
    }


def _edited_meta(ours: Meta, shown: Meta, theirs: Meta) -> dict[str, Any]:
    """The changed parts of Meta. The file holds no digest of the evidence: ours is not compared."""
    changed: dict[str, Any] = {}
    for name in ("last_phase", "round", "extra"):
        if theirs[name] not in (shown[name], ours[name]):
            changed[name] = theirs[name]
    without_digest = [{**one["artifacts"], "evidence_digest": ""} for one in (shown, ours)]
    if theirs["artifacts"] not in without_digest:
        changed["artifacts"] = {**theirs["artifacts"]}
    return changed


def apply(state: RfcState, body: Any) -> RfcState:
    """The state after an edit."""
    fields = state_file.merge(state["fields"], body["set"])
    for key in body["unset"]:
        fields.pop(key, None)
    edited: list[Group] = [
        {
            "key": group["key"],
            "sections": group["sections"],
            "written": version_of(fields),
            "by_hand": _by_hand(state, group),
        }
        for group in body["groups"]
    ]
    keys = {group["key"] for group in edited}
    kept = [group for group in state["groups"] if group["key"] not in keys | {*body["removed"]}]
    move = state["move"]
    if move is not None and move["owed"] in keys:
        move = {**move, "owed": ""}
    moved = not {"current_phase", "gate_b_round"}.isdisjoint(body["set"])
    return {
        **state,
        "fields": fields,
        "groups": in_order([*kept, *edited]),
        "meta": {**state["meta"], **body["meta"]},
        "extra": state["extra"] if body["extra"] is None else body["extra"],
        "move": move,
        "counted": 0 if moved else state["counted"],
    }


def _by_hand(state: RfcState, edited: Group) -> list[str]:
    """The bullets of an edited group that did not come from an answer."""
    answered: set[str] = set()
    for group in state["groups"]:
        if group["key"] == edited["key"]:
            answered = {bullet for one in group["sections"] for bullet in one["bullets"]}
            answered -= {*group.get("by_hand", [])}
    bullets = [bullet for section in edited["sections"] for bullet in section["bullets"]]
    return [bullet for bullet in bullets if bullet not in answered]
