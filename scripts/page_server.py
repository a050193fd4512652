"""The page server in a thread of this process: for tests, measurements and pictures."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from holdfast.web.app import PageServer
from holdfast.web.server import ServeOptions, UvicornServer, listen
from holdfast.web.workspaces import Site


class Serving:
    """Use it in a `with` statement; outside of it nothing of the server is left."""

    server: PageServer

    def __init__(self, roots: list[str], *, port: int = 0, own: bool = False) -> None:
        """At 127.0.0.1 or, as `holdfast serve` by itself, under a name of its `own`."""
        wish = ServeOptions("" if own else "127.0.0.1", port)
        self._listening, self.address = listen(wish)
        self._roots = roots
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> Serving:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._running.leave)
        self._thread.join()

    def call(self, act: Callable[[], object]) -> None:
        """Do something in the server's own thread."""
        self._loop.call_soon_threadsafe(act)

    def link(self) -> str:
        """A sign-in link, as a terminal would show it."""
        return f"{self.address.origin}/sign-in?token={self.server.sign_ins.link('/dev/pts/1')}"

    def cookie(self) -> str:
        """The Cookie header of somebody who came in."""
        entered = self.server.sign_ins.enter(self.server.sign_ins.link("/dev/pts/1"), "127.0.0.1")
        return f"{self.address.cookie}={entered}"

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.server = PageServer(Site(self._roots), self.address)
        self._running = UvicornServer(self.server, ServeOptions(), "", self._ready.set)
        await self._running.serve(self._listening)
