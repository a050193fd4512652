"""RFC: keep the reasoning across phase boundaries within a line budget.

The rules of the `rfc:<id>` streams. `checkpoint.md` and `state.json` are two views of one stream;
`rfc.md` and `evidence.json` belong to their author and are only read, in `holdfast.rfc`.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.rules import Decision
from holdfast.rfc.rules import budget, document, edits, fields
from holdfast.rfc.rules.edits import absorb
from holdfast.rfc.rules.transitions import (
    advise,
    changes,
    counting,
    failed,
    group_for,
    is_done,
    owed_after,
    word_of,
)
from holdfast.rfc.rules.words import (
    CHECKPOINT_FILE,
    FOLDER,
    KEPT_ROUNDS,
    LONGEST_ID,
    MOST_LINES,
    STATE_FILE,
    STRICTNESS,
    heading_of,
    is_feedback,
    order_of,
    phase_of,
    round_of,
    rounds_of,
    sections_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Event
    from holdfast.rfc.rules.words import Group, Meta, RfcState, Section

__all__ = [
    "absorb",
    "apply",
    "decide",
    "initial",
    "own_sections",
    "path_of",
    "render",
    "replaced_by",
    "stream_of",
    "unknown",
]


def stream_of(id: str) -> str:
    """The stream of an RFC; an id that could not name its folder is refused."""
    plain = id.replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or id.startswith((".", "-")) or len(id) > LONGEST_ID:
        raise Usage(
            f"{id!r:.80} cannot name an RFC.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_ID}, no '.' or '-' in front.",
        )
    return f"rfc:{id}"


def path_of(id: str, name: str) -> str:
    return f"{FOLDER}/{id}/{name}"


def unknown(id: str) -> NotFound:
    return NotFound(f"There is no RFC {id} here.", hint=f"Begin it: holdfast rfc init {id}")


def initial(stream: str) -> RfcState:
    return {
        "id": stream.partition(":")[2],
        "fields": {},
        "meta": {
            "last_phase": "",
            "artifacts": {"rfc": "", "evidence": -1, "evidence_digest": ""},
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
    """`begin`, `adopt` (files that no record knows), `write` (answers), `move` (a transition)."""
    what = command["do"]
    if what in ("begin", "adopt"):
        return _begin(state, command, now)
    if not state["fields"]:
        raise unknown(state["id"])
    if what == "write":
        return Decision([("written", _written(state, command, now))])
    if what == "move":
        return _move(state, command, now)
    raise Usage(f"An RFC cannot {what!r}.")


def _begin(state: RfcState, command: Any, now: int) -> Decision:
    if state["fields"]:
        if command["do"] == "adopt":
            return Decision()
        raise HoldfastError(
            f"The RFC {state['id']} exists already.",
            hint=f"holdfast rfc show {state['id']}",
            kind="exists",
        )
    strictness = str(command.get("strictness", "standard")).lower()
    if strictness not in STRICTNESS:
        raise Usage(f"{strictness!r:.40} is none of {', '.join(STRICTNESS)}.")
    first = fields.first_fields(state["id"], strictness, clock.stamp(now))
    return Decision([("begun", {"fields": first})])


def _written(state: RfcState, command: Any, now: int) -> dict[str, Any]:
    """The record of a checkpoint: its group, and what it changes besides."""
    key = group_for(state, command["group"])
    sections = budget.lossless(key, command["sections"])
    if command.get("lenient"):
        sections = budget.with_labels(key, sections)
    sections += own_sections(state, key)
    budget.check(key, sections, lenient=bool(command.get("lenient")))
    number = counting(state, key)
    changed = failed(state["fields"], number) if number else {}
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
        "dropped": _superseded(state, key),
    }
    if command.get("given"):
        # What a compressor was given stays in the journal, word by word.
        body |= {"given": command["given"], "vanished": command.get("vanished", [])}
    while document.count(after := _after(state, body)) > MOST_LINES:
        oldest = _oldest_feedback(after, key)
        if not oldest:
            budget.check_total(after)
        body["dropped"] = [*body["dropped"], oldest]
    return body


def own_sections(state: RfcState, key: str) -> list[Section]:
    """The sections of a group that are not the protocol's: they stay when the group is rewritten."""
    known = sections_of(key)
    return [one for one in _sections(state, key) if one["title"] not in known]


