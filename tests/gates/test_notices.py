"""People are told that a gate waits: through apprise itself; only the service is ours."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holdfast.gates import ask as asking
from holdfast.gates import lookup, notices
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as words
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.people.notices import NotifyError, send
from tests.cli.conftest import Holdfast
from tests.gates.test_gates import answer

# Of apprise's own plugins, on Python 3.11.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
NOW = clock.now()
CONTENT = words.verify("Dashboard", ["Cards show data"], url="http://localhost:3000")


class Service(ThreadingHTTPServer):
    """Takes what apprise's `json://` sends, or says no."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.told: list[dict[str, str]] = []
        self.away = False

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.server_port}/gates"


class _Taker(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.server.away:
            self.server.told.append(body)
        self.send_response(503 if self.server.away else 200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    server = Service()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", server.url)
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def ask(now: int = NOW, **terms: object) -> str:
    request = AskRequest(content=CONTENT, **terms)  # type: ignore[arg-type]
    return asking.ask(GateContext(discover(), "agent", now), request)["id"]


def remind(now: int) -> None:
    notices.announce(discover(), lookup.open_gates(discover()), now=now)


def test_a_person_is_told_once_a_gate_and_interval(repository: Path, service: Service) -> None:
    id = ask()
    (first,) = service.told
    assert first["title"] == "Holdfast: a gate waits for you"
    assert first["message"] == f"Dashboard\n\nholdfast gate show {id}"
    ask()
    remind(NOW + 59 * clock.MINUTE)
    assert len(service.told) == 1
    remind(NOW + 60 * clock.MINUTE)
    remind(NOW + 61 * clock.MINUTE)
    assert [one["title"] for one in service.told[1:]] == ["Holdfast: a gate still waits for you"]


def test_an_answered_gate_is_not_announced(repository: Path, service: Service) -> None:
    service.away = True
    id = ask()
    answer(id, "approved")
    service.away = False
    remind(NOW + clock.DAY)
    assert service.told == []


def test_the_interval_is_a_setting_and_may_be_never(
    repository: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NOTIFY_REMIND_MINUTES", "0")
    ask()
    remind(NOW + 30 * clock.DAY)
    assert len(service.told) == 1


def test_a_collected_gate_is_announced_when_its_phase_ends(
    repository: Path, service: Service
) -> None:
    from holdfast.gates.wait import present

    ask(batch=True, phase="3")
    remind(NOW + clock.DAY)
    assert service.told == []
    present(GateContext(discover(), "agent", NOW + clock.DAY), "3")
    remind(NOW + clock.DAY)
    assert len(service.told) == 1


def test_a_service_that_is_away_holds_nothing_up_and_is_tried_again(
    repository: Path, service: Service, holdfast: Holdfast
) -> None:
    service.away = True
    id = ask()
    assert lookup.read(discover(), id)["notified"] == 1
    assert "could not be delivered" in holdfast("status").out
    service.away = False
    remind(NOW + clock.MINUTE)
    assert len(service.told) == 1


def test_of_two_services_the_one_that_took_it_is_not_told_again(
    repository: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = "json://127.0.0.1:9/nobody"
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", f"{nobody} {service.url}")
    ask()
    remind(NOW + clock.MINUTE)
    remind(NOW + 5 * clock.MINUTE)
    assert len(service.told) == 1


def test_an_address_is_a_secret_and_is_never_shown(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_NOTIFY_URLS", "nothing://user:very-private@somewhere")
    ask()
    (effect,) = discover().journal.effects()
    assert "very-private" not in str(effect)
    assert effect["error"] == "An address of notify.urls (nothing) is not understood."


def test_without_addresses_nothing_is_sent_and_apprise_not_even_loaded(repository: Path) -> None:
    import subprocess
    import sys

    program = (
        "import holdfast, sys\n"
        "holdfast.open().gates.verify(built='A', how=['b'], url='http://c')\n"
        "assert 'apprise' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert discover().journal.effects() == []


def test_a_missing_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(NotifyError) as missing:
        send("json://a", "b", "c")
    assert "[notify]'" in missing.value.hint
