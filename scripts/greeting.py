"""Write what the MCP server answers to a client that starts, without the SDK: `mcp/greeting.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver.prompts import Prompt
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

import holdfast.mcp
from holdfast import registry
from holdfast.mcp.greeting import CORE, FILE, LISTS
from holdfast.mcp.server import INSTRUCTIONS, Server

PLACE = Path(holdfast.mcp.__file__).with_name(FILE)
# What the SDK says of every result in the stateless form, where nothing may be kept by the client.
AROUND = {"cacheScope": "private", "resultType": "complete", "ttlMs": 0}


def text() -> str:
    """Return the file's content, with one feature a line."""
    lists = anyio.run(_list)
    owners = _owners()
    features: dict[str, dict[str, list[Any]]] = {one.name: {} for one in registry.features()}
    features[CORE] = {}
    for kind, offered in lists.items():
        for one in offered:
            owner = owners.get((kind, one["name"]), CORE)
            features[owner].setdefault(kind, []).append(one)
    capabilities = {
        "prompts": {"listChanged": False},
        "resources": {"listChanged": False, "subscribe": False},
        "tools": {"listChanged": False},
    }
    head = {
        "versions": list(HANDSHAKE_PROTOCOL_VERSIONS),
        "stateless": list(MODERN_PROTOCOL_VERSIONS),
        "offer": {"capabilities": capabilities, "instructions": INSTRUCTIONS},
        "around": AROUND,
    }
    rows = ",\n".join(f"{_one_line(name)}: {_one_line(offer)}" for name, offer in features.items())
    return f'{_one_line(head)[:-1]}, "features": {{\n{rows}\n}}}}\n'


def _one_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


async def _list() -> dict[str, list[Any]]:
    server = Server()
    found: dict[str, list[Any]] = {
        "tools": await server.list_tools(),
        "prompts": await server.list_prompts(),
        "resources": await server.list_resources(),
        "resourceTemplates": await server.list_resource_templates(),
    }
    assert found.keys() == set(LISTS.values())
    return {
        kind: [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in listed]
        for kind, listed in found.items()
    }


def _owners() -> dict[tuple[str, str], str]:
    """Return the feature of each tool and prompt."""
    found: dict[tuple[str, str], str] = {}
    for feature in registry.features():
        for one in registry.load(feature.tools) if feature.tools else ():
            found["prompts" if isinstance(one, Prompt) else "tools", one.name] = feature.name
    return found


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
