"""The records of a track in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.loop.history import line
from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record

_STEPS = ("started", "passed", "failed", "blocked", "advanced", "attempt_begun")


def _tell_step(record: Record, body: dict[str, Any]) -> str:
    happened = line(record)
    names = ("step", "from", "agent", "number", "task", "notes", "reason")
    return " · ".join(str(happened[name]) for name in names if happened.get(name))


def _tell_task(record: Record, body: dict[str, Any]) -> str:
    return " ".join(str(body.get(name) or "") for name in ("step", "task", "commit")).strip()


WORDS = Words(
    texts={**dict.fromkeys(_STEPS, _tell_step), "task_done": _tell_task},
    tones={
        "passed": "good",
        "task_done": "good",
        "failed": "bad",
        "blocked": "wait",
        "escalated": "wait",
    },
)
