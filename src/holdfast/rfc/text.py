"""The records of an RFC in the words of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Words
from holdfast.rfc.rules.model import heading_of

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_beginning(record: Record, body: dict[str, Any]) -> str:
    return str(body["fields"].get("strictness") or "")


def _tell_phase(record: Record, body: dict[str, Any]) -> str:
    restart = ", and a fresh context" if body["restart"] else ""
    return f"{body['name']} → {body['set']['current_phase']}{restart}"


def _tell_notes(record: Record, body: dict[str, Any]) -> str:
    bullets = sum(len(section["bullets"]) for section in body["sections"])
    return f"{heading_of(body['group'])}: {bullets} notes"


WORDS = Words(texts={"begun": _tell_beginning, "moved": _tell_phase, "written": _tell_notes})
