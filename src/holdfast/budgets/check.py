"""Check a budget: gather the values, judge them, set a stop, record the check, and report it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from holdfast.budgets import alerts, side_files, stop
from holdfast.budgets.counted import load_counted
from holdfast.budgets.limits import InForce, in_force, in_force_anyway
from holdfast.budgets.measure import Gathered, Given, gather
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.budget import judge, keep_highest, make_halt
from holdfast.budgets.rules.documents import THRESHOLD_STOP
from holdfast.budgets.rules.ledger import (
    BudgetCheck,
    BudgetState,
    Halt,
    Pending,
    Position,
    Ruling,
    Values,
    Verdict,
)
from holdfast.budgets.rules.thresholds import EXTRA_TYPES, Limits
from holdfast.clients.table import own_id
from holdfast.kernel import clock, config, last_turn
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, StoreAway
from holdfast.kernel.rules import Person
from holdfast.kernel.stops import find_own_home, refuse_stopped
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace
from holdfast.people.removed_stops import restore
from holdfast.session import sessions

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.session.rules.model import SessionState


# From what a budget has on record, and the types of people's own that have a limit, to what a check
# looks at.
Measure = Callable[[BudgetState, Collection[str]], Gathered]


class BudgetReport(Ruling):
    """What a check came to."""

    session_id: str
    values: Values
    notes: dict[str, str]
    pending: dict[str, Pending]
    stopped: Halt | None
    last_turn: bool
    waypoint: str
    limits: Limits
    acknowledged: dict[str, str]
    recent_errors: list[str]
    log: list[str]
    queued: str
    dry_run: bool
    warnings: list[str]


class Budget:
    """The budget of a workspace: the context of every operation on it. `now` is the time of the call;
    without it, each operation reads the clock."""

    stream = rules.STREAM

    def __init__(self, workspace: Workspace, *, actor: str, now: int | None = None) -> None:
        self.workspace = workspace
        self.actor = actor
        self.now = now

    @property
    def settings(self) -> dict[str, Any]:
        return config.settings_of(self.workspace)

    def state(self) -> BudgetState:
        """What the budget has on record, as far as it counts."""
        return load_counted(self.workspace)[0]

    def lifted_unsigned(self) -> dict[str, Any] | None:
        """What a reset without the signature that is asked for changed, when there was one."""
        state, _, is_unsigned = load_counted(self.workspace)
        names = ("stopped", "given", "lowered", "last_reset", "pending")
        return {name: state[name] for name in names} if is_unsigned else None  # type: ignore[literal-required]

    def uncounted(self) -> list[str]:
        """The types whose acknowledgment lacks the signature that is asked for."""
        return load_counted(self.workspace)[1]

    def in_force(self, flags: Limits | None = None) -> InForce:
        state = self.state()
        given, lowered = state["given"], state["lowered"]
        own, around = state.get("own"), self._limits_around()
        return in_force(self.workspace, given, lowered, flags, own=own, around=around)

    def in_force_anyway(self, state: BudgetState) -> tuple[InForce, str]:
        """The limits in force, and what is wrong with the file that sets them."""
        return in_force_anyway(self.workspace, state, self._limits_around())

    def _limits_around(self) -> Limits | None:
        around = self._around()
        return around["limits"] if around else None

    def _around(self) -> BudgetState | None:
        """The budget in the repository's own home, where HOLDFAST_HOME names another."""
        own = find_own_home(self.workspace)
        if own is None:
            return None
        try:
            return load_counted(own)[0]
        finally:
            own.close()

    def execute(self, command: Any, *, now: int) -> Outcome:
        # A file that its owner deleted comes back: what it said is no longer in it.
        outcome = open_writer(self.workspace).execute(
            self.stream, command, actor=self.actor, now=now, raise_removed=True
        )
        if not outcome["queued"]:
            self._free(command)
        return outcome

    def _free(self, command: Any) -> None:
        """Let hooks use tools again, after a person's word."""
        if command["do"] == "ack":
            alerts.settle(self.workspace, command["type"])
        elif command["do"] == "reset" and isinstance(command.get("by"), Person):
            alerts.clear(self.workspace)

    def execute_now(self, command: Any, *, now: int) -> Outcome:
        """For a person, who must not be told "done" while it waits in the inbox."""
        outcome = self.execute(command, now=now)
        if outcome["queued"]:
            raise StoreAway(
                "The journal cannot be written from here; the command waits in the inbox.",
                hint="Run it where the journal is writable.",
                kind="read_only",
            )
        return outcome

    # Checking

    def check(
        self,
        given: Given | None = None,
        flags: Limits | None = None,
        *,
        session: str = "",
        place: Position | None = None,
        measure: Measure | None = None,
        now: int,
        dry_run: bool = False,
        tells: bool = True,
        holds: bool = False,
        is_sparse: bool = False,
    ) -> BudgetReport:
        """Whether work may go on: `go`, `wait` for a person, or `stop`. `place` is where a plan's run is;
        by default, where the session at work is. `measure` finds the values of a run. A caller that
        `tells` the agent also uses up its last turn. A check that `holds` is made although a file of
        limits cannot be understood, and one that `is_sparse` is recorded only if it found something new, or
        a minute after the last one."""
        try:
            if not dry_run:
                restore(self.workspace, now=now)
            state, uncounted, is_unsigned = load_counted(self.workspace)
        except HoldfastError:
            refuse_stopped(self.workspace)  # which holds without the journal
            raise
        if holds:
            held, _ = self.in_force_anyway(state)
        else:
            held = self.in_force(flags)
        extra = [type for type in EXTRA_TYPES if held.has(type)]
        if measure is not None:
            known = measure(state, extra)
        else:
            session = session or own_id()
            known = gather(
                self.workspace, state, given or {}, session=session, now=now, extra=extra
            )
        check = self._command(held, known, flags or {}, place)
        check["values"] = known["values"] = keep_highest(state, check)
        if uncounted:
            check["uncounted"] = uncounted
        ruling = judge(state, check, now)
        if is_unsigned and state["stopped"] is not None:
            stop.engage_again(self.workspace, state["stopped"], now=now)
        if dry_run or is_unsigned or (is_sparse and not _is_new(state, check, ruling, now)):
            report = _report(state, check, ruling, known, dry_run=dry_run)
        else:
            report = self._obey(state, check, ruling, known, now)
        if report["verdict"] != "stop":
            refuse_stopped(self.workspace)
            self._add_alerts_around(report)
        elif tells and not dry_run:
            report["last_turn"] = last_turn.take(self.workspace, known["session"], now=now)
        return report

    def _command(
        self, held: InForce, known: Gathered, flags: Limits, place: Position | None
    ) -> BudgetCheck:
        at_work = sessions.at_work(self.workspace)
        last = at_work["last"] if at_work else None
        return {
            "do": "check",
            "values": known["values"],
            "limits": held.limits,
            "own": held.own,
            "flags": flags,
            "actions": held.actions,
            "session": known["session"],
            "place": place or place_of(at_work),
            "started_at": known["started_at"],
            "checkpoint_at": last["at"] if last else "",
            "pause": held.pause,
            "last_turn": self.settings["guard.last_turn"],
            "reported": known["reported"],
        }

    def _obey(
        self, state: BudgetState, check: BudgetCheck, ruling: Ruling, known: Gathered, now: int
    ) -> BudgetReport:
        """Record the check. A stop is set before it is recorded: whatever happens then, it holds."""
        reached_stop = [one for one in ruling["handled"] if one["how"] == "stopped"]
        halt = make_halt(THRESHOLD_STOP, reached_stop[0], check) if reached_stop else None
        engaged = halt is not None and stop.engage(self.workspace, halt, now=now)
        try:
            outcome = self.execute(check, now=now)
        except StoreAway as away:
            if halt is None:
                raise
            report = _report(state, check, ruling, known)
            report["stopped"] = halt
            report["warnings"] = [f"The stop holds; it is not recorded: {away.message}"]
            return report
        # What is queued is decided elsewhere and later; until then the session is held by what is known here.
        if not outcome["queued"]:
            ruling, state = _ruling_of(outcome, ruling), self.state()
            reached("before the latch is settled")
            if state["stopped"] is not None:
                stop.engage_again(self.workspace, state["stopped"], now=now)
            elif engaged:
                stop.let_go(self.workspace)  # a person lifted it between our look and our record
        unknown = [type for type, value in known["values"].items() if value is None]
        alerts.keep(self.workspace, check["session"], stop.describe_alerts(state, ruling), unknown)
        report = _report(state, check, ruling, known)
        if outcome["queued"]:
            report["stopped"], report["queued"] = halt or state["stopped"], outcome["queued"]
            return report
        report["warnings"] = self._append_metrics(outcome, state)
        for record in outcome["records"]:
            if record["kind"] in ("stopped", "prepared"):
                report["waypoint"] = record["body"]["saved"]["path"]
        return report

    def _add_alerts_around(self, report: BudgetReport) -> None:
        """Let an alert of the repository's own home hold its session here, too."""
        around = self._around()
        for type, pending in around["pending"].items() if around else ():
            assert around is not None
            if report["session_id"] in ("", *stop.list_held(around, type)):
                report["verdict"] = "wait"
                report["warnings"].append(f"{stop.describe_pending(type, pending)} {stop.AROUND}")

    def _append_metrics(self, outcome: Outcome, state: BudgetState) -> list[str]:
        """The side file, and what became of the views."""
        warnings = [
            f"{view['path']} was not written: {view['reason']}. The record is safe."
            for view in outcome["views"]
            if view["status"] == "failed"
        ]
        try:
            side_files.append_metrics(
                self.workspace, self.stream, state["crossings"], outcome["records"]
            )
        except OSError as error:
            warnings.append(
                f"{side_files.METRICS} was not written: {error.strerror}. The next check makes it good."
            )
        return warnings


