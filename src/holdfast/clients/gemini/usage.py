"""Gemini CLI: a message is written anew whenever it changes, and the last one with its id counts."""

from __future__ import annotations

from holdfast.clients.usage.model import count, message, new_context
from holdfast.kernel.canonical_json import table_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.usage.model import Found, Source

# What the client itself reckons with, for every Gemini model, when it decides to compress.
WINDOW = 1_048_576
TELLING = (b'"tokens":', b'"gemini"', b'"startTime":', b'"error"', b'"messages":')


def glance(line: bytes, state: dict[str, Any], found: Found) -> None:
    if b'"$set":' in line or b'"type":' in line:
        found.known += 1


def parse(record: dict[str, Any], source: Source, state: dict[str, Any], found: Found) -> None:
    """One line: the session, a message, or a patch that may hold messages."""
    if record.get("sessionId") or record.get("type") or "$set" in record:
        found.known += 1
    if text_of(record.get("startTime")) and not found.started_at:
        found.started_at = record["startTime"]
    patched = table_of(record.get("$set")).get("messages")
    for each in patched if isinstance(patched, list) else [record]:
        if isinstance(each, dict) and each.get("type") == "gemini":
            _answer(each, source, found)
        elif isinstance(each, dict) and each.get("type") == "error":
            id = text_of(each.get("id")) or text_of(each.get("timestamp"))
            found.errors[id] = text_of(each.get("content")) or "error"


def _answer(said: dict[str, Any], source: Source, found: Found) -> None:
    """Cached tokens are part of `input`; thoughts are billed as output and stand beside it."""
    id, at, model = (text_of(said.get(name)) for name in ("id", "timestamp", "model"))
    answer = message(id or at, at, model, provider="google")
    found.messages[answer["id"]] = answer
    tokens = said.get("tokens")
    if not isinstance(tokens, dict):
        return
    cached = count(tokens.get("cached"))
    answer["input"] = max(0, count(tokens.get("input")) - cached) + count(tokens.get("tool"))
    answer["output"] = count(tokens.get("output")) + count(tokens.get("thoughts"))
    answer["cache_read"] = cached
    answer["counted"] = True
    if not source["agent"]:
        window = WINDOW if model.startswith("gemini") else 0
        total = count(tokens.get("total"))
        found.context = new_context(at, total, model, provider="google", window=window)
