"""One JSON request that ends in time, whatever the other side does.

A socket's timeout bounds a single read, and none bounds the resolver: a server that sends a byte
a second, or a name server that is away, would hold a checkpoint for minutes. So the exchange runs
in a thread of its own, and we wait for it until the deadline and no longer.
"""

from __future__ import annotations

import time

from holdfast.kernel import canonical_json
from holdfast.trackers.port import REFUSED, TrackerError, unreachable
from holdfast.trackers.route import checked_url, connection_to, same_host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from http.client import HTTPConnection
    from socket import socket
    from typing import Any
    from urllib.parse import SplitResult

    from holdfast.trackers.keys import Key

ANSWER_LIMIT = 8 * 1024 * 1024
REDIRECTS = frozenset({301, 302, 307, 308})
MOST_HOPS = 3


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
        import threading

        self._method = method
        self._url = url
        self._key = key
        self._scheme = scheme
        self._headers = headers
        self._document = document
        self._done = threading.Event()
        self._given_up = False
        self._socket: socket | None = None
        self._answer: Answer | None = None
        self._failure: Exception | None = None

    def within(self, deadline: float) -> Answer:
        """The answer, if it is whole before the deadline."""
        import threading

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
            raise _told(self._failure) from None
        return self._answer

    def _give_up(self) -> None:
        import socket

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

    def _send(self, connection: HTTPConnection) -> None:
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


def _told(failure: Exception | None) -> TrackerError:
    """The failure of an exchange, in the few words that a report has room for."""
    import http.client
    import socket
    import ssl

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
