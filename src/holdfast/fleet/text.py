"""The records of agents in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_start(record: Record, body: dict[str, Any]) -> str:
    known = body["checkpoint"]
    return " · ".join(str(known[name]) for name in ("feature", "stage") if known.get(name))


def _tell_step(record: Record, body: dict[str, Any]) -> str:
    return str((body.get("set") or {}).get("current_step") or "")


def _tell_claim(record: Record, body: dict[str, Any]) -> str:
    return f"by {body['agent']}"


WORDS = Words(
    words={"sent": "message", "opened": "channel opened"},
    texts={
        **dict.fromkeys(("beat", "sync", "phase", "unblock"), _tell_step),
        "started": _tell_start,
        "claimed": _tell_claim,
    },
    tones={"escalated": "wait"},
)
