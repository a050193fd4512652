"""The records of gates in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Tone, Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def tell_answer(record: Record, body: dict[str, Any]) -> str:
    """Return an answer, and who gave it."""
    by = body.get("by") or (body.get("person") or {}).get("name") or ""
    where = f"{body['plan']}#{body['key']}" if "plan" in body else ""
    parts = [where, body.get("answer") or body.get("gate"), body.get("text"), by]
    return " · ".join(str(part) for part in parts if part)


def judge_answer(body: dict[str, Any]) -> Tone:
    """Return whether an answer is good news."""
    return "bad" if body.get("verdict") == "no" else "good"


WORDS = Words(
    unnamed=["gate"],
    words={"opened": "asked"},
    texts={
        "opened": lambda _, body: str((body.get("content") or {}).get("title") or ""),
        **dict.fromkeys(("answered", "expired"), tell_answer),
    },
    tones={"opened": "wait", "answered": judge_answer, "expired": "wait"},
)
