"""What every session pays for: names, descriptions and schemas of the tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.client.client import Client

from holdfast.gates.rules.content import CAUSES, QUESTIONS
from holdfast.mcp.call import ToolCall, simplify
from holdfast.mcp.server import INSTRUCTIONS
from holdfast.rfc.rules.model import GROUPS
from holdfast.session.rules.model import REASONS
from tests.mcp.world import Face

MOST_TOKENS = 3000
# JSON of this kind has 4.2 characters a token with the tokenizers that were tried; 3 is careful.
CHARACTERS_A_TOKEN = 3


def described(face: Face) -> dict[str, dict[str, Any]]:
    async def talk(client: Client) -> dict[str, dict[str, Any]]:
        tools = (await client.list_tools()).tools
        return {
            tool.name: {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            }
            for tool in tools
        }

    return face.with_client(talk)


def test_all_descriptions_cost_less_than_three_thousand_tokens(either: Face) -> None:
    text = json.dumps([*described(either).values()], ensure_ascii=False, separators=(",", ":"))
    assert (len(text) + len(INSTRUCTIONS)) / CHARACTERS_A_TOKEN <= MOST_TOKENS + 150
    assert len(text) / CHARACTERS_A_TOKEN < MOST_TOKENS


def test_every_tool_says_what_it_is_for(face: Face) -> None:
    for name, tool in described(face).items():
        assert len(tool["description"]) > 40, name
        assert "title" not in tool["inputSchema"], name
        assert "$defs" not in json.dumps(tool["inputSchema"]), name
        assert "null" not in json.dumps(tool["inputSchema"]), name


def test_the_words_of_the_schemas_are_the_protocols(face: Face) -> None:
    tools = described(face)

    def words(tool: str, argument: str) -> Any:
        return tools[tool]["inputSchema"]["properties"][argument]

    assert words("checkpoint", "reason")["enum"] == [*REASONS]
    assert words("gate_open", "cause")["enum"] == [*CAUSES]
    assert all(name in words("gate_open", "checklist")["description"] for name in QUESTIONS)
    assert words("reason", "group")["enum"] == [*GROUPS]


def test_a_plain_schema_says_the_same() -> None:
    schema = {
        "$defs": {"Option": {"title": "Option", "type": "object", "properties": {"title": {}}}},
        "properties": {
            "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "options": {"items": {"$ref": "#/$defs/Option"}, "type": "array"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "on": {"type": "boolean", "default": True, "title": "On"},
        },
        "title": "Arguments",
    }
    assert simplify(schema) == {
        "properties": {
            "title": {"type": "string"},
            "options": {"items": {"type": "object", "properties": {"title": {}}}, "type": "array"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "on": {"type": "boolean", "default": True},
        },
    }


@pytest.mark.parametrize("uri", ["holdfast://status", "holdfast://history"])
def test_status_and_history_can_be_read(either: Face, uri: str) -> None:
    either.call("checkpoint", {"task": "Parse", "issue": "ENG-12"})

    async def talk(client: Client) -> Any:
        return json.loads((await client.read_resource(uri)).contents[0].text)  # type: ignore[union-attr]

    read = either.with_client(talk)
    assert read["journal"]["streams"] == 1 if uri.endswith("status") else read[0]["stream"]


def test_a_view_and_a_stream_are_read(either: Face) -> None:
    either.call("checkpoint", {"task": "Parse", "issue": "ENG-12"})

    async def talk(client: Client) -> tuple[str, Any]:
        view: Any = (await client.read_resource("holdfast://view/.ccc-progress.md")).contents[0]
        stream: Any = (await client.read_resource("holdfast://history/session:*")).contents[0]
        return view.text, json.loads(stream.text)

    view, records = either.with_client(talk)
    assert "**Issue:** ENG-12" in view
    assert all(record["stream"].startswith("session:") for record in records)


def test_prompts_go_on_and_ask(either: Face) -> None:
    either.call("checkpoint", {"task": "Parse", "issue": "ENG-12", "next": "finish it"})

    async def talk(client: Client) -> list[str]:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        first: Any = (await client.get_prompt("continuation")).messages[0].content
        second: Any = (await client.get_prompt("extraction", {"group": "design"})).messages[0]
        return [*names, first.text, second.content.text]

    names = either.with_client(talk)
    assert names[:2] == ["continuation", "extraction"]
    assert "finish it" in names[2]
    assert "DESIGN REASONING NOTES" in names[3]


def test_a_call_knows_its_folder(face: Face) -> None:
    with ToolCall(face.server.folder) as call:
        assert call.workspace.root == face.server.folder
