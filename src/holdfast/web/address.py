"""Where the page is reached: the one host that it answers to, and links that lead away from it."""

from __future__ import annotations

import socket
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """Scheme, host and port as a browser sees them."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """As the Host header says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def cookie(self) -> str:
        """The cookie's name. Browsers give cookies of one host to all of its ports, so that two pages
        on one machine need two names."""
        return f"holdfast-{self.port}"

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"


def of_url(text: str) -> Address | None:
    """The address that people type for a page behind a proxy; None when it is not one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.path not in ("", "/"):
        return None
    return Address(parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme])


def leading_away(url: str, own: Address) -> str:
    """An agent's link as it may be followed, or nothing.

    A browser sends the cookies of a host to every port of it, and so to a server that an agent started
    on the page's own host. This machine has two names for itself; the link uses the other.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS or not host or parts.username or parts.password:
        return ""
    if _plain(host) != own.host:
        return url
    if own.host not in LOOPBACK:
        return ""
    other = "localhost" if own.host != "localhost" else "127.0.0.1"
    return urlunsplit(parts._replace(netloc=f"{other}:{port}" if port else other))


def _plain(host: str) -> str:
    """A host as a browser understands it: `127.1` and `2130706433` are 127.0.0.1."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host.rstrip(".").lower()
