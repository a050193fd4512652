"""The records of clients' questions in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.answers.rules.questions import OUTCOMES
from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_answer(record: Record, body: dict[str, Any]) -> str:
    chosen = "; ".join(", ".join(row) for row in body["chosen"])
    person = body["person"]
    parts = [body["verdict"], body["text"], chosen, person["name"], person["channel"]]
    return " · ".join(filter(None, parts))


WORDS = Words(
    unnamed=["questions"],
    texts={
        "asked": lambda _, body: f"{body['client']} {body['session'][:8]}: {body['asks']}",
        "answered": _tell_answer,
        "ended": lambda _, body: OUTCOMES[body["why"]],
    },
    tones={
        "asked": "wait",
        "answered": lambda body: "bad" if body["verdict"] == "deny" else "good",
    },
)
