"""A copy of a session of opencode for one turn: in a copy of its database, which is removed afterwards."""

from __future__ import annotations

import json
import os

import apsw

from holdfast.clients.fork import ForkedTurn, ForkReply, objects_in, tokens_of
from holdfast.kernel.canonical_json import table_of, text_of

SETTINGS = {"tools": {"*": False}, "permission": {"*": "deny"}, "snapshot": False, "mcp": {}}


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    copied = os.path.join(scratch, "opencode.db")
    old = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    new = apsw.Connection(copied)
    try:
        with new.backup("main", old, "main") as backup:
            backup.step()
    finally:
        new.close()
        old.close()
    words = ["opencode", "run", "--session", session, "--pure", "--format", "json", prompt]
    named = {"OPENCODE_DB": copied, "OPENCODE_CONFIG_CONTENT": json.dumps(SETTINGS)}
    return ForkedTurn(words, named)


def reply(output: str, path: str, scratch: str) -> ForkReply:
    texts, why, tokens = [], "", None
    for said in objects_in(output):
        part = table_of(said.get("part"))
        if said.get("type") == "text":
            texts.append(text_of(part.get("text")))
        elif said.get("type") == "error":
            error = table_of(said.get("error"))
            why = text_of(table_of(error.get("data")).get("message")) or text_of(error.get("name"))
        elif said.get("type") == "step_finish":
            used = table_of(part.get("tokens"))
            cache = table_of(used.get("cache"))
            left = used.get("output", 0) + used.get("reasoning", 0)
            tokens = tokens_of(used.get("input"), left, cache.get("read"), cache.get("write"))
    return ForkReply("\n".join(texts), why=why, tokens=tokens)
