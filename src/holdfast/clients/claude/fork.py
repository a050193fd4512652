"""A copy of a session of Claude Code for one turn: its own `--fork-session`, which is not written down."""

from __future__ import annotations

from holdfast.clients.fork import ForkedTurn, ForkReply, objects_in, tokens_of
from holdfast.kernel.canonical_json import table_of, text_of


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    copied = ["--resume", session, "--fork-session", "--no-session-persistence"]
    without_tools = ["--tools", "", "--strict-mcp-config"]
    quiet = ["--settings", '{"disableAllHooks":true}', "--output-format", "json"]
    # With `-p` it asks nobody whether it may trust the folder, whose settings may name programs.
    trusted = ["--setting-sources", "user"]
    return ForkedTurn(["claude", "-p", *copied, *without_tools, *quiet, *trusted, "--", prompt])


def reply(output: str, path: str, scratch: str) -> ForkReply:
    for said in objects_in(output):
        if said.get("type") != "result":
            continue
        if said.get("is_error"):
            return ForkReply(why=text_of(said.get("result")))
        # Its `total_cost_usd` and `modelUsage` count the turns before, too.
        used = table_of(said.get("usage"))
        names = ("input_tokens", "output_tokens", "cache_read_input_tokens")
        tokens = tokens_of(*map(used.get, names), used.get("cache_creation_input_tokens"))
        model = list(table_of(said.get("modelUsage")))[-1:]
        return ForkReply(text_of(said.get("result")), model="".join(model), tokens=tokens)
    return ForkReply()
