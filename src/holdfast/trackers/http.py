"""One JSON request that ends in time, and where a key may be sent with it."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPException, HTTPResponse
from typing import Any, NoReturn
from urllib.error import URLError
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import HTTPErrorProcessor, ProxyHandler, Request, build_opener

from holdfast.kernel import canonical_json
from holdfast.trackers.port import AUTHENTICATION, REFUSED, TrackerError, unreachable

ANSWER_LIMIT = 8 * 1024 * 1024
REDIRECTS = frozenset({301, 302, 307, 308})
MOST_HOPS = 3
LONGEST_KEY = 1000


class Key:
    """A secret that only `reveal` shows.

    Whatever prints local variables (a crash reporter, a test runner, a debugger) prints `[key]`.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def check(self) -> Key:
        """Itself, if a header can carry it; `http.client` would quote it in its complaint."""
        if (
            not self._text.isascii()
            or not self._text.isprintable()
            or " " in self._text
            or len(self._text) > LONGEST_KEY
        ):
            raise TrackerError("the key is not one word of printable ASCII", kind=AUTHENTICATION)
        return self

    def __bool__(self) -> bool:
        return bool(self._text)

    def reveal(self) -> str:
        """The secret itself, for the one header that carries it."""
        return self._text

    def scrub(self, answer: bytes) -> bytes:
        """The answer without the secret: some servers repeat a bad key in their complaint."""
        return answer.replace(self._text.encode(), b"[key]")

    def __repr__(self) -> str:
        return "[key]"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not written down")


def checked_url(url: str) -> SplitResult:
    """The parts of an address that a key may be sent to."""
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
    """Whether it is this machine; a name other than `localhost` may belong to another machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def same_host(url: str, location: str) -> str:
    """Where a redirect leads, if the key may follow."""
    try:
        target = urljoin(url, location)
        before, after = urlsplit(url), urlsplit(target)
        same = (before.scheme, before.netloc) == (after.scheme, after.netloc)
    except ValueError:
        same = False
    if not same:
        raise TrackerError("redirected to another host", kind=REFUSED)
    return target


class Answer:
    """Status, headers by lower-case name, and the JSON value, if it was one."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.document: Any = None
        self.is_json = True
        try:
            self.document = canonical_json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            self.is_json = False


def request(
    method: str,
    url: str,
    *,
    key: Key,
    deadline: float,
    scheme: str = "",
    headers: Mapping[str, str] | None = None,
    document: object = None,
) -> Answer:
    """Ask once and return whatever was answered; TrackerError when nothing whole came back."""
    sent = {"User-Agent": "holdfast", "Accept": "application/json", **(headers or {})}
    body = None
    if document is not None:
        # A half surrogate, from a file name that is not UTF-8, becomes a question mark.
        body = canonical_json.dumps(document).encode("utf-8", "replace")
        sent["Content-Type"] = "application/json"
    for _ in range(MOST_HOPS):
        answer = _exchange(partial(_talk, method, url, body, sent, key, scheme, deadline), deadline)
        location = answer.headers.get("location", "")
        if answer.status not in REDIRECTS or not location:
            return answer
        url = same_host(url, location)
    raise TrackerError("too many redirects", kind=REFUSED)


def _exchange(talk: Callable[[], Answer], deadline: float) -> Answer:
    """Return the answer if it is whole before the deadline.

    The thread can be given up: neither a name server nor a server that sends a byte a second holds us.
    """
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise unreachable("timed out")
    found: list[Answer | Exception] = []

    def run() -> None:
        try:
            found.append(talk())
        except Exception as failure:
            found.append(failure)

    thread = threading.Thread(target=run, name="holdfast-tracker", daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise unreachable("timed out")
    if isinstance(found[0], Answer):
        return found[0]
    # Not chained: the failure's own text and frames may hold what must not be shown.
    raise _describe_failure(found.pop()) from None


def _talk(
    method: str,
    url: str,
    body: bytes | None,
    headers: Mapping[str, str],
    key: Key,
    scheme: str,
    deadline: float,
) -> Answer:
    parts = checked_url(url)
    # Made here, in the thread: no frame of the caller holds what reveals the key.
    request = Request(url, body, dict(headers), method=method)  # noqa: S310, the scheme is checked
    request.add_unredirected_header("Authorization", scheme + key.reveal())
    # This machine needs no proxy; without a handler of its own, urllib reads the usual variables.
    proxies = [ProxyHandler({})] if is_loopback(parts.hostname) else []
    opener = build_opener(_EveryAnswer, *proxies)
    with opener.open(request, timeout=max(deadline - time.monotonic(), 0.001)) as response:
        answer = bytearray()
        while piece := response.read1(65_536):
            answer += piece
            if len(answer) > ANSWER_LIMIT:
                raise TrackerError("the answer is too large")
            if time.monotonic() > deadline:
                raise TimeoutError
        if response.length:
            raise ConnectionError("the answer ended early")
        named = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, named, key.scrub(bytes(answer)))


class _EveryAnswer(HTTPErrorProcessor):
    """Hands out every answer as it is. So urllib follows no redirect: `request` does, on the same host."""

    def http_response(self, request: Request, response: HTTPResponse) -> HTTPResponse:
        return response

    https_response = http_response


def _describe_failure(failure: object) -> TrackerError:
    """Return the failure of an exchange in the few words that a report has room for."""
    if isinstance(failure, URLError) and isinstance(failure.reason, Exception):
        failure = failure.reason
    if isinstance(failure, TrackerError):
        return failure.with_traceback(None)
    if isinstance(failure, TimeoutError):
        return unreachable("timed out")
    if isinstance(failure, ConnectionRefusedError):
        return unreachable("connection refused")
    if isinstance(failure, socket.gaierror):
        return unreachable("the host's name cannot be resolved")
    if isinstance(failure, ssl.SSLCertVerificationError):
        return unreachable(f"the certificate is not trusted ({failure.verify_message})")
    if isinstance(failure, (ConnectionError, HTTPException)):
        return unreachable("the connection broke off")
    if isinstance(failure, OSError):
        return unreachable(failure.strerror or "the proxy or the network refused")
    return TrackerError(f"holdfast failed: {type(failure).__name__}")
