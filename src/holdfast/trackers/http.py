"""One JSON request that ends in time, and where a key may be sent with it."""

from __future__ import annotations

import http.client
import ipaddress
import os
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from holdfast.kernel import canonical_json
from holdfast.trackers.port import AUTHENTICATION, REFUSED, TrackerError, unreachable

PROXY_PORT = 8080
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


def connection_to(url: SplitResult, seconds: float) -> http.client.HTTPConnection:
    """A connection that is not open yet, through the proxy when there is one."""
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
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    connection.set_tunnel(host, url.port or 443, headers)
    return connection


def _proxy(host: str) -> SplitResult | None:
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


class Answer:
    """Status, headers by lower-case name, and the JSON value, if it was one."""

    __slots__ = ("document", "headers", "is_json", "status")

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
    for _ in range(MOST_HOPS):
        answer = _Exchange(method, checked_url(url), key, scheme, headers or {}, document).within(
            deadline
        )
        location = answer.headers.get("location", "")
        if answer.status not in REDIRECTS or not location:
            return answer
        url = same_host(url, location)
    raise TrackerError("too many redirects", kind=REFUSED)


class _Exchange:
    """One request and its answer, in a thread that can be given up."""

    def __init__(
        self,
        method: str,
        url: SplitResult,
        key: Key,
        scheme: str,
        headers: Mapping[str, str],
        document: object,
    ) -> None:
        self._method = method
        self._url = url
        self._key = key
        self._scheme = scheme
        self._headers = headers
        self._document = document
        self._done = threading.Event()
        self._given_up = False
        self._socket: socket.socket | None = None
        self._answer: Answer | None = None
        self._failure: Exception | None = None

    def within(self, deadline: float) -> Answer:
        """The answer, if it is whole before the deadline."""
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise unreachable("timed out")
        thread = threading.Thread(
            target=self._run, args=(seconds,), name="holdfast-tracker", daemon=True
        )
        thread.start()
        if not self._done.wait(seconds):
            self._give_up()
            raise unreachable("timed out")
        if self._answer is None:
            # Not chained: the failure's own text and frames may hold what must not be shown.
            raise _describe_failure(self._failure) from None
        return self._answer

    def _give_up(self) -> None:
        self._given_up = True
        if self._socket is not None:
            try:
                # The plain socket's method: TLS would take its state away from under the thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                pass

    def _run(self, seconds: float) -> None:
        try:
            self._answer = self._talk(seconds)
        except Exception as failure:
            self._failure = failure
        finally:
            self._done.set()

    def _talk(self, seconds: float) -> Answer:
        connection = connection_to(self._url, seconds)
        try:
            connection.connect()
            self._socket = connection.sock
            if self._given_up:
                raise TimeoutError
            self._send(connection)
            with connection.getresponse() as response:
                body = bytearray()
                while piece := response.read1(65_536):
                    body += piece
                    if len(body) > ANSWER_LIMIT:
                        raise TrackerError("the answer is too large")
                if response.length:
                    raise ConnectionError("the answer ended early")
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status, headers, self._key.scrub(bytes(body)))
        finally:
            connection.close()

    def _send(self, connection: http.client.HTTPConnection) -> None:
        target = self._url.path or "/"
        if self._url.query:
            target += f"?{self._url.query}"
        body = None
        if self._document is not None:
            # A half surrogate, from a file name that is not UTF-8, becomes a question mark.
            body = canonical_json.dumps(self._document).encode("utf-8", "replace")
        headers = {"User-Agent": "holdfast", "Accept": "application/json", **self._headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        headers["Authorization"] = self._scheme + self._key.reveal()
        connection.request(self._method, target, body, headers)


def _describe_failure(failure: Exception | None) -> TrackerError:
    """The failure of an exchange, in the few words that a report has room for."""
    if isinstance(failure, TrackerError):
        return failure
    if isinstance(failure, TimeoutError):
        return unreachable("timed out")
    if isinstance(failure, ConnectionRefusedError):
        return unreachable("connection refused")
    if isinstance(failure, socket.gaierror):
        return unreachable("the host's name cannot be resolved")
    if isinstance(failure, ssl.SSLCertVerificationError):
        return unreachable(f"the certificate is not trusted ({failure.verify_message})")
    if isinstance(failure, (ConnectionError, http.client.HTTPException)):
        return unreachable("the connection broke off")
    if isinstance(failure, OSError):
        return unreachable(failure.strerror or "the proxy or the network refused")
    return TrackerError(f"holdfast failed: {type(failure).__name__}")
