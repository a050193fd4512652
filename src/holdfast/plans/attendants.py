"""Deal with people while a run waits: wait for answers from elsewhere, or ask the person at the terminal."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from holdfast.budgets import acknowledge
from holdfast.budgets.check import Budget
from holdfast.cli.frame import warn
from holdfast.cli.terminal import echo, safe, style
from holdfast.gates import wait
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.kernel import clock, latch
from holdfast.kernel.errors import Conflict, Declined, HoldfastError, NotAllowed, Usage
from holdfast.kernel.streams import actor
from holdfast.kernel.workspace import Workspace
from holdfast.people.person import agent_environment
from holdfast.plans.news import Attendant, Interrupts
from holdfast.plans.screen import PlanWatch

LOOK_SECONDS = 0.5
# The journal wakes us; so often we look all the same.
WAKE_SECONDS = 5.0


class Patient(Attendant):
    """`--wait`: wait until a person has answered elsewhere."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def gates(self, ids: Sequence[str], interrupts: Interrupts) -> bool:
        def pause(seq: int, left: float) -> bool:
            with _asking(interrupts):
                if not select.select([interrupts.descriptor], [], [], 0)[0]:
                    return self._workspace.journal.wait(seq, left)
            return False

        def enough() -> bool:
            return interrupts.count > 0 or latch.read(self._workspace) is not None

        wait.until_answered(self._workspace, ids, WAKE_SECONDS, pause=pause, enough=enough)
        return True

    def alerts(self, budget: Budget, types: Sequence[str], interrupts: Interrupts) -> bool:
        select.select([interrupts.descriptor], [], [], LOOK_SECONDS)
        return True


class AtTerminal(Patient):
    """The person who sits there: Enter lets them answer in place; elsewhere they may as well."""

    def __init__(self, workspace: Workspace, watch: PlanWatch) -> None:
        super().__init__(workspace)
        self._watch = watch

    def gates(self, ids: Sequence[str], interrupts: Interrupts) -> bool:
        self._watch.waiting("Press Enter to answer here.")
        if self._wants_to(interrupts):
            context = GateContext(self._workspace, actor(), clock.now())
            with _asking(interrupts, Conflict, Declined, Usage, NotAllowed):
                answer(context, AnswerRequest(gate=ids[0]))
        return True

    def alerts(self, budget: Budget, types: Sequence[str], interrupts: Interrupts) -> bool:
        waits = ", ".join(types)
        self._watch.waiting(f"An alert waits: {waits}. Press Enter to acknowledge here.")
        if self._wants_to(interrupts):
            with _asking(interrupts, HoldfastError):
                acknowledge.acknowledge(budget, types[0], until=None, now=clock.now())
        return True

    def edited(self, path: str, changes: Sequence[str]) -> str:
        echo(f"{style('Edited: ', 'yellow')}{safe(path)}", error=True)
        for change in changes:
            echo(f"  {safe(change)}", error=True)
        echo("Go on with the old text, or plan again what has not begun? [old/new] ", error=True)
        typed = sys.stdin.readline().strip().lower()
        return typed if typed in ("old", "new") else ""

    def _wants_to(self, interrupts: Interrupts) -> bool:
        found = select.select([0, interrupts.descriptor], [], [], LOOK_SECONDS)[0]
        if interrupts.descriptor in found or 0 not in found:
            return False
        return bool(os.read(0, 4096))


@contextmanager
def _asking(interrupts: Interrupts, *refusals: type[HoldfastError]) -> Iterator[None]:
    """Let an interrupt end the wait for a person, or what the person types. Refusals are shown to them."""
    interrupts.is_asking = True
    try:
        with suppress(KeyboardInterrupt):
            yield
    except refusals as error:
        warn(error.message)
        if error.hint:
            echo(style("hint: ", "cyan") + safe(error.hint), error=True)
    finally:
        interrupts.is_asking = False


def is_person_here() -> bool:
    """Whether a person could answer at this terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty() and not agent_environment(os.environ)
