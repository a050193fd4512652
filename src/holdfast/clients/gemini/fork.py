"""A copy of a session of Gemini CLI for one turn: a copy of its file, in a home that is removed afterwards."""

from __future__ import annotations

import os
import re

from holdfast.clients.fork import (
    ForkedTurn,
    ForkReply,
    copy,
    objects_in,
    overlay,
    tail_of,
    tokens_of,
)
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.plain_file import write_aside

_MODEL = re.compile(rb'"model": ?"([A-Za-z0-9._-]+)"')
NO_TOOLS = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    home = os.path.join(scratch, ".gemini")
    overlay(home_of("gemini"), home, ("tmp", "history"))
    copied, policy = os.path.join(scratch, "session.jsonl"), os.path.join(scratch, "policy.toml")
    copy(path, copied)
    write_aside(policy, NO_TOOLS.encode())
    words = ["gemini", "--session-file", copied, "--policy", policy, "--output-format", "json"]
    # Without a name it asks another model first which one to take.
    for model in _MODEL.findall(tail_of(path))[-1:]:
        words += ["-m", model.decode()]
    return ForkedTurn([*words, f"--prompt={prompt}"], {"GEMINI_CLI_HOME": scratch})


def reply(output: str, path: str, scratch: str) -> ForkReply:
    for said in objects_in(output):
        if why := text_of(table_of(said.get("error")).get("message")):
            return ForkReply(why=why)
        for model, one in table_of(table_of(said.get("stats")).get("models")).items():
            used = table_of(table_of(one).get("tokens"))
            left = used.get("candidates", 0) + used.get("thoughts", 0)
            tokens = tokens_of(used.get("input"), left, used.get("cached"))
            return ForkReply(text_of(said.get("response")), model=model, tokens=tokens)
        return ForkReply(why="; ".join(map(text_of, list_of(said.get("warnings")))))
    return ForkReply()
