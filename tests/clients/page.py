"""The page on its usual port, without its person: `page.py serve FOLDER`, or `page.py after COMMAND...`,
which runs a command as soon as the page is there. In a client's own network it is nobody else's port."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time

PORT = 4653


def serve(folder: str) -> None:
    from holdfast.web.address import Address
    from holdfast.web.app import Server
    from holdfast.web.serving import Running, Wish
    from holdfast.web.site import Site

    async def run() -> None:
        listening = socket.create_server(("127.0.0.1", PORT))
        server = Server(Site([folder]), Address("http", "127.0.0.1", PORT))
        await Running(server, Wish(), "", lambda: None).serve([listening])

    asyncio.run(run())


def after(command: list[str]) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", PORT)).close()
            break
        except OSError:
            time.sleep(0.05)
    os.execv(command[0], command)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        after(sys.argv[2:])
