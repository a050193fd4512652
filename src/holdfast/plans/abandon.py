"""Giving a run up: nothing of it is at work, waits for anybody, or stands in the way of another."""

from __future__ import annotations

from holdfast.gates import lookup as gates
from holdfast.gates.ask import withdraw_any
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import gate as gate_rules
from holdfast.kernel import clock
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import NotFound
from holdfast.plans import lookup as reading
from holdfast.plans.executors import LocalExecutor
from holdfast.plans.run_budget import RunBudget
from holdfast.plans.run_files import Flight
from holdfast.plans.run_folder import Place
from holdfast.plans.run_stream import execute_now
from holdfast.plans.worktrees import Worktrees
from holdfast.processes.lease import Lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.rules.run_model import RunState

    class Abandoned(TypedDict):
        """What became of a run: its gates that were withdrawn, and the worktrees that are kept."""

        state: RunState
        gates: list[str]
        worktrees: list[str]


def abandon(writer: Writer, id: str, *, why: str, actor: str) -> Abandoned:
    """Give a run up that nobody runs. Its records, its worktrees and what it made are kept."""
    workspace, place = writer.workspace, Place(writer.workspace, id)
    hint = "Interrupt it first (Ctrl+C where it runs), then abandon it."
    with Lease(place.lease, f"The run {id}", hint):
        state = reading.read(workspace, id)
        LocalExecutor(place, writer.redactor).end_leftovers([])
        withdrawn = _withdraw(workspace, state, f"the run {id} was abandoned", actor)
        command = {"do": "abandon", "by": actor, "why": why}
        execute_now(writer, Order(place.stream, command, grant=True), actor=actor)
    state = reading.read(workspace, id)
    if next(reading.every(workspace))["id"] == id:
        # Of several runs, the files are the newest one's.
        budget = RunBudget(workspace, state, {}, actor=actor)
        Flight(writer, id, budget, actor=actor, warn=lambda text: None).abandoned(state)
    kept = Worktrees(workspace, id).kept(state)
    return {"state": state, "gates": withdrawn, "worktrees": kept}


def _withdraw(workspace: Workspace, state: RunState, why: str, actor: str) -> list[str]:
    """Withdraw what the run asked and nobody answered; before the run's own end, so that a crash in
    between leaves a run that can be abandoned again."""
    withdrawn = []
    for plan in state["plans"].values():
        for gate in plan["gates"].values():
            try:
                if gate["gate"] and gate_rules.is_open(gates.read(workspace, gate["gate"])):
                    withdraw_any(GateContext(workspace, actor, clock.now()), gate["gate"], why)
                    withdrawn.append(gate["gate"])
            except NotFound:
                continue  # a crash came before it was asked
    return withdrawn
