"""A network between a client and the server that can lose, delay and swallow."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from types import TracebackType
from urllib.parse import urlsplit, urlunsplit

# The first words of PostgreSQL's protocol, for which it sends numbers that no version has.
SSL_REQUEST, GSS_REQUEST = 80877103, 80877104


class Network:
    """Forwards to a server's address. Each trouble is switched on by a test, at any time."""

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        self._server = urlsplit(url)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        # The next so many answers (or requests) are lost, and the connection with each.
        self.lost_answers = 0
        self.lost_requests = 0
        self.delay = 0.0
        self.swallows = False
        # Requests arrive, and their answers do not.
        self.swallows_answers = False
        # Nobody answers at all.
        self.is_away = False
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        port = self._listener.getsockname()[1]
        secrets = self._server.netloc.rpartition("@")[0]
        return urlunsplit(self._server._replace(netloc=f"{secrets}@127.0.0.1:{port}"))

    def move_to(self, url: str) -> None:
        """Another server answers at this address from now on."""
        self._server = urlsplit(url)
        self.cut()

    def cut(self) -> None:
        """Every connection breaks."""
        for pair in self._pairs:
            for end in pair:
                _end(end)
        self._pairs.clear()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        # Shut down first, and wait: a thread that still waits on a closed descriptor takes the calls of
        # whatever server gets that number next.
        _end(self._listener)
        self._accepting.join()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._tls is not None:
                try:
                    client = _secured(client, self._tls)
                except (OSError, ValueError):
                    client.close()
                    continue
            address = (self._server.hostname or "", self._server.port or 5432)
            server = socket.create_connection(address)
            for end in (client, server):
                # As PostgreSQL and libpq do. Otherwise a short message waits 40 ms for an acknowledgment.
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
            self._pairs.append((client, server))
            for ends, answers in (((client, server), False), ((server, client), True)):
                threading.Thread(target=self._forward, args=(*ends, answers), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if self.swallows or (answers and self.swallows_answers):
                    continue
                if self.is_away or self._loses(answers):
                    break
                if answers and self.delay:
                    time.sleep(self.delay)
                sink.sendall(data)
        except OSError:
            pass
        _end(source)
        _end(sink)

    def _loses(self, answers: bool) -> bool:
        if answers and self.lost_answers:
            self.lost_answers -= 1
            return True
        if not answers and self.lost_requests:
            self.lost_requests -= 1
            return True
        return False


def _secured(client: socket.socket, tls: ssl.SSLContext) -> socket.socket:
    """What a server with a certificate does first: it is asked for TLS, and agrees."""
    while True:
        length, code = struct.unpack("!ii", client.recv(8, socket.MSG_WAITALL).ljust(8, b"\0"))
        if (length, code) == (8, SSL_REQUEST):
            client.sendall(b"S")
            return tls.wrap_socket(client, server_side=True)
        if (length, code) != (8, GSS_REQUEST):
            raise ValueError("asks for no TLS")
        client.sendall(b"N")


def _end(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
