"""A run that waits for a person is woken by the journal, not by looking again."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from holdfast.plans import attendants as plan_attendants
from holdfast.plans.attendants import Patient
from holdfast.plans.news import Halted, Interrupts
from tests.journal.postgres import conftest as postgres
from tests.plans.world import VERIFY, World, auto
from tests.processes import wait_for

url = postgres.url
workspace_name = postgres.workspace_name
on_server = postgres.on_server
LONG = 60.0


@pytest.fixture
def nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attendant that only looked again from time to time would be asked a second time."""
    monkeypatch.setattr(plan_attendants, "WAKE_SECONDS", LONG)


class Counting(Patient):
    asked = 0

    def gates(self, ids: Sequence[str], interrupts: Interrupts) -> bool:
        self.asked += 1
        return super().gates(ids, interrupts)


def wait_and_answer(root: Path) -> World:
    """A run with one gate, and a person elsewhere who answers it while it waits."""
    world = World(root)
    world.plan("1/01", VERIFY + auto(world.note("done")), autonomous="false")
    elsewhere = World(root)
    attendant = Counting(world.workspace)

    def answer() -> None:
        wait_for(lambda: attendant.asked and elsewhere.open_gates())
        elsewhere.writer.execute("note:n", {"add": "in between", "by": "a"}, actor="a", now=0)
        elsewhere.answer(elsewhere.open_gates()[0], "approved")

    person = threading.Thread(target=answer, daemon=True)
    person.start()
    assert world.run(attendant=attendant)["status"] == "done"
    assert attendant.asked == 1, "it was woken, and did not look again"
    person.join()
    elsewhere.close()
    return world


def test_a_server_wakes_a_waiting_run(on_server: str, nobody_looks: None, repository: Path) -> None:
    world = wait_and_answer(repository)
    assert "postgresql" in world.workspace.journal.place
    assert world.noted() == ["done"]
    world.close()


def test_a_file_wakes_it_as_well(nobody_looks: None, repository: Path) -> None:
    world = wait_and_answer(repository)
    assert world.noted() == ["done"]
    world.close()


def test_an_interrupt_ends_the_waiting(nobody_looks: None, world: World) -> None:
    world.plan("1/01", VERIFY, autonomous="false")
    interrupts = Interrupts()
    before = {
        sign: signal.getsignal(sign) for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    interrupts.listen(lambda: None)

    def interrupt() -> None:
        wait_for(lambda: interrupts.is_asking)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        world.begin()
        runner = world.runner(attendant=Patient(world.workspace))
        runner.interrupts = interrupts
        with pytest.raises(Halted) as halted:
            runner.to_the_end()
        assert halted.value.exit_code == 130
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
        interrupts.close()
