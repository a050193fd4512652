"""A budget to check, its files, and the questions that the tests ask of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.rules.ledger import BudgetState
from holdfast.budgets.rules.thresholds import STOP, Limits
from holdfast.kernel import clock, latch
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import discover

NOON = clock.parse("2026-11-15T12:00:00Z")
SECOND = 1000
CONFIG = Path(".autopilot/config.yaml")
ACKNOWLEDGMENTS = Path(".autopilot/state/acknowledgments.json")
THRESHOLDS = Path(".autopilot/state/thresholds.json")
METRICS = Path(".autopilot/state/metrics.jsonl")
WAYPOINTS = Path(".autopilot/waypoints")
# As the person's channel gives it; that channel has tests of its own.
PERSON = Person(
    name="ada", channel="terminal", terminal="/dev/pts/7", at="2026-11-15T12:00:00.000Z"
)


class Scene:
    """One budget of one repository; each of its commands takes a second."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = NOON
        self.workspace = discover(str(root))
        self.budget = Budget(self.workspace, actor="tester")

    def check(
        self, *, limits: Limits | None = None, session: str = "s1", **values: Any
    ) -> BudgetReport:
        self.now += SECOND
        given: Any = values
        return self.budget.check(given, limits, session=session, now=self.now)

    def verdict(self, **values: Any) -> str:
        return self.check(**values)["verdict"]

    def later(self, minutes: float) -> Scene:
        self.now += int(minutes * clock.MINUTE)
        return self

    def do(self, what: str, **words: Any) -> Any:
        """A command as a person's channel sends it."""
        self.now += SECOND
        command = {"do": what, "by": PERSON, "session": "s1", **words}
        return self.budget.execute(command, now=self.now)

    def ack(self, type: str, until: float | None = None) -> Any:
        return self.do("ack", type=type, until=until)

    def lift(self, **stops: float) -> Any:
        """A person's reset with new stops."""
        done = self.do("reset", given={STOP: stops}, forgiven={})
        latch.release(self.workspace)
        return done

    @property
    def state(self) -> BudgetState:
        return self.budget.state()

    def kinds(self) -> list[str]:
        return [record["kind"] for record in self.workspace.journal.read(self.budget.stream)]

    def acknowledgments(self) -> dict[str, Any]:
        return read(self.root / ACKNOWLEDGMENTS)

    def metrics(self) -> list[dict[str, Any]]:
        return metrics(self.root)

    def waypoints(self) -> list[str]:
        folder = self.root / WAYPOINTS
        names = (path.name for path in folder.iterdir()) if folder.exists() else ()
        return sorted(name for name in names if not name.startswith("."))


def read(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text("utf-8"))
    assert isinstance(value, dict)
    return value


def metrics(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / METRICS).read_text("utf-8").splitlines()]


def configure(text: str) -> None:
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(text, "utf-8")
