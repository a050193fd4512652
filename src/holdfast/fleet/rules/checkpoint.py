"""An agent's checkpoint: the file `agent_checkpoints/<agent>.json`, its fields and their rules; and its short
form, `<feature>/STATUS`, with a key and a value on each line."""

from __future__ import annotations

from holdfast.fleet.rules.model import (
    CADENCE,
    COORDINATION_FIELDS,
    FIELDS,
    PHASES,
    STAGES,
    STATUSES,
    TASKS,
    TYPES,
    type_of,
)
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import harmless, harmless_json, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LISTS = ("blockers", "files_modified", "completed_steps", "next_steps")
_TEXTS = ("agent_id", "session_id", "feature", "phase", "recovery_instructions", "current_step")
_CHOICES = {"agent_type": TYPES, "stage": STAGES, "status": STATUSES}
TIMES = ("last_checkpoint", "next_checkpoint_expected")
_CHECKED = (*_LISTS, *_TEXTS, *_CHOICES, *TIMES, "can_resume", "coordination_state")
_REQUIRED = (*TIMES, "coordination_state")
# FLEET-30.
FIRST_RECOVERY = (
    "Just started S2.P1. No work done yet. Start from beginning of S2.P1 Research Phase guide."
)
# The completed steps of every first checkpoint; FLEET-30.
_FIRST_STEPS = ("Received handoff package", "Verified epic path", "Created checkpoint file")


def create_first(agent: str, session: str, feature: str, now: int) -> dict[str, Any]:
    """The first checkpoint of a new agent; FLEET-28 to FLEET-31."""
    at = clock.stamp(now)
    return {
        "agent_id": agent,
        "agent_type": type_of(agent),
        "session_id": session,
        "feature": feature,
        "stage": "S2.P1",
        "phase": PHASES["S2.P1"],
        **times(now),
        "status": "IN_PROGRESS",
        "can_resume": True,
        "blockers": [],
        "files_modified": [],
        "recovery_instructions": FIRST_RECOVERY,
        "current_step": "Reading S2.P1 guide",
        "completed_steps": list(_FIRST_STEPS),
        "next_steps": list(TASKS["S2.P1"]),
        "coordination_state": {
            "last_inbox_check": at,
            "unread_messages": 0,
            "last_epic_readme_update": at,
            "last_status_update": at,
        },
    }


def heal(saved: dict[str, Any], agent: str, session: str, now: int) -> dict[str, Any]:
    """A valid checkpoint: valid fields stay, missing or invalid ones get their first value."""
    whole = create_first(agent, session, "-", now)
    good = {name: value for name, value in saved.items() if not _problems_of(name, value)}
    return {**whole, **good, "agent_id": agent, "agent_type": type_of(agent)}


def times(now: int) -> dict[str, str]:
    """The two times that every update moves; FLEET-36."""
    return {
        "last_checkpoint": clock.stamp(now),
        "next_checkpoint_expected": clock.stamp(now + CADENCE),
    }


def progress(checkpoint: dict[str, Any]) -> tuple[int, int]:
    """How many steps an agent has done, and how many it has named. Those that every agent begins with
    do not count, because they are no work on its feature."""
    done = _names(checkpoint.get("completed_steps")).difference(_FIRST_STEPS)
    named = done | _names(checkpoint.get("next_steps"))
    current = str(checkpoint.get("current_step") or "")
    if current and checkpoint.get("status") != "COMPLETE":
        # `Reading S2.P1 guide` is the step `Read S2.P1 guide`.
        named.add(current.replace("Reading ", "Read ", 1))
    return len(done), len(named)


def _names(steps: Any) -> set[str]:
    return {str(step) for step in steps} if isinstance(steps, list) else set()


def problems(checkpoint: Any) -> list[str]:
    """The problems of a checkpoint by the strict rules of the writer; FLEET-03 to FLEET-18."""
    if not isinstance(checkpoint, dict):
        return ["it is no JSON object"]
    found = [f"{name} is missing" for name in FIELDS if name not in checkpoint]
    for name in _CHECKED:
        if name in checkpoint or name in _REQUIRED:
            found += _problems_of(name, checkpoint.get(name))
    return found


def _problems_of(name: str, value: Any) -> list[str]:
    """The problems of one field; a field that is not ours has none."""
    if name in _LISTS:
        is_good = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return [] if is_good else [f"{name} is no list of texts"]
    if name in _TEXTS:
        return [] if _is_text(value) else [f"{name} is empty"]
    if name in _CHOICES:
        choices = _CHOICES[name]
        return [] if value in choices else [f"{name} is not one of {', '.join(choices)}"]
    if name in TIMES:
        return [] if _is_time(value) else [f"{name} is no UTC time"]
    if name == "can_resume":
        return [] if isinstance(value, bool) else ["can_resume is neither true nor false"]
    return _coordination_problems(value) if name == "coordination_state" else []


