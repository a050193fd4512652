"""`<feature>/STATUS`: the short form of a checkpoint, a key and a value on each line."""

from __future__ import annotations

from holdfast.kernel.text import harmless, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NO_BLOCKERS = "none"
UNKNOWN = "unknown"


def render(checkpoint: Mapping[str, Any], ready_for_sync: bool) -> str:
    """The file for a checkpoint. `AGENT_ID` is the session's id."""
    values = _values(checkpoint, ready_for_sync)
    return "".join(f"{key}: {value}".rstrip() + "\n" for key, value in values.items())


def gist(checkpoint: Mapping[str, Any], ready_for_sync: bool) -> dict[str, str]:
    """The values of the file, without its time."""
    values = _values(checkpoint, ready_for_sync)
    del values["UPDATED"]
    return values


def _values(checkpoint: Mapping[str, Any], ready_for_sync: bool) -> dict[str, str]:
    steps, blockers = (_lines(checkpoint.get(name)) for name in ("next_steps", "blockers"))
    coordination = checkpoint.get("coordination_state")
    updated = coordination.get("last_status_update") if isinstance(coordination, dict) else ""
    return {
        "STAGE": _one_line(checkpoint.get("stage")),
        "PHASE": _one_line(checkpoint.get("phase")),
        "AGENT": _one_line(checkpoint.get("agent_id")),
        "AGENT_ID": _one_line(checkpoint.get("session_id")),
        "UPDATED": _one_line(updated),
        "STATUS": _one_line(checkpoint.get("status")),
        "BLOCKERS": "; ".join(blockers) or NO_BLOCKERS,
        "NEXT_ACTION": steps[0] if steps else _one_line(checkpoint.get("current_step")),
        "READY_FOR_SYNC": "true" if ready_for_sync else "false",
        "ESTIMATED_COMPLETION": UNKNOWN,
    }


def parse(text: str) -> dict[str, str]:
    """The values by their keys, also by unknown ones; lines without a colon are ignored."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        name = key.strip().upper()
        if colon and name.replace("_", "").isalnum():
            values.setdefault(name, value.strip())
    return values


def _lines(value: object) -> list[str]:
    """A list's lines. Other programs write checkpoints too, so the value may be no list."""
    found = [_one_line(each) for each in value] if isinstance(value, list) else [_one_line(value)]
    return [line for line in found if line]


def _one_line(value: object) -> str:
    return "" if value is None else harmless(one_line(str(value)))
