"""A run's files: the transponder, the logbook, the holding pattern and the waypoints."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from holdfast.budgets.rules import documents
from holdfast.budgets.rules.ledger import Saved
from holdfast.clients.table import own_id
from holdfast.git.repository import read_head
from holdfast.kernel import clock
from holdfast.kernel.digest import id_of
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import target_of
from holdfast.kernel.workspace import Workspace
from holdfast.plans import runs
from holdfast.plans.rules import flight, logbook, ready
from holdfast.plans.rules.flight import Board, FlightState, Holding
from holdfast.plans.rules.model import Plan
from holdfast.plans.rules.run_model import ABANDONED, PHASE_COMPLETE, STOPPED, PlanRun
from holdfast.plans.run_budget import RunBudget
from holdfast.plans.runs import RunStream, one_at_a_time

EMERGENCY = "emergency_stop"
# An abandoned run does not go on; its plans can be run anew.
AGAIN = "holdfast plan run PATH..."


class Flight:
    """The files of a run in `.autopilot`."""

    def __init__(
        self, stream: RunStream, budget: RunBudget, *, warn: Callable[[str], None]
    ) -> None:
        self._stream = stream
        self._workspace = stream.writer.workspace
        self._budget = budget
        self._warn = warn
        # The files that could not be written, and why; each is said once.
        self._unwritten: dict[str, str] = {}

    def save_waypoint(self, reason: str) -> str:
        """Save where the run is. Return the path of the file, or "" when it could not be written."""
        with one_at_a_time(self._workspace):
            saved = self._make_waypoint(reason)
            self.show(reason, saved=saved)
        return self._written(saved["path"])

    def hold(self, reason: str, text: str) -> str:
        """Write the waypoint of a run that stopped, and in the middle of a phase a holding pattern."""
        with one_at_a_time(self._workspace):
            stopped = self._budget.budget.state()["stopped"] if reason == STOPPED else None
            path, saved = stopped["waypoint"] if stopped else "", None
            if not path:
                saved = self._make_waypoint(EMERGENCY if reason == STOPPED else reason)
                path = saved["path"]
            holding = self._make_holding(reason, text)
            self.show(reason, text, holding=holding, saved=saved, path=path)
        return self._written(path)

    def _written(self, path: str) -> str:
        return "" if path in self._unwritten else path

    def show(
        self,
        reason: str = "",
        text: str = "",
        *,
        holding: Holding | None = None,
        saved: Saved | None = None,
        path: str = "",
    ) -> None:
        """Write the transponder now, with a waypoint and a holding pattern where there are any."""
        board = self._make_board(reason, text, saved["path"] if saved else path)
        command = {"do": "show", "board": board, "holding": holding, "waypoint": saved}
        self._write(flight.stream_of(self._stream.place.id), command)

    def _write(self, stream: str, command: dict[str, Any]) -> None:
        """Write a record and its files. Say once of each file that could not be written why."""
        outcome = self._stream.writer.execute(
            stream, command, actor=self._stream.actor, now=clock.now(), raise_removed=True
        )
        for view in outcome["views"]:
            path, reason = view["path"], view["reason"]
            if view["status"] != "failed":
                self._unwritten.pop(path, None)
            elif self._unwritten.get(path) != reason:
                self._unwritten[path] = reason
                self._warn(f"{path} was not written: {reason}. The record is safe.")

    def _make_board(self, reason: str, text: str, path: str) -> Board:
        state, budget = self._stream.state, self._budget.budget.state()
        goes_on = not reason or reason in (PHASE_COMPLETE, ABANDONED)
        status = state["status"] if goes_on else "paused"
        asked = ready.waiting_gates(state)
        gates = [(id, state["plans"][id]["gates"][key]["gate"]) for id, key in asked]
        waits = [f"a person: holdfast gate answer {quote(gate)} ({id})" for id, gate in gates]
        waits += [f"holdfast guard ack {quote(type)}" for type in self._budget.alerts]
        return {
            "run": state["id"],
            "saved": clock.stamp(clock.now()),
            "status": "complete" if state["status"] == "done" else status,
            "reason": reason,
            "text": text,
            "leg": state["life"]["number"] if state["life"] else 0,
            "wave": ready.wave_at(state)[1],
            "place": ready.position_of(state),
            "done": state["done"],
            "total": state["total"],
            "plans": [_row(id, plan) for id, plan in state["plans"].items()],
            "waits": waits,
            "values": budget["values"],
            "tokens": budget["added"]["tokens"],
            "limits": budget["limits"],
            "acknowledged": list(budget["acknowledgments"]),
            "branch": self._branch(),
            "waypoint": path,
            "resume": AGAIN if state["status"] == ABANDONED else runs.resume_command(state),
        }

    def _branch(self) -> str:
        if not self._workspace.git_dir:
            return ""
        found = read_head(self._workspace.root)
        commit = found["commit"]
        return f"{found['branch'] or 'detached'} at {commit[:8]}" if commit else ""

    def _make_waypoint(self, reason: str) -> Saved:
        state, budget, now = self._stream.state, self._budget.budget.state(), clock.now()
        stream = flight.stream_of(state["id"])
        known: FlightState = load(self._workspace.journal, flight, stream)[0]
        return documents.make_waypoint(
            reason,
            trigger={"type": reason, "level": None, "value": None},
            session=own_id(),
            place=ready.position_of(state),
            totals=budget["values"],
            thresholds=budget["limits"] or self._budget.budget.in_force().limits,
            acknowledgments=budget["acknowledgments"],
            resume=runs.resume_command(state),
            taken=self._last_taken_name(reason, known, now),
            now=now,
        )

    def _last_taken_name(self, reason: str, known: FlightState, now: int) -> str:
        """The last waypoint name of this second that this run or another has taken."""
        taken = known["waypoint"]["path"] if known["waypoint"] else ""
        root = self._workspace.root
        while os.path.lexists(
            os.path.join(root, path := documents.path_of_waypoint(reason, now, taken))
        ):
            taken = path
        return taken

    def _make_holding(self, reason: str, text: str) -> Holding | None:
        """The holding pattern; None at the beginning of a phase, where there is nothing to hold."""
        state = self._stream.state
        plan, place, phase = ready.plan_at(state), ready.position_of(state), ready.phase_at(state)
        begun = phase is not None and any(
            state["plans"][id]["began_at"] for wave in phase["waves"] for id in wave
        )
        if plan is None or not begun:
            return None
        counts = runs.count_of(plan)
        return {
            "phase": plan["plan"]["phase"],
            "plan": plan["plan"]["plan"],
            "task": str(min(counts["done"] + 1, counts["total"])),
            "total_tasks": counts["total"],
            "status": reason,
            "created": clock.precise(clock.now()),
            "why": text or reason,
            "next": place["next_task"] or "",
            "resume": runs.resume_command(state),
        }

    # The logbook

    def summarize(self, id: str, facts: Mapping[str, Any]) -> None:
        """Add a plan's section to the logbook of its phase, once; PILOT-79, AMB-PILOT-29."""
        state = self._stream.state
        plan = state["plans"][id]
        path = _logbook_of(plan["plan"])
        command = {
            "do": "add",
            "path": path,
            "phase": plan["plan"]["phase"],
            "section": f"{state['id']}/{id}",
            "text": logbook.section(state, plan, facts, clock.precise(clock.now())),
        }
        self._write(logbook.stream_of(path, id_of(self._workspace.root)[:8]), command)


def refuse_outside(workspace: Workspace, plans: Iterable[Plan]) -> None:
    """Refuse a folder that is a link out of the worktree, before anything runs."""
    for path in (flight.TRANSPONDER, f"{documents.WAYPOINTS}/any", *map(_logbook_of, plans)):
        target_of(workspace, path)


def _logbook_of(plan: Plan) -> str:
    return logbook.path_of(plan["phase"], plan["path"].replace("\\", "/"))


def _row(id: str, plan: PlanRun) -> tuple[str, str, int, int]:
    count = runs.count_of(plan)
    status = "begun" if plan["began_at"] else "open"
    status = "done" if plan["closed"] or ready.is_done(plan) else status
    return (id, status, count["done"], count["total"])
