"""Where a key may be sent, and by which way.

The key goes to one host over verified TLS: plain http is for loopback alone, and a redirect is
followed only to the same host. `HTTPS_PROXY` and `NO_PROXY` are respected; the proxy carries a
tunnel and sees the name of the host, nothing else.
"""

from __future__ import annotations

import os

from holdfast.trackers.port import REFUSED, TrackerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from http.client import HTTPConnection
    from urllib.parse import SplitResult

PROXY_PORT = 8080


def checked_url(url: str) -> SplitResult:
    """The parts of an address that a key may be sent to."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or not url.isascii() or not url.isprintable() or " " in url:
        raise TrackerError("the tracker's address is not a URL", kind=REFUSED)
    if parts.username is not None or parts.password is not None:
        raise TrackerError("the tracker's address must not hold a password", kind=REFUSED)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
        raise TrackerError("the tracker's address must begin with https://", kind=REFUSED)
    return parts


def is_loopback(host: str | None) -> bool:
    """Whether it is this machine; a name other than `localhost` could be anybody's."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def same_host(url: str, location: str) -> str:
    """Where a redirect leads, if the key may follow."""
    from urllib.parse import urljoin, urlsplit

    try:
        target = urljoin(url, location)
        before, after = urlsplit(url), urlsplit(target)
        same = (before.scheme, before.netloc) == (after.scheme, after.netloc)
    except ValueError:
        same = False
    if not same:
        raise TrackerError("redirected to another host", kind=REFUSED)
    return target


def connection_to(url: SplitResult, seconds: float) -> HTTPConnection:
    """A connection that is not open yet, through the proxy when there is one."""
    import http.client

    host = url.hostname or ""
    if url.scheme == "http":
        return http.client.HTTPConnection(host, url.port or 80, timeout=seconds)
    proxy = _proxy(host)
    if proxy is None:
        return http.client.HTTPSConnection(host, url.port or 443, timeout=seconds)
    connection = http.client.HTTPSConnection(
        proxy.hostname or "", proxy.port or PROXY_PORT, timeout=seconds
    )
    headers = {}
    if proxy.username:
        from base64 import b64encode
        from urllib.parse import unquote

        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    connection.set_tunnel(host, url.port or 443, headers)
    return connection


def _proxy(host: str) -> SplitResult | None:
    from urllib.parse import urlsplit
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    given = {
        name: os.environ.get(f"{name}_proxy") or os.environ.get(f"{name.upper()}_PROXY", "")
        for name in ("https", "no")
    }
    if not given["https"] or is_loopback(host) or proxy_bypass_environment(host, given):
        return None
    text = given["https"] if "://" in given["https"] else f"http://{given['https']}"
    parts = urlsplit(text)
    if parts.scheme != "http" or not parts.hostname:
        raise TrackerError("HTTPS_PROXY is not an http:// address", kind=REFUSED)
    return parts
