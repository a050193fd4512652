"""MCP over HTTP: the tools of one workspace, started when somebody first asks for them."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.kernel.errors import NotFound


class Tools:
    """One workspace's MCP server. Its library takes a second to load, and most pages need it never."""

    def __init__(self, root: str, host: str) -> None:
        self._root = root
        self._host = host
        self._task: asyncio.Task[None] | None = None
        self._started: asyncio.Future[ASGIApp] | None = None
        self._over = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._started))
        app = await asyncio.shield(self._started)
        await app({**scope, "path": "/", "raw_path": b"/", "root_path": ""}, receive, send)

    async def _run(self, started: asyncio.Future[ASGIApp]) -> None:
        try:
            app = await asyncio.to_thread(self._made)
            async with app.router.lifespan_context(app):
                started.set_result(app)
                await self._over.wait()
        except Exception as error:
            if not started.done():
                started.set_exception(error)
                self._started = None  # whoever asks next may have better luck

    def _made(self) -> Starlette:
        try:
            from holdfast.mcp.server import app
        except ImportError as error:
            raise NotFound(
                f"The tools need a package that is not installed: {error.name}.",
                hint="pip install 'holdfast[mcp]'",
                kind="not_installed",
            ) from None
        return app(self._root, hosts=[self._host])

    def leave(self) -> None:
        """Streams that clients hold open end now."""
        self._over.set()

    async def close(self) -> None:
        self.leave()
        if self._task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
