"""The records of prompts in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Words

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _began(_: Record, body: dict[str, Any]) -> str:
    return str(body["text"]) or "work without a prompt"


def _ended(_: Record, body: dict[str, Any]) -> str:
    size = body["size"]
    return f"{size['files']} files, +{size['added']} -{size['removed']}"


def _undone(_: Record, body: dict[str, Any]) -> str:
    return f"{body['size']['files']} files of {len(body['of'])}"


WORDS = Words(
    unnamed=["prompts"],
    words={"began": "prompt", "ended": "prompt ended", "undone": "undo", "redone": "redo"},
    texts={"began": _began, "ended": _ended, "undone": _undone, "redone": _undone},
)