def _coordination_problems(state: Any) -> list[str]:
    if not isinstance(state, dict):
        return ["coordination_state is no object"]
    found = []
    for name in COORDINATION_FIELDS:
        value = state.get(name)
        is_good = type(value) is int and value >= 0 if "unread" in name else _is_time(value)
        if not is_good:
            found.append(f"coordination_state.{name} is missing or wrong")
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and len(value) == 20 and clock.parse(value) >= 0
    except ValueError:
        return False


def is_plausible(name: str, value: Any) -> bool:
    """Whether a value has the type of its field; it may still be none of the field's values."""
    if name in _LISTS:
        return isinstance(value, list)
    if name == "can_resume":
        return isinstance(value, bool)
    if name == "coordination_state":
        return isinstance(value, dict)
    return name not in FIELDS or _is_text(value)


def refuse_invalid(checkpoint: dict[str, Any]) -> None:
    """Refuse to write an invalid checkpoint. Reading is tolerant; AMB-FLEET-24."""
    found = problems(checkpoint)
    if found:
        raise Usage(
            f"The checkpoint would not be valid: {'; '.join(found)}.",
            hint="Give what is missing: `holdfast agent beat --help` names the fields.",
            kind="invalid_checkpoint",
        )


def parse(text: str) -> dict[str, Any]:
    """The fields of a file, also unknown ones; only a text that is no JSON object is refused."""
    try:
        value = canonical_json.loads(text)
    except ValueError as error:
        raise Unparsable(str(error)) from None
    if not isinstance(value, dict):
        raise Unparsable("not a JSON object")
    return value


def write(checkpoint: dict[str, Any]) -> str:
    """Two-space JSON: our fields in their order, then the fields that other programs added; FLEET-03."""
    ordered = _ordered(checkpoint, FIELDS)
    state = ordered.get("coordination_state")
    if isinstance(state, dict):
        ordered["coordination_state"] = _ordered(state, COORDINATION_FIELDS)
    return harmless_json(canonical_json.dump_indented(ordered) + "\n")


def _ordered(value: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    known = {name: value[name] for name in names if name in value}
    return {**known, **{name: item for name, item in value.items() if name not in known}}


# The file STATUS


def render_status(checkpoint: dict[str, Any], ready_for_sync: bool) -> str:
    """The text of STATUS. `AGENT_ID` is the session's id."""
    values = _status_values(checkpoint, ready_for_sync)
    return "".join(f"{key}: {value}".rstrip() + "\n" for key, value in values.items())


def status_gist(checkpoint: dict[str, Any], ready_for_sync: bool) -> dict[str, str]:
    """The values of STATUS, without its time."""
    values = _status_values(checkpoint, ready_for_sync)
    del values["UPDATED"]
    return values


def _status_values(checkpoint: dict[str, Any], ready_for_sync: bool) -> dict[str, str]:
    def line(value: object) -> str:
        return "" if value is None else harmless(one_line(str(value)))

    def lines(name: str) -> list[str]:
        # Other programs write checkpoints too, so the value may be no list.
        value = checkpoint.get(name)
        found = map(line, value if isinstance(value, list) else [value])
        return [each for each in found if each]

    steps, coordination = lines("next_steps"), checkpoint.get("coordination_state")
    updated = coordination.get("last_status_update") if isinstance(coordination, dict) else ""
    return {
        "STAGE": line(checkpoint.get("stage")),
        "PHASE": line(checkpoint.get("phase")),
        "AGENT": line(checkpoint.get("agent_id")),
        "AGENT_ID": line(checkpoint.get("session_id")),
        "UPDATED": line(updated),
        "STATUS": line(checkpoint.get("status")),
        "BLOCKERS": "; ".join(lines("blockers")) or "none",
        "NEXT_ACTION": steps[0] if steps else line(checkpoint.get("current_step")),
        "READY_FOR_SYNC": "true" if ready_for_sync else "false",
        "ESTIMATED_COMPLETION": "unknown",
    }


def parse_status(text: str) -> dict[str, str]:
    """The values of STATUS by their keys, also by unknown ones; lines without a colon are ignored."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        name = key.strip().upper()
        if colon and name.replace("_", "").isalnum():
            values.setdefault(name, value.strip())
    return values
