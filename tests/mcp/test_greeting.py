"""A client's start is answered without the SDK, in the SDK's words; the first call loads it and loses nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ElicitResult
from scripts import greeting as generator

from holdfast.mcp.greeting import FILE, LISTS
from tests.cli.conftest import Holdfast
from tests.mcp.test_process import HANDSHAKE
from tests.mcp.world import COMMAND, ERAS, META, PATIENCE, STORE, Process, accept, said, tool_call

# Every import of the SDK fails in it.
WITHOUT_SDK = """
import sys
for name in ("mcp.server", "mcp_types", "pydantic", "anyio"):
    sys.modules[name] = None
sys.argv = ["holdfast", "mcp"]
from holdfast.cli import main
main()
"""
# Straight to the SDK.
SDK_ALONE = "import sys; from holdfast.cli.frame import run; sys.exit(run(['mcp']))"


def line(id: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def questions(era: str) -> Iterator[bytes]:
    """What a client asks before its first turn."""
    meta = {"_meta": META} if era == "auto" else {}
    if meta:
        yield line(0, "server/discover", **meta)
    else:
        yield line(0, "initialize", **HANDSHAKE)
        yield b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
        yield line(8, "ping")
    for id, method in enumerate(LISTS, 1):
        yield line(id, method, **meta)


def start(process: Process, era: str) -> list[Any]:
    found = []
    for each in questions(era):
        process.send(each + b"\n")
        if b'"id"' in each:
            found.append(process.answer(json.loads(each)["id"]))
    return found


@pytest.mark.parametrize("era", ERAS)
def test_a_start_is_answered_as_the_sdk_does_and_without_it(repository: Path, era: str) -> None:
    """If this fails after a change of a tool, `make docs` mends it."""
    quick = Process(repository, [sys.executable, "-c", WITHOUT_SDK])
    told = start(quick, era)
    assert quick.end() == (0, b"", "")
    slow = Process(repository, [sys.executable, "-c", SDK_ALONE])
    assert told == start(slow, era)
    slow.end()


def test_the_prepared_answers_are_up_to_date() -> None:
    assert generator.PLACE.read_text("utf-8") == generator.text(), "run `make docs`"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2031-01-01"])
def test_the_version_is_agreed_as_the_sdk_does(repository: Path, version: str) -> None:
    asked = line(0, "initialize", **{**HANDSHAKE, "protocolVersion": version}) + b"\n"
    answers = []
    for script in (WITHOUT_SDK, SDK_ALONE):
        process = Process(repository, [sys.executable, "-c", script])
        process.send(asked)
        answers.append(process.answer(0))
        process.end()
    assert answers[0] == answers[1]


@pytest.mark.parametrize("era", ERAS)
def test_the_first_call_after_it_is_answered(repository: Path, era: str) -> None:
    process = Process(repository)
    start(process, era)
    meta = {"_meta": META} if era == "auto" else {}
    process.send(line(20, "tools/call", name="gate_status", arguments={}, **meta) + b"\n")
    process.send(line(21, "tools/list", **meta) + b"\n")
    assert process.text(20) == "No gate waits."
    assert process.answer(21)["result"]["tools"]
    assert process.end() == (0, b"", ""), "the greeting is not answered twice"


@pytest.mark.parametrize("era", ERAS)
def test_the_sdks_client_starts_calls_and_is_asked(
    repository: Path, holdfast: Holdfast, era: str
) -> None:
    """The client's name and its dialogue were told to the greeting, and the tool knows them."""

    async def ask(context: Any, params: Any) -> ElicitResult:
        return accept(answer="pg")(params)

    async def main() -> list[str]:
        server = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=str(repository))
        async with Client(server, mode=era, elicitation_callback=ask) as client:
            with anyio.fail_after(PATIENCE):
                assert len((await client.list_tools()).tools) == 12
                await client.call_tool("gate_open", {**STORE, "batch": True})
                result = await client.call_tool("gate_status", {"gate": "store", "ask": True})
                assert isinstance(result, CallToolResult)
                return [said(result).text]

    (text,) = anyio.run(main)
    assert "by elicitation" in text


def test_what_is_no_message_comes_to_the_sdk(process: Process) -> None:
    process.send(b"not json\n")
    assert process.answer(None)["error"]["code"] == -32700
    process.send(tool_call(1, "gate_status"))
    assert process.text(1) == "No gate waits."


def test_a_handshake_after_a_stateless_start_is_refused(process: Process) -> None:
    start(process, "auto")
    process.send(line(30, "initialize", **HANDSHAKE) + b"\n")
    assert "error" in process.answer(30)


def test_the_file_is_in_the_package() -> None:
    assert FILE in {path.name for path in Path(generator.PLACE).parent.iterdir()}
