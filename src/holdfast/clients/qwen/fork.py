"""A copy of a session of Qwen Code for one turn: a copy of its file, in a folder that is removed afterwards."""

from __future__ import annotations

import os

from holdfast.clients.fork import ForkedTurn, ForkReply, copy, objects_in, tokens_of
from holdfast.kernel.canonical_json import table_of, text_of

# Below the folder of what Qwen Code writes at run time: `projects/FOLDER/chats/SESSION.jsonl`.
DEPTH = 4


def fork(session: str, path: str, prompt: str, scratch: str) -> ForkedTurn:
    copied = os.path.join(scratch, *path.split("/")[-DEPTH:])
    copy(path, copied)
    words = ["qwen", "--resume", session, "--safe-mode", "--approval-mode", "plan"]
    # It ends at the first call of a tool, before the tool runs.
    words += ["--max-tool-calls", "0", "--output-format", "json", "-p", prompt]
    return ForkedTurn(words, {"QWEN_RUNTIME_DIR": scratch})


def reply(output: str, path: str, scratch: str) -> ForkReply:
    model, tokens = "", None
    for said in objects_in(output):
        if said.get("type") == "assistant":
            message = table_of(said.get("message"))
            used, model = table_of(message.get("usage")), text_of(message.get("model"))
            cached = used.get("cache_read_input_tokens", 0)
            entered = used.get("input_tokens", 0) - cached
            tokens = tokens_of(entered, used.get("output_tokens"), cached)
        elif said.get("type") == "result" and not said.get("is_error"):
            return ForkReply(text_of(said.get("result")), model=model, tokens=tokens)
        if why := text_of(table_of(said.get("error")).get("message")):
            return ForkReply(why=why)
    return ForkReply()
