"""The page in the background: started, signed in to from a terminal, ended."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import stat
from collections.abc import Iterator
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


@pytest.fixture
def serving(world: World, holdfast: Holdfast) -> Iterator[service.Service]:
    """A service, which ends with its test."""
    world.verify()
    assert holdfast("serve", "--background", "--port", "0", "--json").code == 0
    found = service.running()
    assert found is not None
    yield found
    if service.running() is not None:
        service.stop()


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


def test_the_json_of_a_service_does_not_hold_the_random_name(
    serving: service.Service, holdfast: Holdfast
) -> None:
    answer = holdfast("serve", "--stop", "--json")
    assert answer.data == {
        "process": serving.process,
        "port": serving.port,
        "workspaces": serving.workspaces,
        "stopped": True,
    }
    assert ".localhost" not in answer.out


def test_there_is_one_service_and_it_ends(serving: service.Service, holdfast: Holdfast) -> None:
    second = holdfast("serve", "--background")
    assert second.code == 5
    assert f"on port {serving.port}" in second.err
    assert holdfast("serve", "--stop").code == 0
    assert service.running() is None
    assert not (Path(service.folder()) / service.SERVER).exists()
    assert holdfast("serve", "--stop").code == 3
    assert holdfast("serve", "--link").code == 3


def test_a_service_that_cannot_start_says_why(world: World, holdfast: Holdfast) -> None:
    answer = holdfast("serve", "--background", "--host", "board.example.invalid")
    assert answer.code == 1
    assert "others could listen to what is sent" in answer.err
    assert service.running() is None


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
        service.needed()
