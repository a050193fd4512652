"""A copy of a session of Codex for one turn: its own `exec fork`, which is not written down."""

from __future__ import annotations

import json
import os
import tomllib
from typing import Any

from holdfast.clients.fork import ForkedTurn, ForkReply, objects_in, tail_of, tokens_of
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import table_of, text_of
from holdfast.kernel.plain_file import read_plain

WITHOUT = ("hooks", "shell_tool", "unified_exec", "multi_agent", "goals", "shell_snapshot")
_USED = b'"total_token_usage":'


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    words = ["codex", "exec", "--sandbox", "read-only", "--json", "fork", "--ephemeral"]
    words += ["--skip-git-repo-check"]
    without = [f"mcp_servers.{name}.enabled=false" for name in sorted(_servers())]
    for setting in ('approval_policy="never"', 'web_search="disabled"', *without):
        words += ["-c", setting]
    for name in WITHOUT:
        words += ["--disable", name]
    return ForkedTurn([*words, session, prompt])


def _servers() -> set[str]:
    """The MCP servers of the user and of the project: their tools need no sandbox."""
    found: set[str] = set()
    for folder in (home_of("codex"), ".codex"):
        try:
            written = tomllib.loads(read_plain(os.path.join(folder, "config.toml")).decode())
        except (OSError, ValueError):
            continue
        found.update(table_of(written.get("mcp_servers")))
    return found


def reply(output: str, path: str, scratch: str) -> ForkReply:
    text, why, tokens = "", "", None
    for said in objects_in(output):
        item = table_of(said.get("item"))
        if item.get("type") == "agent_message":
            text = text_of(item.get("text"))
        elif said.get("type") in ("error", "turn.failed"):
            why = text_of(said.get("message") or table_of(said.get("error")).get("message"))
        elif said.get("type") == "turn.completed":
            tokens = _of_this_turn(table_of(said.get("usage")), path)
    return ForkReply(text, why=why, tokens=tokens)


def _of_this_turn(total: dict[str, Any], path: str) -> dict[str, int]:
    """Codex counts the turns before the copy, too: the old session's last count is taken off."""
    before: dict[str, Any] = {}
    _, found, rest = tail_of(path).rpartition(_USED)
    if found:
        before = json.JSONDecoder().raw_decode(rest.decode(errors="replace"))[0]
    names = ("input_tokens", "output_tokens", "cached_input_tokens")
    entered, left, cached = (total.get(name, 0) - before.get(name, 0) for name in names)
    return tokens_of(entered - cached, left, cached)
