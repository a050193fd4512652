"""The records of clients' questions in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.answers.rules.questions import OUTCOMES
from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_question(record: Record, body: dict[str, Any]) -> str:
    return f"{body['client']} {body['session'][:8]}: {body['asks']}"


def _tell_answer(record: Record, body: dict[str, Any]) -> str:
    chosen = "; ".join(", ".join(row) for row in body["chosen"])
    person = body["person"]
    parts = [body["verdict"], body["text"], chosen, person["name"], person["channel"]]
    return " · ".join(filter(None, parts))


def _tell_end(record: Record, body: dict[str, Any]) -> str:
    return OUTCOMES[body["why"]]


WORDS = Words(
    unnamed=["questions"],
    texts={"asked": _tell_question, "answered": _tell_answer, "ended": _tell_end},
    tones={
        "asked": "wait",
        "answered": lambda body: "bad" if body["verdict"] == "deny" else "good",
    },
)
