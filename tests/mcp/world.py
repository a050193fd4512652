"""A client of the SDK's own, in either era of the protocol, and a server in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
from mcp.client.client import Client
from mcp_types import CallToolResult, ElicitResult, Implementation, TextContent

from holdfast.kernel.text import split_words
from holdfast.mcp.call import ENVELOPE
from holdfast.mcp.server import Server
from tests import warm

# With the handshake of 2025-11-25 and before, and without it.
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
PATIENCE = 60.0  # seconds for what must happen; a loaded machine is slow, not wrong
TOOLS = list(
    split_words(
        "checkpoint resume undo agent beat inbox step gate_open gate_status guard reason find"
    )
)
STORE = {
    "kind": "decide",
    "title": "Select a store",
    "context": "Two agents write at once.",
    "options": [
        {"id": "pg", "name": "PostgreSQL", "pros": "Teams run it", "cons": "One more server"},
        {"id": "lite", "name": "SQLite", "pros": "One file", "cons": "One machine"},
    ],
    "name": "store",
}
DASHBOARD = {
    "kind": "verify",
    "title": "User Dashboard",
    "items": ["Cards show data"],
    "url": "http://localhost:3000",
    "name": "dashboard",
}

# Making one costs as much as ten calls, and all that it keeps is its folder.
SHARED = Server()

Value = TypeVar("Value")
Elicited = Callable[[Any], ElicitResult]


class Said(NamedTuple):
    """What a tool answered: the text for a model, and the envelope for programs."""

    text: str
    failed: bool
    envelope: dict[str, Any]

    @property
    def data(self) -> Any:
        return self.envelope["data"]

    @property
    def error(self) -> Any:
        return self.envelope["error"]


def said(result: CallToolResult) -> Said:
    (block,) = result.content
    assert isinstance(block, TextContent)
    envelope = dict((result.meta or {}).get(ENVELOPE) or {})
    assert envelope["ok"] is not bool(result.is_error)
    return Said(block.text, bool(result.is_error), envelope)


class Face:
    """One server and its clients. Every call is a connection of its own, unless `with_client` holds
    one."""

    def __init__(self, folder: Path, era: str = "auto") -> None:
        self.era = era
        self.server = SHARED
        self.server.folder = str(folder)
        self.elicited: list[Any] = []

    def with_client(
        self,
        talk: Callable[[Client], Awaitable[Value]],
        *,
        elicit: Elicited | None = None,
        name: str = "tester",
    ) -> Value:
        async def answer(context: Any, params: Any) -> ElicitResult:
            assert elicit is not None
            self.elicited.append(params)
            return elicit(params)

        async def main() -> Value:
            async with Client(
                self.server,
                mode=self.era,
                elicitation_callback=answer if elicit else None,
                client_info=Implementation(name=name, version="1.2"),
            ) as client:
                assert client.protocol_version == ERAS[self.era]
                with anyio.fail_after(PATIENCE):
                    return await talk(client)

        return anyio.run(main)

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        elicit: Elicited | None = None,
        name: str = "tester",
    ) -> Said:
        async def talk(client: Client) -> CallToolResult:
            result = await client.call_tool(tool, dict(arguments or {}))
            assert isinstance(result, CallToolResult)
            return result

        return said(self.with_client(talk, elicit=elicit, name=name))


def accept(**content: Any) -> Elicited:
    return lambda _: ElicitResult(action="accept", content=content)


# A real process

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
COMMAND = [sys.executable, "-m", "holdfast", "mcp"]


def request(id: int | str, method: str, **params: Any) -> bytes:
    """One line of the stateless era."""
    value = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
    return json.dumps(value).encode() + b"\n"


def tool_call(id: int | str, tool: str, **arguments: Any) -> bytes:
    return request(id, "tools/call", name=tool, arguments=arguments)


class Process:
    """`holdfast mcp` as a client starts it, spoken to line by line."""

    def __init__(self, folder: Path, command: list[str] | None = None, **environment: str) -> None:
        self.process = warm.start(
            command or COMMAND,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        # A test must not wait for ever for an answer that does not come.
        self.watchdog = threading.Timer(2 * PATIENCE, self.process.kill)
        self.watchdog.daemon = True
        self.watchdog.start()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.answers: dict[int | str | None, dict[str, Any]] = {}
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def send(self, line: bytes) -> None:
        self.stdin.write(line)
        self.stdin.flush()

    def answer(self, id: int | str | None) -> dict[str, Any]:
        """The answer with this id; others, which may come before it, are kept."""
        while id not in self.answers:
            line = self.stdout.readline()
            assert line, f"it ended without an answer: {self.process.communicate()[1]!r}"
            value = json.loads(line)
            assert value["jsonrpc"] == "2.0"
            self.answers[value.get("id")] = value
        return self.answers.pop(id)

    def text(self, id: int | str) -> str:
        return str(self.answer(id)["result"]["content"][0]["text"])

    def end(self) -> tuple[int, bytes, str]:
        """Close its standard input, as a client does; its exit code, and what else it said."""
        out, err = self.process.communicate(timeout=PATIENCE)
        self.watchdog.cancel()
        return self.process.returncode, out, err.decode()

    def said_on_stderr(self) -> str:
        """What it said there, once it has ended."""
        self.watchdog.cancel()
        assert self.process.stderr is not None
        with self.process.stderr as stderr:
            self.stdout.close()
            return str(stderr.read(), "utf-8")

    def kill(self) -> None:
        self.watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
