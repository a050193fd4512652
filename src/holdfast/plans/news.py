"""A run and the person who watches it: what they read, what the run asks, and how they interrupt it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TypedDict

from holdfast.budgets.check import Budget, BudgetReport
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules.thresholds import STOP, number_at
from holdfast.budgets.stop import draw_stop
from holdfast.kernel import clock
from holdfast.kernel.blank import blank
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.people import person as people
from holdfast.plans.rules.ready import wave_at
from holdfast.plans.runs import RunStream

Tell = Callable[["RunEvent"], None]


class RunEvent(TypedDict):
    """Something that happened."""

    event: str
    at: str
    run: str
    phase: str
    wave: int
    plan: str
    task: str
    done: int
    total: int
    text: str
    seconds: float | None
    cost: float | None


INTERRUPTED = 130
SIGNS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Attendant:
    """Deals with people while a run waits. This one finds no person: the run ends, and says what waits for
    which person. `gates` and `alerts` return whether a person was there."""

    def gates(self, ids: Sequence[str], interrupts: Interrupts) -> bool:
        return False

    def alerts(self, budget: Budget, types: Sequence[str], interrupts: Interrupts) -> bool:
        return False

    def edited(self, path: str, changes: Sequence[str]) -> str:
        """`old` or `new`; empty when no person is there to choose."""
        return ""

    def person(self, workspace: Workspace, purpose: str, shown: Sequence[str]) -> Person:
        """The person at the terminal, who wants `purpose`; or NotAllowed."""
        return people.require(workspace, purpose, shown, now=clock.now())


class Halted(Exception):
    """A run stopped for a reason of the protocol; `waypoint` is the file that says so."""

    def __init__(self, reason: str, text: str, *, exit_code: int) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.exit_code = exit_code
        self.waypoint = ""


class News:
    """Tells the watcher what happens."""

    def __init__(self, stream: RunStream, tell: Tell) -> None:
        self._stream = stream
        self._tell = tell
        self._cost: float | None = None
        # The types whose alert was reported.
        self._warned: set[str] = set()
        self.begun = time.monotonic()

    def say(self, event: str, **about: Any) -> None:
        """Tell that something happened. `about` has what the fields `phase`, `plan`, `task`, `text` and
        `seconds` of the event say [default: nothing; the phase at work]."""
        state = self._stream.state
        phase, wave = wave_at(state)
        known = {"run": state["id"], "phase": phase, "wave": wave, "cost": self._cost}
        known |= {"done": state["done"], "total": state["total"], **about}
        self._tell(blank(RunEvent, event=event, at=clock.precise(clock.now()), **known))

    def budget(self, report: BudgetReport) -> None:
        """Report a warning once, an alert while it waits, and a stop, in the protocol's words."""
        self._cost = report["values"]["cost"]
        for one in report["handled"]:
            type, value, threshold = one["type"], one["value"], one["threshold"]
            if one["how"] == "warned" and one["entered"]:
                self._lines("warning", boxes.warning(type, value, threshold))
            elif one["how"] == "waiting" and type not in self._warned:
                self._warned.add(type)
                limit, aligned = number_at(report["limits"], STOP, type), sys.stdout.isatty()
                self._lines("alert", boxes.alert(type, value, threshold, limit, aligned=aligned))
            elif one["how"] == "stopped":
                self._lines("stop", draw_stop(self._stream.writer.workspace, one))
        if report["waypoint"]:
            self.say("waypoint", text=boxes.saved(report["waypoint"]))

    def _lines(self, event: str, lines: Sequence[str]) -> None:
        self.say(event, text="\n".join(lines))


class Interrupts:
    """How often a person interrupted the run: the first time ends it in good order, the second at once;
    AMB-PILOT-24. `descriptor` can be read after the first time."""

    def __init__(self) -> None:
        self.count = 0
        self.descriptor, self._write = os.pipe()
        # While a person is asked at the terminal, an interrupt has to end the reading, too.
        self.is_asking = False
        self.at_once: Callable[[], object] = lambda: None

    def listen(self, at_once: Callable[[], object]) -> None:
        """Handle the signals; `at_once` is called at the second one, before the process exits."""
        self.at_once = at_once
        for sign in SIGNS:
            signal.signal(sign, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            try:
                self.at_once()
            finally:
                os._exit(INTERRUPTED)
        os.write(self._write, b"!")
        if self.is_asking:
            raise KeyboardInterrupt

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._write)
