"""What the tests of the spool share: a machine with its hooks, and a network that goes away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.budgets import stop as holding
from holdfast.budgets.check import Budget
from holdfast.budgets.rules.thresholds import STOP
from holdfast.estop import stop as emergency
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.hooks.run import _own, respond_to
from holdfast.kernel import clock
from holdfast.kernel.errors import Stopped
from holdfast.kernel.state import load
from holdfast.kernel.workspace import Workspace, discover
from holdfast.remote.forwarder import ServerLink
from holdfast.remote.spool import Spool
from holdfast.session.rules import session as session_rules
from tests.budgets.world import PERSON
from tests.gates.person import at_page

if TYPE_CHECKING:
    import pytest

    from holdfast.journal.interface import Record
    from holdfast.remote.spool import Undelivered
    from tests.journal.postgres.proxy import Network

AGENT = "Secondary-A"
STREAM = "agent:secondary_a"


class Outage:
    """Begin it, and every connection dies; end it, and the server answers again."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def begin(self) -> None:
        self.network.is_away = True
        self.network.cut()

    def end(self) -> None:
        self.network.is_away = False


class Machine:
    """One clone with its own home."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self._monkeypatch = monkeypatch

    def go(self) -> None:
        self._monkeypatch.chdir(self.root)

    @property
    def hooks(self) -> Workspace:
        """The workspace as a hook has it."""
        return discover(str(self.root), local=True)

    def hook(self, event: str, session: str = "s1", **facts: object) -> dict[str, Any]:
        payload = {"session_id": session, "cwd": str(self.root), **facts}
        return respond_to("claude", event, payload, may_leave=False, project="")

    def own(self, *words: str, **payload: object) -> dict[str, Any]:
        """What a program sends through the hooks' entry."""
        return _own(list(words), {"cwd": str(self.root), **payload}, "")

    def beat(self, agent: str = AGENT, **said: object) -> dict[str, Any]:
        return self.own("beat", agent, **said)

    def forward(self) -> None:
        """What a forwarder does once, and again as long as there is something."""
        workspace = discover(str(self.root))
        file = workspace.file()
        try:
            with ServerLink(workspace, Spool(file)) as line:
                line.work()
        finally:
            file.close()

    def waiting(self) -> Undelivered:
        workspace = self.hooks
        try:
            return Spool(workspace.file()).waiting()
        finally:
            workspace.close()

    def on_server(self, stream: str) -> list[Record]:
        """The records of a stream as the server has them now, with nothing delivered for it."""
        workspace = discover(str(self.root))
        journal = workspace.on_server()
        try:
            return journal.read(stream)
        finally:
            journal.close()

    @property
    def home(self) -> Path:
        return Path(self.hooks.home)

    # What a person does, past the channel that has tests of its own

    def release(self) -> None:
        now = clock.now()
        person = at_page("/dev/pts/9", now=now)
        place = discover(str(self.root))
        assert emergency.release(place, "over", person=person, now=now)

    def answer(self, gate: str) -> None:
        person = at_page("/dev/pts/9", now=clock.now())
        answer(
            GateContext(discover(str(self.root)), "tester", clock.now()),
            AnswerRequest(gate=gate, text="approved", person=person),
        )

    def acknowledge(self, type: str) -> None:
        self._budget({"do": "ack", "type": type, "until": None, "by": PERSON, "session": "s1"})

    def reset_budget(self) -> None:
        self._budget({"do": "reset", "by": PERSON, "given": {STOP: {"cost": 99.0}}, "forgiven": {}})
        holding.let_go(self.hooks)

    def _budget(self, command: dict[str, Any]) -> None:
        workspace = discover(str(self.root))
        Budget(workspace, actor="ada").execute_now(command, now=clock.now())
        workspace.close()

    def check(self, session: str, **values: float) -> None:
        """A hook's look at a budget."""
        given: Any = values
        try:
            budget = Budget(self.hooks, actor="hook")
            budget.check(given, session=session, now=clock.now(), tells=False)
        except Stopped:
            pass

    def session_here(self, session: str = "s1") -> Any:
        workspace = self.hooks
        try:
            return load(workspace.journal, session_rules, f"session:{session}")[0]
        finally:
            workspace.close()
