"""The request itself: where a key may go, by which way, and how long to wait."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from holdfast.trackers import http
from holdfast.trackers.http import Key, checked_url, is_loopback, same_host
from holdfast.trackers.port import TrackerError, list_resets, wait_seconds, web_address
from tests.trackers.fixtures import soon

KEY = Key("a-key-0123456789")


class Listener:
    """Takes one connection, keeps what came first, and says one thing."""

    def __init__(self, reply: bytes, context: ssl.SSLContext | None = None) -> None:
        self.reply = reply
        self.context = context
        self.heard = b""
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self.socket.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(10)
            try:
                if self.context is not None:
                    connection = self.context.wrap_socket(connection, server_side=True)
                self.heard = connection.recv(65_536)
                connection.sendall(self.reply)
                # Closing with something unread would reset the connection: another fault.
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65_536):
                    pass
            except OSError:
                pass
            finally:
                connection.close()

    def stop(self) -> None:
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        self.thread.join()


@pytest.fixture
def proxy() -> Iterator[Listener]:
    """A proxy that wants to know who we are."""
    listener = Listener(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    yield listener
    listener.stop()


def ask(url: str) -> http.Answer:
    return http.request("POST", url, key=KEY, deadline=soon(10), document={"a": 1})


def test_a_proxy_gets_a_tunnel_to_dig_and_no_key(
    proxy: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{proxy.port}")
    with pytest.raises(TrackerError, match="unreachable: the proxy or the network refused"):
        ask("https://tracker.invalid/graphql")
    proxy.stop()
    assert proxy.heard.startswith(b"CONNECT tracker.invalid:443 HTTP/1.")
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in proxy.heard
    assert KEY.reveal().encode() not in proxy.heard


def test_no_proxy_is_respected(proxy: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{proxy.port}")
    monkeypatch.setenv("NO_PROXY", ".invalid")
    with pytest.raises(TrackerError, match="unreachable"):
        ask("https://tracker.invalid/graphql")
    assert proxy.heard == b""


def test_a_certificate_that_nobody_signed_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # this machine needs no proxy
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("There is no openssl: a wrong certificate was NOT tried.")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    listener = Listener(b"", context)
    try:
        with pytest.raises(TrackerError, match="the certificate is not trusted"):
            ask(f"https://localhost:{listener.port}/")
    finally:
        listener.stop()
    assert listener.heard == b""


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HELLO\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
    ids=["nothing", "no-http", "short", "short-chunk", "headers"],
)
def test_half_an_answer_is_none(reply: bytes) -> None:
    listener = Listener(reply)
    try:
        with pytest.raises(TrackerError, match="unreachable: the connection broke off"):
            ask(f"http://127.0.0.1:{listener.port}/")
    finally:
        listener.stop()


def test_a_name_server_that_is_away_cannot_hold_us(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def resolve(*arguments: object, **options: object) -> None:
        released.wait(30)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    deadline = soon(0.3)
    with pytest.raises(TrackerError, match="unreachable: timed out"):
        http.request("GET", "https://tracker.invalid/", key=KEY, deadline=deadline)
    assert time.monotonic() < deadline + 2.0
    released.set()
    with pytest.raises(TrackerError, match="the host's name cannot be resolved"):
        ask("https://tracker.invalid/")


def test_only_this_machine_may_be_asked_in_the_clear() -> None:
    for url in ("http://127.0.0.1:1/", "http://localhost/", "http://[::1]:8/", "https://x.y/"):
        checked_url(url)
    for url in ("http://10.0.0.1/", "http://localhost.example.com/", "file:///etc/passwd"):
        with pytest.raises(TrackerError):
            checked_url(url)
    assert not is_loopback(None)


@pytest.mark.parametrize(
    ("location", "followed"),
    [
        ("/repositories/1", True),
        ("https://host/b", True),
        ("https://host:444/b", False),
        ("http://host/b", False),
        ("//other/b", False),
        ("https://host.other/b", False),
        ("https://host@other/b", False),
        ("https://[", False),
    ],
)
def test_a_redirect_stays_on_its_host(location: str, followed: bool) -> None:
    if followed:
        assert same_host("https://host/a", location).startswith("https://host/")
    else:
        with pytest.raises(TrackerError, match="another host"):
            same_host("https://host/a", location)


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("40", 40, 40),
        ("0", 1, 1),
        ("999999", 3600, 3600),
        ("-5", 60, 60),
        ("soon", 60, 60),
        ("", 60, 60),
        ("9" * 400, 60, 60),
        (formatdate(0, usegmt=True), 1, 1),
    ],
)
def test_how_long_to_wait(header: str, least: float, most: float) -> None:
    assert least <= wait_seconds({"retry-after": header} if header else {}) <= most


def test_a_date_to_wait_for() -> None:
    header = formatdate(time.time() + 600, usegmt=True)
    assert 300 <= wait_seconds({"retry-after": header}) <= 600


def test_only_a_limit_that_is_used_up_counts() -> None:
    headers = {
        "a-remaining": "0",
        "a-reset": "5",
        "b-remaining": "3",
        "b-reset": "9",
        "c-remaining": "0",
        "c-reset": "never",
    }
    assert list_resets(headers, ("a", "b", "c", "d"), milliseconds=1000) == [5000]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://linear.app/x", "https://linear.app/x"),
        ("javascript:alert(1)", ""),
        ("https://x/\x1b[31m", ""),
        ("https://x/ y", "https://x/ y"),
        (None, ""),
        (7, ""),
    ],
)
def test_only_a_plain_link_is_shown(text: object, shown: str) -> None:
    assert web_address(text) == shown
