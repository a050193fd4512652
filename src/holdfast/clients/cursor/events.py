"""Cursor: it runs the hooks in Claude Code's settings where its user allows it, in Claude Code's words.

It is only recognised, by its payloads. It has no installation, and its transcripts are not read.
"""

from __future__ import annotations

from holdfast.clients.claude import events as claude
from holdfast.clients.events import answer as answer
from holdfast.clients.events import length as length
from holdfast.clients.events import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.events import HookEvent

NAME = "cursor"
EVENTS = claude.EVENTS
# One process of the editor runs several conversations.
SHARES_PROCESS = True


def read(name: str, payload: dict[str, Any]) -> HookEvent:
    event = claude.read(name, payload)
    event.session = event.session or text_of(payload, "conversation_id")
    roots = payload.get("workspace_roots")
    if not event.folder and isinstance(roots, list) and roots and isinstance(roots[0], str):
        event.folder = roots[0]
    event.transcript = ""
    return event
