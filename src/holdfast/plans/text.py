"""The records of plans in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.gates.text import judge_answer, tell_answer
from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_task(record: Record, body: dict[str, Any]) -> str:
    seconds = f"{body['seconds']:.1f} s" if "seconds" in body else ""
    why = str(body.get("why") or body.get("said") or "")
    return " · ".join(filter(None, (f"{body['plan']}#{body['task']}", seconds, why)))


WORDS = Words(
    texts={
        **dict.fromkeys(("task_started", "task_done", "task_failed", "task_lost"), _tell_task),
        "gate_asked": tell_answer,
        "gate_answered": tell_answer,
        "run_begun": lambda _, body: f"{len(body['plans'])} plans in {len(body['phases'])} phases",
        "life_begun": lambda _, body: f"process {body['life']['pid']} on {body['life']['host']}",
    },
    tones={
        **dict.fromkeys(("task_done", "plan_closed", "run_ended"), "good"),
        **dict.fromkeys(("task_failed", "task_lost", "completion_refused"), "bad"),
        **dict.fromkeys(("gate_asked", "run_paused"), "wait"),
        "gate_answered": judge_answer,
    },
)
