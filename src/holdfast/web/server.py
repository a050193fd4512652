"""Run the page server: its sockets, its sign-in links, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import uvicorn

from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.people import person
from holdfast.web.access import LINK_SECONDS
from holdfast.web.app import PageServer
from holdfast.web.urls import EVERYWHERE, LOOPBACK, Address, make_random_name, parse_address

PORT = 4653  # "HOLD" on a telephone
MORE_PORTS = 20
# How long an answer that is on its way may still take at the end.
GRACE_SECONDS = 12
# A machine without IPv6: no other program can listen there either.
NO_SUCH_NETWORK = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ServeOptions(NamedTuple):
    """The options of `holdfast serve`. Without a host the page has a random name of this machine."""

    host: str = ""
    port: int | None = None
    certificate: str = ""
    key: str = ""
    proxy: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses to listen on. Browsers try both addresses of this machine, so a program on
        the other one would get the cookie."""
        both = ("127.0.0.1", "::1")
        return both if self.host in ("", "localhost") else (self.host,)


def listen(wish: ServeOptions) -> tuple[list[socket.socket], Address]:
    """Open the sockets, and return the address that people type. Only this machine unless the
    connection is encrypted."""
    refuse_open(wish)
    proxy = _proxy(wish)
    opened = _bound(wish)
    port: int = opened[0].getsockname()[1]
    scheme = "https" if wish.certificate else "http"
    return opened, proxy or Address(scheme, wish.host or make_random_name(), port)


def _proxy(wish: ServeOptions) -> Address | None:
    if not wish.proxy:
        return None
    address = parse_address(wish.proxy)
    if address is None:
        raise Usage(
            f"--behind-proxy {wish.proxy!r:.80} is not an address.",
            hint="The one that people type, such as https://board.example.org",
        )
    if not address.is_secure and address.host not in LOOPBACK and not address.has_random_name:
        raise Usage(
            f"On the way to {address.host} others could listen to what is sent.",
            hint="The proxy has to encrypt: --behind-proxy https://...",
            kind="unencrypted",
        )
    return address


def refuse_open(wish: ServeOptions) -> None:
    if bool(wish.certificate) != bool(wish.key):
        raise Usage("--tls-certificate and --tls-key belong together.")
    if not wish.host or wish.host in LOOPBACK:
        return
    if not wish.certificate and not wish.proxy:
        raise Usage(
            f"On {wish.host} others could listen to what is sent.",
            hint="Give --tls-certificate and --tls-key; or, when a proxy in front of it encrypts, "
            "--behind-proxy with the address that people type.",
            kind="unencrypted",
        )
    if wish.host in EVERYWHERE and not wish.proxy:
        raise Usage(
            f"{wish.host} is not a name that a browser can open.",
            hint="Give --host the name or the address that people type.",
        )


def _bound(wish: ServeOptions) -> list[socket.socket]:
    ports = {None: range(PORT, PORT + MORE_PORTS), 0: [0] * MORE_PORTS}.get(wish.port, [wish.port])
    problem = ""
    if wish.host and wish.host not in EVERYWHERE:
        try:
            socket.getaddrinfo(wish.host, None)
        except (OSError, UnicodeError):
            raise Usage(
                f"--host {wish.host!r:.80} is not a name of this machine.",
                hint="Give the name or the address that people type.",
            ) from None
    for port in ports:
        try:
            return _opened(wish.hosts, port or 0)
        except (OSError, OverflowError) as error:
            problem = str(getattr(error, "strerror", "") or error)
    raise HoldfastError(
        f"{wish.host or 'This machine'} port {wish.port or PORT} cannot be used: {problem}.",
        hint="Choose another: --port N, or 0 for any.",
        kind="port_taken",
    )


def _opened(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """One socket for each host, all with the same port; or none."""
    found: list[socket.socket] = []
    try:
        for host in hosts:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            try:
                one = socket.create_server((host, port), family=family)
            except OSError as error:
                if not found or error.errno not in NO_SUCH_NETWORK:
                    raise
                continue
            # asyncio does so only for what says that it is TCP. Without it, the second of the two
            # packets that an answer is waits 40 ms for a client's acknowledgement.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found.append(one)
            port = one.getsockname()[1]
    except (OSError, OverflowError):
        for one in found:
            one.close()
        raise
    return found


class UvicornServer(uvicorn.Server):
    """uvicorn's server that first ends open streams, and raises no signal again."""

    def __init__(
        self, server: PageServer, wish: ServeOptions, terminal: str, ready: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                server.asgi,
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                ssl_certfile=wish.certificate or None,
                ssl_keyfile=wish.key or None,
                timeout_graceful_shutdown=GRACE_SECONDS,
                proxy_headers=False,
            )
        )
        self._page = server
        self._terminal = terminal
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's
            return
        loop = asyncio.get_running_loop()
        for one in ENDING:
            loop.add_signal_handler(one, self.leave)
        typed = 0 if self._terminal and os.isatty(0) else None
        if typed is not None:
            loop.add_reader(typed, self._typed, loop)
        try:
            yield
        finally:
            if typed is not None:
                loop.remove_reader(typed)
            for one in ENDING:
                loop.remove_signal_handler(one)

    def leave(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self._page.leave()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    def _typed(self, loop: asyncio.AbstractEventLoop) -> None:
        """Show a new link when the person presses Enter. In the background of a terminal, reading
        would stop the process."""
        if os.tcgetpgrp(0) != os.getpgrp():
            loop.remove_reader(0)
            loop.call_later(1.0, loop.add_reader, 0, self._typed, loop)
        elif os.read(0, 4096):
            show_link(self._page, self._terminal)
        else:
            loop.remove_reader(0)


def show_link(server: PageServer, terminal: str) -> None:
    """Show a one-time link on the terminal, and nowhere else."""
    link = f"{server.address.origin}/sign-in?token={server.sign_ins.link(terminal)}"
    minutes = int(LINK_SECONDS // 60)
    person.tell(
        ["", f"  {link}", "", f"It works once, within {minutes} minutes. Enter shows a new one, "
         "Ctrl+C ends the page.", ""]
    )  # fmt: skip


def run(
    server: PageServer,
    listening: list[socket.socket],
    wish: ServeOptions,
    terminal: str,
    ready: Callable[[], None],
) -> None:
    """Serve until the process is interrupted. `ready` is called once the page can be opened."""

    try:
        running = UvicornServer(server, wish, terminal, ready)
        running.config.load()
    except (OSError, ssl.SSLError) as error:
        for one in listening:
            one.close()
        server.close()
        raise HoldfastError(
            f"The certificate or its key cannot be used: {error}.", kind="bad_certificate"
        ) from error
    asyncio.run(running.serve(listening))
