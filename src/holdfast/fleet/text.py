"""The records of agents in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_start(record: Record, body: dict[str, Any]) -> str:
    known = body["checkpoint"]
    return " · ".join(str(known[name]) for name in ("feature", "stage") if known.get(name))


WORDS = Words(
    words={"sent": "message", "opened": "channel opened"},
    texts={
        **dict.fromkeys(
            ("beat", "sync", "phase", "unblock"),
            lambda _, body: str((body.get("set") or {}).get("current_step") or ""),
        ),
        "started": _tell_start,
        "claimed": lambda _, body: f"by {body['agent']}",
    },
    tones={"escalated": "wait"},
)
