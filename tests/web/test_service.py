"""The page as a service: started, signed in to from a terminal, ended."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.kernel.errors import NotFound
from holdfast.web import service
from tests.gates.person import Terminal
from tests.session import world as sessions
from tests.session.world import Holdfast
from tests.web.test_serve import LINK, cookie_for
from tests.web.world import World

holdfast = sessions.holdfast
PATIENCE = 30.0


@contextmanager
def running(words: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], service.Service]]:
    """The command as a service manager starts it: without a terminal, until it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + PATIENCE
        while (found := service.find_service()) is None:
            assert process.poll() is None, process.stderr.read() if process.stderr else b""
            assert time.monotonic() < end
            time.sleep(0.05)
        yield process, found
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def serving(world: World) -> Iterator[service.Service]:
    """A service, which ends with its test."""
    world.verify()
    with running(["serve", "--service", "--port", "0"]) as (_, found):
        yield found


def asked(found: service.Service, path: str, host: str, cookie: str = "") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", found.port, timeout=30)
    connection.request("GET", path, headers={"Host": host, "Cookie": cookie})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def link_on_a_terminal() -> re.Match[bytes]:
    terminal = Terminal("serve", "--link")
    found = terminal.read_until(LINK)
    assert terminal.leave().code == 0
    return found


def test_a_person_signs_in_with_a_link_from_their_terminal(serving: service.Service) -> None:
    found = link_on_a_terminal()
    host, token = found.group(2).decode(), found.group(3)
    cookie = cookie_for(host, serving.port, token)
    status, text = asked(serving, "/board", host, cookie)
    assert (status, "Dashboard" in text) == (200, True)
    # Once means once: the same link again, and the file that it came by, are gone.
    assert asked(serving, f"/sign-in?token={token.decode()}", host)[0] == 403
    assert not list(Path(service.folder()).glob("link-*"))


def test_neither_files_nor_output_tell_the_token(
    serving: service.Service, holdfast: Holdfast
) -> None:
    token = link_on_a_terminal().group(3).decode()
    for path in Path(service.folder()).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
        assert token not in path.name + path.read_text()
    assert stat.S_IMODE(os.stat(service.folder()).st_mode) == 0o700


def test_no_agent_gets_a_link(serving: service.Service, holdfast: Holdfast) -> None:
    assert holdfast("serve", "--link").code == 4, "no terminal"
    seen = Terminal("serve", "--link", environment={"CLAUDECODE": "1"}).leave()
    assert seen.code == 4
    assert "token=" not in seen.screen
    assert not list(Path(service.folder()).glob("link-*"))


def test_the_json_of_a_service_does_not_hold_the_random_name(serving: service.Service) -> None:
    seen = Terminal("serve", "--link", "--json").leave()
    said = json.loads(seen.screen[seen.screen.index("{") : seen.screen.rindex("}") + 1])
    assert said["data"] == {
        "process": serving.process,
        "port": serving.port,
        "workspaces": serving.workspaces,
    }


def test_there_is_one_service_of_a_user(serving: service.Service, holdfast: Holdfast) -> None:
    second = holdfast("serve", "--service")
    assert second.code == 5
    assert f"on port {serving.port}" in second.err


def test_without_a_service_there_is_no_link(world: World, holdfast: Holdfast) -> None:
    answer = holdfast("serve", "--link")
    assert answer.code == 3
    assert "systemd" in answer.err


def test_a_service_that_cannot_start_says_why(world: World, holdfast: Holdfast) -> None:
    answer = holdfast("serve", "--service", "--host", "board.example.invalid")
    assert answer.code == 2
    assert "others could listen to what is sent" in answer.err
    assert service.find_service() is None


def test_an_old_link_does_not_let_anyone_in(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LINK_SECONDS", -1.0)
    os.makedirs(service.folder(), 0o700)
    link = service.leave_link(service.Service(1, "", "http://x.localhost:1", 1, []), "/dev/pts/1")
    digest = hashlib.sha256(link.partition("token=")[2].encode()).hexdigest()
    assert service.take_link(digest) is None
    assert service.take_link("../server.json") is None
    with pytest.raises(NotFound):
        service.require_service()
