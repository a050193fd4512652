"""A local HTTP server that records what it is asked and fails when it is told to."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.trackers import faults
from tests.trackers.faults import Fault


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    document: Any


@dataclass(frozen=True)
class Reply:
    """One answer as it goes out; no document, no body."""

    status: int
    document: Any = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class _Planned:
    fault: Fault
    times: int
    on: str


class FakeServer:
    """Listens on a free port of 127.0.0.1 until `stop`; a service is a subclass with `answer`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.broken: list[str] = []
        self.lock = threading.RLock()
        self.stopping = threading.Event()
        self._planned: list[_Planned] = []
        self._server = _Listener(("127.0.0.1", 0), _handler(self))
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def answer(self, request: Request) -> Reply:
        """What the service does with a request; called with `self.lock` held."""
        raise NotImplementedError

    def word(self, request: Request) -> str:
        """What kind of request it is, for faults that hit only some."""
        return request.method

    def fail(self, fault: Fault, *, times: int = 1, on: str = "") -> None:
        """Fail the next so many requests, or the next so many of one kind."""
        with self.lock:
            self._planned.append(_Planned(fault, times, on))

    def next_fault(self, request: Request) -> Fault | None:
        with self.lock:
            for planned in self._planned:
                if planned.times and planned.on in ("", self.word(request)):
                    planned.times -= 1
                    return planned.fault
        return None

    def stop(self) -> None:
        """End; AssertionError when the service met something that its schema does not allow."""
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        assert not self.broken, "\n".join(self.broken)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that left is no news; the handler notes everything else itself."""


def _handler(fake: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def serve(self) -> None:
            self.close_connection = True
            length = int(self.headers.get("Content-Length") or 0)
            text = self.rfile.read(length).decode("utf-8")
            request = Request(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(text) if text else None,
            )
            with fake.lock:
                fake.requests.append(request)
            fault = fake.next_fault(request)
            if fault is None:
                return self.deliver(self.done(request))
            if fault.how == faults.BEFORE:
                return self.send(fault.status, fault.body, tuple(fault.headers.items()))
            if fault.how == faults.HANG:
                fake.stopping.wait()
                return None
            if fault.how == faults.SLOW:
                fake.stopping.wait(fault.seconds)
                return self.deliver(self.done(request))
            reply = self.done(request)
            if fault.how == faults.LOST:
                self.connection.shutdown(socket.SHUT_RDWR)
                return None
            return self.trickle(reply, fault)

        do_GET = do_POST = do_PATCH = do_DELETE = serve  # noqa: N815

        def done(self, request: Request) -> Reply:
            with fake.lock:
                try:
                    return fake.answer(request)
                except Exception as error:
                    fake.broken.append(f"{request.method} {request.path}: {error!r}")
                    return Reply(500)

        def deliver(self, reply: Reply) -> None:
            body = b"" if reply.document is None else json.dumps(reply.document).encode()
            self.send(reply.status, body, reply.headers)

        def send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...]) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def trickle(self, reply: Reply, fault: Fault) -> None:
            body = json.dumps(reply.document).encode()
            head = f"HTTP/1.1 {reply.status} OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            if fault.how == faults.TRICKLE:
                self.wfile.write(head)
                head = b""
            for byte in head + body:
                if fake.stopping.wait(fault.seconds):
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, format: str, *arguments: object) -> None:
            """Silent: `requests` is the log."""

    return Handler
