"""The first byte of the pages on 200 agents and 100,000 records, against an empty page of Starlette.

Both servers are processes of their own, asked over connections that stay open. The page that is asked for
is open in another window, as the board is all day, so that there is a copy of it. What a page costs that
nobody has open is in its remark.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from bench.harness import Contender, Plan, Row, python, repository, say, take_turns, timed_row
from holdfast.fleet import agents as lives
from holdfast.fleet import updates
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.journal.interface import Append
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.stream_write import draft
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace, discover
from holdfast.note.rules import note
from holdfast.plans import discovery
from holdfast.plans.operations import begin

if TYPE_CHECKING:
    from holdfast.plans.operations import Options

FLOOR = "an empty page of Starlette"
BAR = 3.0
PLANS = 20
PLAN = """\
---
phase: 1
plan: {number:02}
autonomous: true
---

<task type="auto"><name>Build</name><action>Build it</action><run>true</run></task>
"""
AGENTS, RECORDS, BATCH = 200, 100_000, 1000
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "page")
    agents, records = plan.rounds(AGENTS, 20), plan.rounds(RECORDS, 2000)
    say(f"page: writing {agents} agents and {records:,} records")
    workspace = discover(folder)
    _agents(workspace, agents)
    _records(workspace, records)
    run = _run(workspace)
    rows = []
    with PageRequest("pages", folder) as pages, PageRequest("empty", folder) as empty:
        for name, path in (
            ("board", "/board"),
            ("fleet", "/fleet"),
            ("history", "/history"),
            ("run", f"/w/page/runs/{run}"),
        ):
            rows.append(
                _row(plan, name, path, pages, empty, f"{agents} agents, {records:,} records")
            )
        window = pages.open_window("/board")
        beats = [_after_a_beat(workspace, pages, number) for number in range(plan.rounds(10, 3))]
        window.close()
    workspace.close()
    slowest = max(beats) * 1000
    rows[0].remark += f"; right after a beat, when it is made anew, at most {slowest:.0f} ms"
    return rows


def _row(plan: Plan, name: str, path: str, pages: PageRequest, empty: PageRequest, of: str) -> Row:
    """A page as it is asked for again and again while a window has it open."""
    anew = pages.first_byte(path) * 1000
    window = pages.open_window(path)
    ours = f"the page {name}"
    contenders: dict[str, Contender] = {
        ours: lambda: pages.first_byte(path),
        FLOOR: lambda: empty.first_byte(path),
    }
    samples = take_turns(
        f"page: {name}", contenders, plan.rounds(600 if name == "board" else 200, 60)
    )
    size = pages.size
    window.close()
    row = timed_row(
        f"first byte of the {name}, {of}, {size // 1000} KB",
        samples,
        ours=ours,
        base=FLOOR,
        bar=BAR,
    )
    row.remark = f"asked for the first time, without a copy: {anew:.0f} ms"
    return row


def _run(workspace: Workspace) -> str:
    """A run of plans that was begun, and of which nothing ran yet."""
    folder = os.path.join(workspace.root, "plans")
    os.mkdir(folder)
    for number in range(1, PLANS + 1):
        with open(os.path.join(folder, f"1-{number:02}.md"), "w", encoding="utf-8") as file:
            file.write(PLAN.format(number=number))
    files = discovery.files(["plans"], workspace.root, workspace.root)
    known = [one["plan"] for one in discovery.documents(files, workspace.root)]
    options: Options = {"jobs": 4, "tries": 3, "worktrees": False, "phase": "", "task": ""}
    plans = [one for one in known if one is not None]
    return begin(open_writer(workspace), plans, options, actor="bench", again=True)


def _agents(workspace: Workspace, count: int) -> None:
    for number in range(count):
        name = f"Secondary-{chr(65 + number // 26)}{chr(65 + number % 26)}"
        lives.start(_context(workspace), name, f"feature_{number:03}")


def _context(workspace: Workspace) -> FleetContext:
    return FleetContext(find(workspace), workspace, actor="bench", now=clock.now())


def _records(workspace: Workspace, count: int) -> None:
    writer, stream = open_writer(workspace), note.stream_of("bench")
    text = {"text": "The parser is done; the renderer is next.", "by": "bench"}
    for start in range(0, count, BATCH):
        drafts = [
            draft(writer.redactor, new_id(), [("noted", text)], "bench", clock.now())[0]
            for _ in range(BATCH)
        ]
        workspace.journal.commit([Append(stream, drafts, expected=start, state=None)])


def _after_a_beat(workspace: Workspace, pages: PageRequest, number: int) -> float:
    updates.update(
        _context(workspace), "Secondary-AA", {"do": "beat", "set": {"phase": str(number)}}
    )
    return pages.first_byte("/board")


class PageRequest:
    """A server in a process of its own, and a connection to it."""

    def __init__(self, kind: str, folder: str) -> None:
        command = python("-m", "bench.page", kind, folder)
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        told = json.loads(self._process.stdout.readline())
        self._port: int = told["port"]
        self._headers = {"Cookie": told["cookie"]}
        self._connection = self._connected()
        self.size = 0

    def __enter__(self) -> PageRequest:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def first_byte(self, path: str) -> float:
        start = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        taken = time.perf_counter() - start
        self.size = len(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}")
        return taken

    def open_window(self, path: str) -> http.client.HTTPConnection:
        """What a browser keeps open for a live page."""
        connection = self._connected()
        connection.request("GET", f"{path}.events", headers=self._headers)
        connection.getresponse().readline()
        return connection

    def _connected(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _serve(kind: str, folder: str) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    from holdfast.web.app import PageServer
    from holdfast.web.server import ServeOptions, UvicornServer
    from holdfast.web.urls import Address
    from holdfast.web.workspaces import Site

    listening = socket.create_server(("127.0.0.1", 0))
    port, cookie = listening.getsockname()[1], ""

    async def empty(request: Request) -> HTMLResponse:
        return HTMLResponse("")

    async def serve() -> None:
        nonlocal cookie
        server: uvicorn.Server
        if kind == "pages":
            page = PageServer(Site([folder]), Address("http", "127.0.0.1", port))
            entered = page.sign_ins.enter(page.sign_ins.link("bench"), "bench")
            cookie = f"{page.address.cookie}={entered}"
            server = UvicornServer(page, ServeOptions(), "", lambda: None)
        else:
            app = Starlette(routes=[Route("/{path:path}", empty)])
            config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
            server = uvicorn.Server(config)
        print(json.dumps({"port": port, "cookie": cookie}), flush=True)
        await server.serve([listening])

    asyncio.run(serve())


if __name__ == "__main__":
    try:
        _serve(*sys.argv[1:3])
    except KeyboardInterrupt:
        pass
