"""A copy of a session of Copilot CLI for one turn: a copy of its folder, in a home that is removed afterwards."""

from __future__ import annotations

import os

from holdfast.clients.fork import ForkedTurn, ForkReply, copy, overlay, tokens_of
from holdfast.clients.table import home_of
from holdfast.kernel.canonical_json import read_table, text_of

USED = "used.json"


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    home = os.path.join(scratch, "home")
    overlay(home_of("copilot"), home, ("session-state", "session-store", "logs"))
    folder = os.path.dirname(path)
    copy(folder, os.path.join(home, "session-state", os.path.basename(folder)))
    words = ["copilot", f"--resume={session}", "-s", "--available-tools=none", "--no-ask-user"]
    words += ["--disable-builtin-mcps", "--usage-output-file", os.path.join(scratch, USED)]
    return ForkedTurn([*words, "-p", prompt], {"COPILOT_HOME": home})


def reply(output: str, path: str, scratch: str) -> ForkReply:
    used = read_table(os.path.join(scratch, USED))
    if not used:
        return ForkReply(output.strip())
    # Its totals count the turns before, too.
    tokens = tokens_of(used.get("lastCallInputTokens"), used.get("lastCallOutputTokens"))
    return ForkReply(output.strip(), model=text_of(used.get("currentModel")), tokens=tokens)
