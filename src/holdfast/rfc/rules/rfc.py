"""The rules of the `rfc:<id>` streams. checkpoint.md and state.json are two views of one stream.

rfc.md and evidence.json belong to their author and are only read, in `holdfast.rfc`.
"""

from __future__ import annotations

from holdfast.kernel import clock, conflicts
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from holdfast.kernel.rules import Decision, Unparsable
from holdfast.kernel.text import quote
from holdfast.rfc.rules import budget, document, state_file
from holdfast.rfc.rules.model import (
    CHECKPOINT_FILE,
    KEPT_ROUNDS,
    MOST_LINES,
    NO_ARTIFACTS,
    STATE_FILE,
    STRICTNESS,
    heading_of,
    in_order,
    is_feedback,
    path_of,
    phase_of,
    round_of,
    rounds_of,
    sections_in,
    sections_of,
    strictness_of,
    unknown,
    version_of,
    word_of,
)
from holdfast.rfc.rules.transitions import (
    advise,
    changes,
    count_failure,
    group_for,
    is_done,
    owed_after,
    round_to_count,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change
    from holdfast.rfc.rules.model import Group, Meta, RfcState, Section

    # A value that an editor changed: its name in conflicts, the part of the record that makes the editor's
    # value count, and where the journal changed it, too, both values.
    Edit = tuple[str, dict[str, Any], tuple[Any, Any] | None]

__all__ = ["absorb", "apply", "decide", "initial", "render"]


def absorb(state: RfcState, base: RfcState, change: Change, now: int) -> list[tuple[str, Any]]:
    """The record of an edit. `base` is the state that the editor saw in the file. A value that changed in
    the journal, too, since then is a conflict."""
    if change["kind"] != "edited":
        return []
    path = change["path"]
    read = _compare_fields if path.endswith(STATE_FILE) else _compare_checkpoint
    edits = read(state, base, change["text"])
    if not edits:
        return []
    body = _body(path, [part for _, part, met in edits if met is None])
    found = [
        conflicts.find(path, place, *met, _body(path, [part]))
        for place, part, met in edits
        if met is not None
    ]
    body |= {"conflicts": found} if found else {}
    body |= conflicts.settled_by(base, path, [place for place, _, met in edits if met is None])
    lines = document.count(apply_edit(state, body))
    if lines > MOST_LINES:
        raise Unparsable(
            f"with it the checkpoint would have {lines} lines, {MOST_LINES} is the most"
        )
    return [("edited_outside", body)]


def _body(path: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The body of a record that makes these edits."""
    body: dict[str, Any] = {"path": path, "set": {}, "unset": [], "groups": [], "removed": []}
    body |= {"meta": {}, "extra": None}
    for part in parts:
        for name, value in part.items():
            is_dict = isinstance(value, dict)
            body[name] = {**body[name], **value} if is_dict else [*(body[name] or []), *value]
    return body


def _compare_fields(state: RfcState, base: RfcState, text: str) -> list[Edit]:
    try:
        theirs = state_file.read(text)
    except ValueError as problem:
        raise Unparsable(str(problem)) from None
    is_named = theirs.pop("rfc_id", None) is not None
    seen, ours = base["fields"], state["fields"]
    changed = {
        key: value
        for key, value in theirs.items()
        if not any(key in fields and fields[key] == value for fields in (seen, ours))
    }
    edits = [_compare_field(state, base, key, value) for key, value in changed.items()]
    # A key of the schema that is missing is written again; another key was removed on purpose.
    gone = [key for key in seen if key not in theirs and key not in state_file.KEYS]
    edits += [_compare_field(state, base, key, conflicts.MISSING) for key in gone if key in ours]
    if not ours and (is_named or not edits):
        edits.append(("rfc_id", {"set": {"rfc_id": state["id"]}}, None))
    return edits


def _compare_field(state: RfcState, base: RfcState, key: str, theirs: Any) -> Edit:
    ours = state["fields"].get(key)
    is_met = bool(base["fields"]) and ours != base["fields"].get(key)
    if key == "updated_at" and is_met:
        return key, {}, None  # ours is the newer one
    if key == "checkpoint_version":
        is_met = False  # the larger one counts
    part = {"unset": [key]} if theirs is conflicts.MISSING else {"set": {key: theirs}}
    return key, part, (ours, theirs) if is_met else None


def _compare_checkpoint(state: RfcState, base: RfcState, text: str) -> list[Edit]:
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
    edits: list[Edit] = []
    if read.version > version_of(state["fields"]):
        edits.append(_compare_field(state, base, "checkpoint_version", read.version))
    if read.strictness not in (strictness_of(base["fields"]), strictness_of(state["fields"])):
        edits.append(_compare_field(state, base, "strictness", read.strictness))
    edits += [
        _compare_group(state, base, key, sections)
        for key, sections in theirs.items()
        if sections not in (sections_in(base, key), sections_in(state, key))
    ]
    ours = [group["key"] for group in state["groups"]]
    for key in [group["key"] for group in base["groups"]]:
        if key not in theirs and key in ours:
            present = sections_in(state, key)
            is_met = present != sections_in(base, key)
            met = (_text(key, present), conflicts.MISSING) if is_met else None
            edits.append((heading_of(key), {"removed": [key]}, met))
    edits += _compare_meta(state, base, read.meta)
    if read.extra not in (base["extra"], state["extra"]):
        extra = read.extra
        if base["fields"] and state["extra"] != base["extra"]:
            extra = conflicts.merge_lists(base["extra"], state["extra"], extra)
        edits.append(("extra", {"extra": extra}, None))
    return edits


def _compare_group(state: RfcState, base: RfcState, key: str, theirs: list[Section]) -> Edit:
    """Merge an edited group. Bullets of both sides stay, as long as the group has room for them."""
    ours, seen, met = sections_in(state, key), sections_in(base, key), None
    sections = theirs
    if base["fields"] and ours and ours != seen:
        try:
            sections = _merge_sections(seen, ours, theirs)
            budget.check(key, sections, lenient=True)
        except HoldfastError:
            sections, met = theirs, (_text(key, ours), _text(key, theirs))
    part = {"groups": [{"key": key, "sections": sections, "written": 0}]}
    return heading_of(key), part, met


def _text(key: str, sections: list[Section]) -> str:
    return "\n".join(document.group_lines({"key": key, "sections": sections, "written": 0}))


def _merge_sections(
    base: Sequence[Section], ours: Sequence[Section], theirs: Sequence[Section]
) -> list[Section]:
    """The sections of both sides, with the bullets of both."""
    seen, edited = ({one["title"]: one["bullets"] for one in each} for each in (base, theirs))
    merged: list[Section] = []
    for section in ours:
        title, bullets = section["title"], section["bullets"]
        if title in edited or title not in seen:
            both = conflicts.merge_lists(seen.get(title, []), bullets, edited.get(title, []))
            merged.append({"title": title, "bullets": both})
    known = [one["title"] for one in ours]
    return [*merged, *(one for one in theirs if one["title"] not in [*known, *seen])]


def _compare_meta(state: RfcState, base: RfcState, theirs: Meta) -> list[Edit]:
    """The edited values of Meta. The file holds no digest of the evidence: ours is not compared."""
    edits: list[Edit] = []
    for name in ("last_phase", "round", "extra", "artifacts"):
        value: Any = theirs[name]
        ours: Any = state["meta"][name]
        seen: Any = base["meta"][name]
        known = [ours, seen]
        if name == "artifacts":
            known = [{**one, "evidence_digest": ""} for one in known]
        if value in known:
            continue
        is_met = bool(base["fields"]) and ours != seen
        if name == "extra" and is_met:
            value, is_met = conflicts.merge_lists(seen, ours, value), False
        edits.append((name, {"meta": {name: value}}, (ours, value) if is_met else None))
    return edits


def apply_edit(state: RfcState, body: Any) -> RfcState:
    """The state after an edit."""
    fields = state_file.merge(state["fields"], body["set"])
    for key in body["unset"]:
        fields.pop(key, None)
    edited: list[Group] = [
        {
            "key": group["key"],
            "sections": group["sections"],
            "written": version_of(fields),
            "by_hand": _find_by_hand(state, group),
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
        **conflicts.after(state, body),  # type: ignore[typeddict-item]
    }


def _find_by_hand(state: RfcState, edited: Group) -> list[str]:
    """The bullets of an edited group that did not come from an answer."""
    answered: set[str] = set()
    for group in state["groups"]:
        if group["key"] == edited["key"]:
            answered = {bullet for one in group["sections"] for bullet in one["bullets"]}
            answered -= {*group.get("by_hand", [])}
    bullets = [bullet for section in edited["sections"] for bullet in section["bullets"]]
    return [bullet for bullet in bullets if bullet not in answered]


def initial(stream: str) -> RfcState:
    return {
        "id": stream.partition(":")[2],
        "fields": {},
        "meta": {
            "last_phase": "",
            "artifacts": {**NO_ARTIFACTS},
            "round": 0,
            "extra": [],
        },
        "groups": [],
        "extra": [],
        "move": None,
        "counted": 0,
    }


# Deciding
def decide(state: RfcState, command: Any, now: int) -> Decision:
    """`begin`, `adopt` (files without a record), `write` (answers), `move` (a transition), `close`,
    `reopen` and `settle` (a conflict of edits)."""
    what = command["do"]
    if what in ("begin", "adopt"):
        return _begin(state, command, now)
    if not state["fields"]:
        raise unknown(state["id"])
    if what == "settle":
        return conflicts.decide(state, command)
    if what in ("close", "reopen"):
        is_wanted = bool(state.get("closed")) != (what == "close")
        body = {"at": clock.stamp(now)}
        return Decision([("closed" if what == "close" else "reopened", body)] if is_wanted else [])
    if state.get("closed"):
        raise closed(state)
    if what == "write":
        return Decision([("written", _write(state, command, now))])
    if what == "move":
        return _move(state, command, now)
    raise Usage(f"An RFC cannot {what!r}.")


def closed(state: RfcState) -> Conflict:
    """The error for an RFC that a person closed."""
    return Conflict(
        f"{state['id']} was closed at {state.get('closed')}.",
        hint=f"Open it again: holdfast rfc close {quote(state['id'])} --reopen",
        kind="rfc_closed",
    )


def _begin(state: RfcState, command: Any, now: int) -> Decision:
    """With `anew`, the RFC of this id is gone: a person deleted its folder."""
    if state["fields"] and not command.get("anew"):
        if command["do"] == "adopt":
            return Decision()
        raise HoldfastError(
            f"The RFC {state['id']} exists already.",
            hint=f"holdfast rfc show {quote(state['id'])}",
            kind="exists",
        )
    strictness = str(command.get("strictness", "standard")).lower()
    if strictness not in STRICTNESS:
        raise Usage(f"{strictness!r:.40} is not one of {', '.join(STRICTNESS)}.")
    fields = state_file.first_fields(state["id"], strictness, clock.stamp(now))
    anew = {"anew": True} if state["fields"] else {}
    return Decision([("begun", {"fields": fields, **anew})])


def _write(state: RfcState, command: Any, now: int) -> dict[str, Any]:
    """The record of a checkpoint: its group, the changes in state.json, and the dropped groups."""
    key, lenient = group_for(state, command["group"]), bool(command.get("lenient"))
    sections = budget.compress(key, command["sections"], add_labels=lenient)
    sections += own_sections(state, key)
    budget.check(key, sections, lenient=lenient)
    number = round_to_count(state, key)
    changed = count_failure(state["fields"], number) if number else {}
    changed |= {
        "checkpoint_version": version_of(state["fields"]) + 1,
        "last_checkpoint_phase": phase_of(key),
        "updated_at": clock.stamp(now),
    }
    body: dict[str, Any] = {
        "group": key,
        "sections": sections,
        "artifacts": command["artifacts"],
        "set": changed,
        "counted": number,
        "dropped": _find_superseded(state, key),
    }
    while document.count(after := _apply_written(state, body)) > MOST_LINES:
        oldest = _oldest_feedback(after, key)
        if not oldest:
            raise budget.too_long(after)
        body["dropped"] = [*body["dropped"], oldest]
    return body


def own_sections(state: RfcState, key: str) -> list[Section]:
    """The sections that a person added to a group. They stay when the group is rewritten."""
    return [one for one in sections_in(state, key) if one["title"] not in sections_of(key)]


def replaced_by(state: RfcState, key: str, sections: Sequence[Section]) -> list[str]:
    """The bullets that a person wrote into this group, and that these sections do not contain."""
    kept = [*sections, *own_sections(state, key)]
    bullets = {bullet for section in kept for bullet in section["bullets"]}
    by_hand = [one.get("by_hand", []) for one in state["groups"] if one["key"] == key]
    return [bullet for found in by_hand for bullet in found if bullet not in bullets]


def _find_superseded(state: RfcState, key: str) -> list[str]:
    """The rounds that a new round displaces: all but itself and the one before it; RFC-51."""
    number = round_of(key)
    rounds = [group["key"] for group in state["groups"] if number and round_of(group["key"])]
    kept = range(number - KEPT_ROUNDS + 1, number + 1)
    return [other for other in rounds if round_of(other) not in kept]


def _oldest_feedback(state: RfcState, but: str) -> str:
    """The feedback group that gives way when a rejected review needs its lines; AMB-RFC-04."""
    groups = [one for one in state["groups"] if is_feedback(one["key"]) and one["key"] != but]
    return min(groups, key=lambda group: group["written"])["key"] if groups else ""


def _move(state: RfcState, command: Any, now: int) -> Decision:
    name, answers = command["name"], command.get("answers")
    if is_done(state, name):
        return Decision(_repeat(state, name, answers, now) if answers else [])
    advice = advise(state, command)
    body = {
        "name": name,
        "set": {**changes(state, name, command.get("to", "")), "updated_at": clock.stamp(now)},
        "restart": advice["restart"],
        "owed": owed_after(state, advice["group"]),
    }
    records: list[tuple[str, Any]] = [("moved", body)]
    if answers:
        records.append(("written", _write(_apply_moved(state, body), answers, now)))
    return Decision(records)


def _repeat(state: RfcState, name: str, answers: Any, now: int) -> list[tuple[str, Any]]:
    """Answers that come with a transition which was made before: only owed ones are taken."""
    body = _write(state, answers, now)
    key, move = body["group"], state["move"]
    if move is not None and move["owed"] == key:
        return [("written", body)]
    if body["sections"] == sections_in(state, key):
        return []
    raise HoldfastError(
        f"{name} was made already, and {heading_of(key)} is written: these answers were not taken.",
        hint=f"To replace what it says: holdfast rfc write {word_of(key)} {quote(state['id'])}",
        kind="made_already",
    )


# Applying
def apply(state: RfcState, event: Event) -> RfcState:
    kind, body = event["kind"], event["body"]
    if kind == "begun":
        before = initial(f"rfc:{state['id']}") if body.get("anew") else state
        return {**before, "fields": body["fields"]}
    if kind in ("closed", "reopened"):
        return {**state, "closed": body["at"] if kind == "closed" else ""}
    if kind == "written":
        return _apply_written(state, body)
    if kind == "moved":
        return _apply_moved(state, body)
    if kind == "edited_outside":
        return apply_edit(state, body)
    if kind == "settled":
        return {**state, **conflicts.after(state, body)}  # type: ignore[typeddict-item]
    return state


def _apply_written(state: RfcState, body: Any) -> RfcState:
    fields = state_file.merge(state["fields"], body["set"])
    key = body["group"]
    group: Group = {"key": key, "sections": body["sections"], "written": version_of(fields)}
    gone = {key, *body["dropped"]}
    move = state["move"]
    if move is not None and move["owed"] == key:
        move = {**move, "owed": ""}
    return {
        **state,
        "fields": fields,
        "groups": in_order([group, *(one for one in state["groups"] if one["key"] not in gone)]),
        "meta": {
            "last_phase": key,
            "artifacts": body["artifacts"],
            "round": rounds_of(fields),
            "extra": state["meta"]["extra"],
        },
        "move": move,
        "counted": body["counted"] or state["counted"],
    }


def _apply_moved(state: RfcState, body: Any) -> RfcState:
    fields = state_file.merge(state["fields"], body["set"])
    return {
        **state,
        "fields": fields,
        "counted": 0,
        "move": {
            "name": body["name"],
            "to": body["set"]["current_phase"],
            "version": version_of(fields),
            "restart": body["restart"],
            "owed": body["owed"],
        },
    }


def render(state: RfcState) -> dict[str, str]:
    """The two files. checkpoint.md comes first and is put in place first; AMB-RFC-06."""
    if not state["fields"]:
        return {}
    files = {path_of(state["id"], STATE_FILE): state_file.write(state["fields"])}
    if not state["meta"]["last_phase"]:
        return files
    return {path_of(state["id"], CHECKPOINT_FILE): document.write(state), **files}