def replaced_by(state: RfcState, key: str, sections: Sequence[Section]) -> list[str]:
    """The bullets written into the file by hand that these sections do not say."""
    own = own_sections(state, key)
    said = {bullet for section in (*sections, *own) for bullet in section["bullets"]}
    by_hand = [one.get("by_hand", []) for one in state["groups"] if one["key"] == key]
    return [bullet for bullets in by_hand for bullet in bullets if bullet not in said]


def _sections(state: RfcState, key: str) -> list[Section]:
    return next((one["sections"] for one in state["groups"] if one["key"] == key), [])


def _superseded(state: RfcState, key: str) -> list[str]:
    """The rounds that a new one displaces: all but it and the one before it; RFC-51."""
    number = round_of(key)
    if not number:
        return []
    rounds = [group["key"] for group in state["groups"] if round_of(group["key"])]
    kept = range(number - KEPT_ROUNDS + 1, number + 1)
    return [other for other in rounds if round_of(other) not in kept]


def _oldest_feedback(state: RfcState, but: str) -> str:
    """A rejected review is one feedback group more; the oldest goes when the lines do not suffice."""
    feedback = [group for group in state["groups"] if is_feedback(group["key"])]
    others = [group for group in feedback if group["key"] != but]
    return min(others, key=lambda group: group["written"])["key"] if others else ""


def _move(state: RfcState, command: Any, now: int) -> Decision:
    name, answers = command["name"], command.get("answers")
    if is_done(state, name):
        return Decision(_repeated(state, name, answers, now) if answers else [])
    advice = advise(
        state,
        name,
        to=command.get("to", ""),
        restart=command.get("restart"),
        pressure=command.get("pressure"),
        threshold=command["threshold"],
    )
    changed = changes(state, name, command.get("to", ""))
    changed["updated_at"] = clock.stamp(now)
    body = {
        "name": name,
        "set": changed,
        "restart": advice["restart"],
        "owed": owed_after(state, advice["group"]),
    }
    records: list[tuple[str, Any]] = [("moved", body)]
    if answers:
        records.append(("written", _written(_moved(state, body), answers, now)))
    return Decision(records)


def _repeated(state: RfcState, name: str, answers: Any, now: int) -> list[tuple[str, Any]]:
    """Answers with a transition that was made: taken when they are owed, else they change nothing."""
    body = _written(state, answers, now)
    key, move = body["group"], state["move"]
    if move is not None and move["owed"] == key:
        return [("written", body)]
    if body["sections"] == _sections(state, key):
        return []
    raise HoldfastError(
        f"{name} was made already, and {heading_of(key)} is written: these answers were not taken.",
        hint=f"To replace what it says: holdfast rfc write {word_of(key)}",
        kind="made_already",
    )


# Applying


def apply(state: RfcState, event: Event) -> RfcState:
    kind, body = event["kind"], event["body"]
    if kind == "begun":
        return {**state, "fields": body["fields"]}
    if kind == "written":
        return _after(state, body)
    if kind == "moved":
        return _moved(state, body)
    if kind == "edited_outside":
        return edits.apply(state, body)
    return state


def _after(state: RfcState, body: Any) -> RfcState:
    after = fields.merged(state["fields"], body["set"])
    group: Group = {
        "key": body["group"],
        "sections": body["sections"],
        "written": version_of(after),
    }
    gone = {body["group"], *body["dropped"]}
    groups = [group, *(one for one in state["groups"] if one["key"] not in gone)]
    meta: Meta = {
        "last_phase": body["group"],
        "artifacts": body["artifacts"],
        "round": rounds_of(after),
        "extra": state["meta"]["extra"],
    }
    move = state["move"]
    if move is not None and move["owed"] == body["group"]:
        move = {**move, "owed": ""}
    return {
        **state,
        "fields": after,
        "groups": sorted(groups, key=lambda one: order_of(one["key"])),
        "meta": meta,
        "move": move,
        "counted": body["counted"] or state["counted"],
    }


def _moved(state: RfcState, body: Any) -> RfcState:
    after = fields.merged(state["fields"], body["set"])
    return {
        **state,
        "fields": after,
        "counted": 0,
        "move": {
            "name": body["name"],
            "to": body["set"]["current_phase"],
            "version": version_of(after),
            "restart": body["restart"],
            "owed": body["owed"],
        },
    }


def render(state: RfcState) -> dict[str, str]:
    """checkpoint.md is put in place before state.json; AMB-RFC-06."""
    if not state["fields"]:
        return {}
    views = {path_of(state["id"], STATE_FILE): fields.write(state["fields"])}
    if not state["meta"]["last_phase"]:
        return views
    return {path_of(state["id"], CHECKPOINT_FILE): document.write(state), **views}
