"""The same server over HTTP, as a site of its user mounts it: for several clients at once."""

from __future__ import annotations

import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn
from mcp.client.client import Client
from mcp_types import CallToolResult, ElicitResult
from starlette.applications import Starlette
from starlette.routing import Mount

from holdfast.kernel.workspace import discover
from holdfast.mcp.server import app
from tests.mcp.test_tools import WORK
from tests.mcp.world import ERAS, PATIENCE, STORE, request, said

# What is far too long, and may be cut off.
LONG = 20_000_000


def mounted(folder: Path) -> Starlette:
    """A site with the tools under /mcp."""
    tools = app(str(folder))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with tools.router.lifespan_context(tools):
            yield

    return Starlette(routes=[Mount("/mcp", tools)], lifespan=lifespan)


@pytest.fixture
def address(repository: Path) -> Iterator[str]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(mounted(repository), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}/mcp/"
        server.should_exit = True
        thread.join()


@pytest.mark.parametrize("era", ERAS)
def test_tools_and_dialogues_work_over_http(address: str, era: str) -> None:
    async def answer(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"answer": "pg"})

    async def main() -> tuple[str, str]:
        async with Client(address, mode=era, elicitation_callback=answer) as client:
            assert client.protocol_version == ERAS[era]
            saved = await client.call_tool("checkpoint", WORK)
            await client.call_tool("gate_open", {**STORE, "batch": True})
            asked = await client.call_tool("gate_status", {"gate": "store", "ask": True})
            assert isinstance(saved, CallToolResult)
            assert isinstance(asked, CallToolResult)
            return said(saved).text, said(asked).data["status"]

    text, status = anyio.run(main)
    assert text.startswith("Checkpoint complete")
    assert status == "yes"


@pytest.mark.parametrize("clients", [4, pytest.param(10, marks=pytest.mark.proof)])
def test_many_clients_at_once_on_one_server(address: str, clients: int) -> None:
    async def work(number: int, results: list[str]) -> None:
        era = [*ERAS][number % 2]
        async with Client(address, mode=era) as client:
            arguments = {**WORK, "session": f"session-{number}", "task": f"Task {number}"}
            done = await client.call_tool("checkpoint", arguments)
            assert isinstance(done, CallToolResult)
            told = await client.call_tool("resume", {"session": f"session-{number}"})
            assert isinstance(told, CallToolResult)
            assert f"Current task: Task {number} (" in said(told).text
            results.append(said(done).data["session"])

    async def main() -> list[str]:
        results: list[str] = []
        async with anyio.create_task_group() as group:
            for number in range(clients):
                group.start_soon(work, number, results)
        return results

    assert sorted(anyio.run(main)) == sorted(f"session-{number}" for number in range(clients))
    workspace = discover()
    assert len(workspace.journal.heads("session:")) == clients
    workspace.close()


def post(address: str, body: bytes, **headers: str) -> int:
    asked = urllib.request.Request(address, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_page_of_another_site_is_not_let_in(address: str) -> None:
    """A browser can be led here by any page; its Host or Origin gives it away."""
    body = request(1, "tools/list")
    form = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    assert post(address, body, **form, Host="evil.example") in (403, 421)
    assert post(address, body, **form, Origin="http://evil.example") in (400, 403)


def test_a_malformed_request_is_an_error_of_the_clients(address: str) -> None:
    form = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for body in (b"", b"not json", b"[]", b"{}", b"\xff", b"x" * LONG):
        try:
            assert 400 <= post(address, body, **form) < 500, body[:20]
        except (ConnectionError, urllib.error.URLError):
            assert len(body) == LONG, body[:20]
        assert 200 <= post(address, request(1, "tools/list"), **_modern(form)) < 500


def _modern(form: dict[str, str]) -> dict[str, str]:
    return {**form, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}


def test_other_names_can_be_let_in(repository: Path) -> None:
    served = app(str(repository), hosts=["holdfast.example:8443"])
    assert isinstance(served, Starlette)