def _is_new(state: BudgetState, check: BudgetCheck, ruling: Ruling, now: int) -> bool:
    """Return whether a check has to be recorded: it does something, or the last one is a minute old."""
    if any(one["entered"] or one["how"] in ("waiting", "stopped") for one in ruling["handled"]):
        return True
    is_old = not state["last_check"] or now - clock.parse(state["last_check"]) >= clock.MINUTE
    is_first = check["session"] not in state["sessions"] or check["limits"] != state["limits"]
    return is_old or is_first or ruling["elapsed"] is not None


def _report(
    state: BudgetState,
    check: BudgetCheck,
    ruling: Ruling,
    known: Gathered,
    *,
    dry_run: bool = False,
) -> BudgetReport:
    acknowledged = {}
    for type, one in state["acknowledgments"].items():
        at = "" if one["value_at_ack"] is None else f" at {boxes.amount(type, one['value_at_ack'])}"
        by = f" by {one['by']['name']}" if one["by"] else ""
        acknowledged[type] = f"alert acknowledged{at}{by}"
    return {
        **ruling,
        "session_id": known["session"],
        "values": known["values"],
        "notes": known["notes"],
        "pending": state["pending"],
        "stopped": state["stopped"],
        "last_turn": False,
        "waypoint": "",
        "limits": check["limits"],
        "acknowledged": acknowledged,
        "recent_errors": known["recent_errors"],
        "log": [
            line
            for one in ruling["handled"]
            for line in boxes.log_of(one["type"], one["level"], one["value"], one["how"])
        ],
        "queued": "",
        "dry_run": dry_run,
        "warnings": [],
    }


def place_of(session: SessionState | None) -> Position:
    """Where the work stands, as the session at work told it."""
    progress = session["progress"] if session else None
    done = progress["completed"][-1] if progress and progress["completed"] else None
    next_task = (progress["current"] or None) if progress else None
    return {"phase": None, "plan": None, "last_task_completed": done, "next_task": next_task}


def _ruling_of(outcome: Outcome, expected: Ruling) -> Ruling:
    """What was decided under the lock. No record: a stop held already."""
    for record in outcome["records"]:
        if record["kind"] == "checked":
            body = record["body"]
            hows = [one["how"] for one in body["handled"]]
            verdict: Verdict = (
                "stop" if "stopped" in hows else "wait" if "waiting" in hows else "go"
            )
            return {
                "verdict": verdict,
                "handled": body["handled"],
                "levels": body["levels"],
                "elapsed": body.get("elapsed"),
            }
    return {**expected, "verdict": "stop", "handled": [], "elapsed": None}
