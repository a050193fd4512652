"""The address of the page, and the links that lead away from it."""

from __future__ import annotations

import ipaddress
import re
import secrets
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
# Browsers know by themselves that every name under it is this machine.
OWN_NAMES = ".localhost"
EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)
# A browser takes a name that ends so for a number, in any of the ways to write one.
_NUMBER = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)", re.ASCII)


class Address(NamedTuple):
    """Scheme, host and port as a browser sees them."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        """Host and port as in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.netloc}"

    @property
    def cookie(self) -> str:
        """The cookie's name. Browsers give cookies of a host to all its ports, so two pages on one
        machine need two names."""
        return f"holdfast-{self.port}"

    @property
    def has_random_name(self) -> bool:
        """Whether the host is a random name that only the person's terminal shows."""
        return self.host.endswith(OWN_NAMES)

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"


def make_random_name() -> str:
    """A new random host name of this machine.

    A browser gives a host's cookies to all ports of that host, and so to servers of agents. It
    gives them to no other host, and no agent knows this one. See docs/adr/0030.
    """
    return f"{secrets.token_hex(8)}{OWN_NAMES}"


def parse_address(text: str) -> Address | None:
    """The address of a page behind a proxy; None if the URL is not one."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or parts.path not in ("", "/"):
        return None
    return Address(parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme])


def safe_link(url: str, own: Address) -> str:
    """An agent's link that is safe to follow and to show, or an empty string.

    The host has to be written as browsers write it. There are many ways to spell 127.0.0.1, and a
    browser would send the page's cookie to any port of it.
    """
    if not url.isprintable() or any(letter in url for letter in " \\"):
        return ""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if parts.scheme not in _DEFAULT_PORTS or not host or "@" in parts.netloc or "%" in parts.netloc:
        return ""
    if not _is_plain(host, bracketed=parts.netloc.startswith("[")):
        return ""
    if host != own.host:
        return url
    if own.host not in LOOPBACK:
        return ""
    # This machine has two names for itself; the link uses the other.
    other = "localhost" if own.host != "localhost" else "127.0.0.1"
    return urlunsplit(parts._replace(netloc=f"{other}:{port}" if port else other))


def _is_plain(host: str, *, bracketed: bool) -> bool:
    """Whether a host is a plain name, or an address in its canonical form."""
    try:
        if bracketed or _NUMBER.fullmatch(host):
            return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return False
    return _NAME.fullmatch(host) is not None
