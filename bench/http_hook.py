"""A hook over HTTP against a bare route of Starlette that reads the same JSON and answers the same.

Both servers are processes of their own, asked over connections that stay open, in turns.
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

from bench.harness import (
    Contender,
    Plan,
    Process,
    Row,
    python,
    repository,
    take_turns,
    timed_row,
)
from holdfast.hooks.run import command
from holdfast.kernel.workspace import discover
from holdfast.web.agent_keys import made, read

FLOOR = "a bare route of Starlette"
EVENTS = {"PostToolUse": "after a tool", "PreToolUse": "before a tool"}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "http-hook")
    workspace = discover(folder)
    made(workspace)
    rows = []
    for event, when in EVENTS.items():
        with Asked("page", folder, event) as page, Asked("bare", folder, event) as bare:
            ours = f"a hook over http, {when}"
            contenders: dict[str, Contender] = {ours: page, FLOOR: bare}
            samples = take_turns("http_hook", contenders, plan.rounds(2000, 200))
        row = timed_row(ours, samples, ours=ours, base=FLOOR, bar=2.0)
        process = Process(folder, command("claude", event), page.payload)
        alone = take_turns("http_hook", {"process": process}, plan.rounds(30, 5))["process"]
        row.remark = f"as a process: {sorted(alone)[len(alone) // 2] * 1000:.0f} ms"
        rows.append(row)
    return rows


class Asked:
    """A server in a process of its own, and a connection to it."""

    def __init__(self, kind: str, folder: str, event: str) -> None:
        words = python("-m", "bench.http_hook", kind, folder)
        self._process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        port = json.loads(self._process.stdout.readline())["port"]
        self.payload = json.dumps(
            {
                "session_id": "e56edf7d-c715-4d35-a397-e6ff435b39cc",
                "cwd": folder,
                "hook_event_name": event,
                "tool_name": "Bash",
                "tool_input": {"command": "make test", "description": "run the tests"},
                "tool_response": {"stdout": "ok\n" * 500, "stderr": "", "interrupted": False},
            }
        )
        self._path = f"/hooks/claude/{event}"
        token = read(discover(folder).home)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.send_signal(signal.SIGINT)
        self._process.wait()

    def __call__(self) -> float:
        start = time.perf_counter()
        self._connection.request("POST", self._path, self.payload, self._headers)
        answer = self._connection.getresponse()
        said = answer.read()
        taken = time.perf_counter() - start
        if (answer.status, said) != (200, b"{}"):
            raise RuntimeError(f"{self._path} answered {answer.status}: {said[:200]!r}")
        return taken


def _serve(kind: str, folder: str) -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    from holdfast.web.address import Address
    from holdfast.web.app import Server
    from holdfast.web.serving import Running, Wish
    from holdfast.web.site import Site

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as `holdfast serve` does
    port = listening.getsockname()[1]

    async def bare(request: Request) -> JSONResponse:
        await request.json()
        return JSONResponse({})

    async def serve() -> None:
        server: uvicorn.Server
        if kind == "page":
            page = Server(Site([folder]), Address("http", "127.0.0.1", port))
            server = Running(page, Wish(), "", lambda: None)
        else:
            app = Starlette(routes=[Route("/hooks/claude/{event}", bare, methods=["POST"])])
            config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
            server = uvicorn.Server(config)
        print(json.dumps({"port": port}), flush=True)
        await server.serve([listening])

    asyncio.run(serve())


if __name__ == "__main__":
    try:
        _serve(*sys.argv[1:3])
    except KeyboardInterrupt:
        pass
