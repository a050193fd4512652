"""`holdfast serve` itself: a real process at a real terminal."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.kernel.text import split_words
from holdfast.web.urls import Address
from tests import warm
from tests.gates.person import Terminal
from tests.web.world import Stream, World

LINK = re.compile(rb"(http://([0-9a-f]{16}\.localhost:\d+))/sign-in\?token=([\w-]+)")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
        return port


def cookie_for(host: str, port: int, token: bytes) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/sign-in?token={token.decode()}", headers={"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200
    return str(answer.headers["set-cookie"]).partition(";")[0]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_person_serves_comes_in_and_ends_it(world: World, how: signal.Signals) -> None:
    world.verify()
    port = free_port()
    terminal = Terminal("serve", "--port", str(port))
    found = terminal.read_until(LINK)
    host, token = found.group(2).decode(), found.group(3)
    cookie = cookie_for(host, port, token)
    address = Address("http", host.partition(":")[0], port)
    stream = Stream(address, "/board.events", cookie)
    assert "Dashboard" in stream.next()["data"]
    before = len(LINK.findall(terminal.screen))
    terminal.type(b"\n")
    terminal.read_until(re.compile(LINK.pattern + rb".*" * before + LINK.pattern, re.DOTALL))
    os.kill(terminal._process.pid, how)
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert "The page has ended." in seen.screen
    assert "Traceback" not in seen.screen
    stream.close()
    with socket.create_server(("127.0.0.1", port)):
        pass  # the port is free again
    assert not [name for name in os.listdir(world.root) if "unfinished" in name]


def test_the_end_waits_for_nothing_that_is_only_half_sent(world: World) -> None:
    id = world.verify()
    port = free_port()
    terminal = Terminal("serve", "--port", str(port))
    found = terminal.read_until(LINK)
    host, origin = found.group(2).decode(), found.group(1).decode()
    cookie = cookie_for(host, port, found.group(3))
    with socket.create_connection(("127.0.0.1", port), timeout=60) as half:
        half.sendall(
            f"POST /w/{world.key}/gates/{id} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\n"
            f"Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            "Content-Length: 500\r\n\r\nanswer=app".encode()
        )
        stream = Stream(Address("http", host.partition(":")[0], port), "/board.events", cookie)
        stream.next()  # what was sent before it has been heard
        os.kill(terminal._process.pid, signal.SIGINT)
        assert half.recv(100).startswith(b"HTTP/1.1 400")
    seen = terminal.leave()
    stream.close()
    assert (seen.code, "Traceback" in seen.screen) == (0, False), seen.screen
    assert world.gate(id)["answer"] is None


def test_no_other_program_can_listen_where_a_browser_looks_for_the_name(world: World) -> None:
    """Browsers try ::1 first; a program that had it would be sent the token and the cookie."""
    from holdfast.web import server

    opened, address = server.listen(server.ServeOptions(port=0))
    assert address.has_random_name
    with pytest.raises(OSError, match=r"in use|not available|not supported"):
        socket.create_server(("::1", address.port), family=socket.AF_INET6).close()
    for one in opened:
        one.close()


def test_the_json_does_not_hold_the_random_name(world: World) -> None:
    port = free_port()
    terminal = Terminal("serve", "--port", str(port), "--json")
    found = terminal.read_until(LINK)
    name = found.group(2).decode().partition(":")[0]
    os.kill(terminal._process.pid, signal.SIGINT)
    screen = terminal.leave().screen
    lines = [line for line in screen.splitlines() if line.startswith("{")]
    assert len(lines) == 2
    assert all(name not in line for line in lines)
    assert f'"address": "http://localhost:{port}"' in lines[0]


def serve(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Without a terminal, as an agent's tool runs it."""
    return warm.run(
        [sys.executable, "-m", "holdfast", "serve", *words, "--json"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        start_new_session=True,
        timeout=60,
        check=False,
    )


def test_the_page_is_not_served_without_a_terminal(world: World) -> None:
    done = serve()
    assert done.returncode == 4
    assert "no terminal" in done.stdout
    assert "token" not in done.stdout + done.stderr
    (record,) = world.workspace.journal.latest(stream="people:workspace")
    assert record["body"]["purpose"] == "sign in to the page"


def test_an_agent_with_a_terminal_gets_no_link(world: World) -> None:
    terminal = Terminal("serve", "--port", "0", environment={"CLAUDECODE": "1"})
    seen = terminal.leave()
    assert seen.code == 4
    assert "token" not in seen.screen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "192.0.2.1"], "others could listen"),
        (["--host", "0.0.0.0", "--tls-certificate", "x", "--tls-key", "y"], "not a name"),
        (["--tls-certificate", "x"], "belong together"),
        (["--behind-proxy", "board"], "is not an address"),
        (["--behind-proxy", "http://board.example.org"], "others could listen"),
        (["--host", "nobody.invalid", "--behind-proxy", "https://x.org"], "is not a name"),
        (["--workspace", "/nowhere"], "There is no folder"),
    ],
)
def test_what_would_be_open_to_others_is_refused(world: World, words: list[str], said: str) -> None:
    terminal = Terminal("serve", "--port", "0", *words, columns=200)
    seen = terminal.leave()
    assert seen.code in (2, 3)
    assert said in seen.screen


def test_a_taken_port_is_named_and_the_default_moves_on(world: World) -> None:
    from holdfast.kernel.errors import HoldfastError
    from holdfast.web import server

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HoldfastError, match="cannot be used"):
            server.listen(server.ServeOptions(port=port))
    opened = [server.listen(server.ServeOptions()) for _ in range(2)]
    assert opened[0][1].port != opened[1][1].port
    for listening, _ in opened:
        for one in listening:
            one.close()


def test_a_bad_certificate_is_said(world: World, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("no certificate")
    terminal = Terminal(
        *split_words("serve --port 0 --host localhost"),
        "--tls-certificate",
        str(tmp_path / "x"),
        "--tls-key",
        str(tmp_path / "x"),
        columns=200,
    )
    seen = terminal.leave()
    assert seen.code == 1
    assert "certificate or its key" in seen.screen


def test_an_encrypted_page(world: World, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *split_words("openssl req -x509 -newkey rsa:2048 -nodes -days 2"),
            "-subj",
            "/CN=localhost",
            "-keyout",
            str(key),
            "-out",
            str(certificate),
        ],
        check=True,
        capture_output=True,
    )
    port = free_port()
    terminal = Terminal(
        "serve",
        "--port",
        str(port),
        "--host",
        "localhost",
        "--tls-certificate",
        str(certificate),
        "--tls-key",
        str(key),
    )
    found = terminal.read_until(re.compile(rb"https://localhost:\d+/sign-in\?token=([\w-]+)"))
    import ssl

    trusting = ssl.create_default_context(cafile=str(certificate))
    trusting.check_hostname = False
    connection = http.client.HTTPSConnection("localhost", port, context=trusting, timeout=30)
    connection.request("GET", f"/sign-in?token={found.group(1).decode()}")
    answer = connection.getresponse()
    answer.read()
    assert "secure" in str(answer.headers["set-cookie"]).lower()
    connection.close()
    os.kill(terminal._process.pid, signal.SIGINT)
    assert terminal.leave().code == 0
