"""The four languages that the clients speak with their models: one answer of the stub, said in each.

An answer is plain data: `{"text": ...}`, `{"tool": name, "input": {...}}` (and `"namespace"`, where
the client sorts its tools), both for words beside a call, `{"status": 500}` for a model that is down
(with `"error"` and `"headers"`, as at a usage limit).
An input that is a text is one of a free-form tool, which only Codex has. `"tokens"` says how many the
prompt is told to have cost, `"silent"` for how many seconds the model says nothing. `"meanwhile"` is the answer
until the tool is there; with `"searched"`, until a result shows the tool of this name.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

Answer = dict[str, Any]
MODEL = "stub-model"
PROMPT_TOKENS, ANSWER_TOKENS = 1234, 42


class Reply(NamedTuple):
    """What goes over the wire."""

    kind: str
    content: bytes
    headers: dict[str, str] | None = None


STREAM, OBJECT = "text/event-stream", "application/json"


def has_tools(body: Any) -> bool:
    """Whether the agent asks; what a client asks besides (a title, say) brings no tools along."""
    return isinstance(body, dict) and bool(body.get("tools"))


def reply(path: str, body: Any, answer: Answer, number: int) -> Reply | None:
    """The answer in the language of the address; None where nobody lives."""
    route = path.partition("?")[0]
    if route.endswith(("/messages/count_tokens", ":countTokens")):
        return _object({"input_tokens": PROMPT_TOKENS, "totalTokens": PROMPT_TOKENS})
    if route.endswith("/messages"):
        return _messages(body, answer, number)
    if route.endswith("/responses"):
        return _responses(answer, number)
    if route.endswith("/chat/completions"):
        return _chat(body, answer, number)
    if route.endswith((":streamGenerateContent", ":generateContent")):
        return _generate(route, answer)
    if route.endswith("/models"):
        return _object({"object": "list", "data": [], "models": []})
    return None


def _object(value: Any) -> Reply:
    return Reply(OBJECT, json.dumps(value).encode())


def _events(events: list[dict[str, Any]]) -> Reply:
    text = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    return Reply(STREAM, text.encode())


def _tokens(answer: Answer) -> int:
    return int(answer.get("tokens", PROMPT_TOKENS))


def _messages(body: Any, answer: Answer, number: int) -> Reply:
    usage = {
        "input_tokens": _tokens(answer),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": ANSWER_TOKENS,
    }
    blocks: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
    if "text" in answer:
        said = {"type": "text", "text": answer["text"]}
        delta = {"type": "text_delta", "text": answer["text"]}
        blocks.append(({"type": "text", "text": ""}, delta, said))
    if "tool" in answer:
        call = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": answer["tool"]}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(answer["input"])}
        blocks.append(({**call, "input": {}}, delta, {**call, "input": answer["input"]}))
    reason = "tool_use" if "tool" in answer else "end_turn"
    message = {
        "id": f"msg_{number:04d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", MODEL),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if not body.get("stream"):
        whole = [block for _, _, block in blocks]
        return _object({**message, "content": whole, "stop_reason": reason})
    shown: list[dict[str, Any]] = []
    for index, (start, delta, _) in enumerate(blocks):
        shown += (
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        )
    return _events(
        [
            {"type": "message_start", "message": message},
            *shown,
            {
                "type": "message_delta",
                "delta": {"stop_reason": reason, "stop_sequence": None},
                "usage": usage,
            },
            {"type": "message_stop"},
        ]
    )


def _responses(answer: Answer, number: int) -> Reply:
    items: list[dict[str, Any]] = []
    if "text" in answer:
        content = [{"type": "output_text", "text": answer["text"], "annotations": []}]
        said = {"type": "message", "id": f"msg_{number:04d}", "role": "assistant"}
        items.append({**said, "content": content})
    if "tool" in answer:
        items.append(_function_call(answer, number))
    response = {"id": f"resp_{number:04d}", "object": "response", "model": MODEL, "output": []}
    usage = {
        "input_tokens": _tokens(answer),
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": ANSWER_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": _tokens(answer) + ANSWER_TOKENS,
    }
    done = {**response, "status": "completed", "output": items, "usage": usage}
    return _events(
        [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            *(
                {"type": "response.output_item.done", "output_index": index, "item": item}
                for index, item in enumerate(items)
            ),
            {"type": "response.completed", "response": done},
        ]
    )


def _function_call(answer: Answer, number: int) -> dict[str, Any]:
    call = {"id": f"fc_{number:04d}", "call_id": f"call_{number:04d}", "name": answer["tool"]}
    if isinstance(answer["input"], str):
        return {**call, "type": "custom_tool_call", "input": answer["input"]}
    if "namespace" in answer:
        call["namespace"] = answer["namespace"]
    return {**call, "type": "function_call", "arguments": json.dumps(answer["input"])}


def _chat(body: Any, answer: Answer, number: int) -> Reply:
    usage = {
        "prompt_tokens": _tokens(answer),
        "completion_tokens": ANSWER_TOKENS,
        "total_tokens": _tokens(answer) + ANSWER_TOKENS,
    }
    said: dict[str, Any] = {"role": "assistant", "content": answer.get("text")}
    if "tool" in answer:
        function = {"name": answer["tool"], "arguments": json.dumps(answer["input"])}
        call = {"index": 0, "id": f"call_{number:04d}", "type": "function", "function": function}
        said["tool_calls"] = [call]
    reason = "tool_calls" if "tool" in answer else "stop"
    frame = {"id": f"chat_{number:04d}", "created": 1, "model": MODEL}
    if not body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": reason}
        whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
        return _object(whole)
    frame["object"] = "chat.completion.chunk"
    chunks: list[dict[str, Any]] = [
        {**frame, "choices": [{"index": 0, "delta": said, "finish_reason": None}]},
        {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]
    lines = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    return Reply(STREAM, "".join(f"data: {line}\n\n" for line in lines).encode())


def _generate(route: str, answer: Answer) -> Reply:
    parts: list[dict[str, Any]] = []
    if "text" in answer:
        parts.append({"text": answer["text"]})
    if "tool" in answer:
        parts.append({"functionCall": {"name": answer["tool"], "args": answer["input"]}})
    whole = {
        "candidates": [
            {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        ],
        "usageMetadata": {
            "promptTokenCount": _tokens(answer),
            "candidatesTokenCount": ANSWER_TOKENS,
            "totalTokenCount": _tokens(answer) + ANSWER_TOKENS,
        },
        "modelVersion": MODEL,
    }
    if route.endswith(":generateContent"):
        return _object(whole)
    return Reply(STREAM, f"data: {json.dumps(whole)}\n\n".encode())
