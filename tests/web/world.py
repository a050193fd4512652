"""What stands on a page: gates, agents, alerts of a repository; and the person who looks at it."""

from __future__ import annotations

import http.client
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from holdfast.budgets.check import Budget
from holdfast.fleet import agents, updates
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.gates import ask as asking
from holdfast.gates import lookup
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as gate_content
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.web.app import PageServer
from holdfast.web.urls import Address
from holdfast.web.workspaces import Site

if TYPE_CHECKING:
    from holdfast.gates.rules.gate import GateState

ADDRESS = Address("http", "127.0.0.1", 4653)
OPTIONS: list[gate_content.GateOption] = [
    {"id": "pg", "name": "PostgreSQL", "pros": "Teams run it", "cons": "A server"},
    {"id": "lite", "name": "SQLite", "pros": "One file", "cons": "One machine"},
]
HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class World:
    """A repository with whatever a test puts there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = discover(str(root))
        self.key = next(iter(Site([str(root)]))).key

    def verify(self, title: str = "Dashboard", *, name: str = "dashboard", **terms: Any) -> str:
        content = gate_content.verify(title, ["Cards show data"], url=terms.pop("url", ""))
        return self.ask(content, name=name, **terms)

    def decide(self, *, name: str = "store", **terms: Any) -> str:
        content = gate_content.decision("Select a store", OPTIONS, context="Two agents write.")
        return self.ask(content, name=name, **terms)

    def ask(self, content: gate_content.Content, **terms: Any) -> str:
        now = terms.pop("now", clock.now())
        request = AskRequest(content=content, **terms)
        return asking.ask(GateContext(self.workspace, "builder", now), request)["id"]

    def gate(self, id: str) -> GateState:
        return lookup.read(self.workspace, id)

    def start(self, agent: str, feature: str = "", *, minutes_ago: int = 0) -> None:
        feature = feature or f"feature_{agent.lower()}"
        agents.start(self.context(minutes_ago), agent, feature)

    def beat(self, agent: str, step: str, *, minutes_ago: int = 0) -> None:
        updates.update(
            self.context(minutes_ago), agent, {"do": "beat", "set": {"current_step": step}}
        )

    def silence(self, agent: str) -> None:
        """An agent whose process ended two hours ago, and whose files are as old."""
        import subprocess

        gone = subprocess.Popen(["true"])
        os.environ["HOLDFAST_AGENT_PID"] = str(gone.pid)
        try:
            self.start(agent, minutes_ago=120)
        finally:
            del os.environ["HOLDFAST_AGENT_PID"]
            gone.wait()
        old = clock.now() // 1000 - 7200
        for path in self.root.rglob("*"):
            os.utime(path, (old, old))

    def alert(self) -> None:
        Budget(self.workspace, actor="builder").check({"cost": 26.5}, session="", now=clock.now())

    def context(self, minutes_ago: int) -> FleetContext:
        now = clock.now() - minutes_ago * clock.MINUTE
        return FleetContext(find(self.workspace), self.workspace, actor="builder", now=now)


class Visitor:
    """A client of the page server, in this process."""

    def __init__(self, roots: list[str], address: Address = ADDRESS) -> None:
        self.server = PageServer(Site(roots), address)
        self.client = TestClient(self.server.asgi, base_url=address.origin, follow_redirects=False)
        self.address = address

    def __enter__(self) -> Visitor:
        self.client.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.client.__exit__(None, None, None)

    def sign_in(self) -> None:
        token = self.server.sign_ins.link("/dev/pts/7")
        assert self.get(f"/sign-in?token={token}").status_code == 200

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(path, headers=headers)

    def data(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def token(self, path: str = "/board") -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.get(path).text)
        assert found
        return found.group(1)

    def send(self, path: str, *, csrf: str | None = None, origin: str | None = None, **fields: str) -> Any:  # fmt: skip
        """A form, as a browser sends it."""
        fields["csrf"] = self.token() if csrf is None else csrf
        headers = {"origin": self.address.origin if origin is None else origin}
        return self.client.post(path, data=fields, headers=headers)


class Stream:
    """Events as they come over a connection."""

    def __init__(self, address: Address, path: str, cookie: str, last: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=30)
        headers = {"Host": address.netloc, "Cookie": cookie}
        headers |= {"Last-Event-ID": last} if last else {}
        self._connection.request("GET", path, headers=headers)
        self._answer = self._connection.getresponse()
        if self._answer.status != 200:
            said = self._answer.read()
            self.close()
            raise AssertionError(said)
        self.id = last

    def next(self) -> dict[str, str]:
        """The next event with data; ids that come alone are kept."""
        while True:
            event: dict[str, str] = {}
            while line := self._line():
                name, _, value = line.partition(": ")
                event[name] = f"{event[name]}\n{value}" if name in event else value
            self.id = event.get("id", self.id)
            if "data" in event:
                return event

    def _line(self) -> str:
        line = self._answer.readline().decode()
        if not line:
            raise EOFError("the stream has ended")
        return line.rstrip("\n")

    def close(self) -> None:
        self._connection.close()
        self._answer.close()
