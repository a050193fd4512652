"""The runner: it drives a run to its end, and can be killed at any instant.

Nothing that matters is only in memory: what may happen next is a pure function of the run's state, and
the state is its records.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from holdfast.budgets.rules.thresholds import Limits
from holdfast.kernel import clock, config
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict, HoldfastError, Stopped, StoreAway
from holdfast.kernel.text import plural, quote
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.plans import runs, task_programs
from holdfast.plans.checkpoints import Checkpoints
from holdfast.plans.edits import PlanTexts
from holdfast.plans.executors import Certificates, Executor
from holdfast.plans.news import Attendant, Halted, Interrupts, News, Tell
from holdfast.plans.rules import run_model
from holdfast.plans.rules.ready import Act, has_failed, ready
from holdfast.plans.rules.run_model import FAILED, REFUSED, RUNNING, PlanRun, RunLife, RunState
from holdfast.plans.run_budget import RunBudget
from holdfast.plans.run_files import Flight, refuse_outside
from holdfast.plans.runs import RunFolder, RunStream, one_at_a_time, refuse_alive
from holdfast.plans.task_programs import OnGoals
from holdfast.plans.worktrees import NotGivenBack, Worktrees
from holdfast.processes.identity import own
from holdfast.processes.supervisor import Ended
from holdfast.runner.checks import refuse_while_stopped

TICK_SECONDS = 0.2
AUTONOMOUS = "🤖 Autonomous execution: Phase {phase}, Plan {plan}"
HUMAN_VERIFY = "👤 Human-verify execution: Phase {phase}, Plan {plan}"
AS_STOPPED = "ended by a stop"


@dataclass(kw_only=True)
class RunContext:
    """Who runs plans, and who watches. With `handles_interrupts`, the first Ctrl+C ends the run in good
    order, and the second ends its programs and exits at once. `alone`: no other code in this
    process needs the log of Dask. `run` is the id, once there is one."""

    writer: Writer
    actor: str
    tell: Tell = lambda *_: None
    attendant: Attendant = field(default_factory=Attendant)
    handles_interrupts: bool = False
    alone: bool = False
    run: str = ""

    @property
    def workspace(self) -> Workspace:
        return self.writer.workspace


@dataclass(frozen=True, kw_only=True)
class Execution:
    """How a run is carried out. `on` is the scheduler of a cluster, or `local` [default: the setting
    `plan.on`]. `edited` says which text counts of a plan file that was edited meanwhile. `on_goals` gets
    each phase and its plans when they are done, and returns the goals that are not met."""

    jobs: int | None = None
    edited: str = ""
    limits: Limits = field(default_factory=dict)
    on: str | None = None
    certificates: Certificates = field(default_factory=Certificates)
    on_goals: OnGoals | None = None


class Runner:
    """One life of one run."""

    def __init__(
        self, context: RunContext, executor: Executor, execution: Execution, interrupts: Interrupts
    ) -> None:
        self.workspace = context.workspace
        self.place = RunFolder(self.workspace, context.run)
        self.stream = RunStream(context.writer, self.place, actor=context.actor)
        self.executor = executor
        self.settings = config.load(self.workspace, self.workspace.journal)
        self.jobs = execution.jobs or self.state["options"]["jobs"]
        self.news = News(self.stream, context.tell)
        self.budget = RunBudget(self.stream, execution.limits)
        self.flight = Flight(
            self.stream, self.budget, warn=lambda text: self.news.say("unwritten", text=text)
        )
        self.worktrees = Worktrees(self.stream)
        self.texts = PlanTexts(self.stream, execution.edited, context.attendant)
        self.checkpoints = Checkpoints(self.stream, self.news)
        self.attendant = context.attendant
        self.on_goals = execution.on_goals
        self.interrupts = interrupts
        # The starts that this runner made: mark, and whose it is.
        self._starts: dict[str, tuple[str, str]] = {}
        # Plans with whose worktree something is wrong, and what. The next runner looks for itself.
        self._not_given_back: dict[str, str] = {}
        self._waits = ""

    @property
    def state(self) -> RunState:
        return self.stream.state

    def to_the_end(self) -> RunState:
        """Run until the run is done. Halted says why it stopped before."""
        hint = f"`holdfast plan show {quote(self.place.id)}` shows it."
        refuse_outside(self.workspace, (one["plan"] for one in self.state["plans"].values()))
        with ExitStack() as held:
            with one_at_a_time(self.workspace):
                refuse_alive(self.workspace, runs.paths_of(self.state), but=self.place.id)
                held.enter_context(self.place.hold(f"The run {self.place.id}", hint))
            left = self.executor.end_leftovers([mark for _, _, mark in self._find_running()])
            if left:
                self.news.say("leftover", text=f"ended {left} processes of a killed run")
            self.stream.live(_new_life(self.state, self.executor.address))
            self.news.say("life", text=f"runner {os.getpid()}, {self.jobs} jobs")
            try:
                self._begin()
                while self._round():
                    pass
            except Halted as halted:
                self._halt(halted)
                raise
            except Stopped as stopped:
                by_stop = Halted(run_model.STOPPED, stopped.message, exit_code=stopped.exit_code)
                self._halt(by_stop)
                raise by_stop from stopped
            except (Conflict, StoreAway):
                self.executor.end(now=True)  # nothing that we could write any more
                raise
            except HoldfastError as error:
                self._halt(Halted(run_model.ERROR, error.message, exit_code=error.exit_code))
                raise
            except BaseException:
                self.executor.end(now=True)
                raise
            self.executor.end()
            self.flight.show("complete")
            return self.state

    # One round

    def _begin(self) -> None:
        refuse_while_stopped(self.workspace)
        self.texts.check_all()
        report = self.budget.check()
        self.news.budget(report)
        self._halt_if_stopped(report["verdict"])
        self.flight.show()

    def _round(self) -> bool:
        """Do what may be done, and wait for running programs. False at the end of the run."""
        if self.interrupts.count:
            raise Halted(run_model.USER_INTERRUPT, "Interrupted", exit_code=130)
        refuse_while_stopped(self.workspace)
        answered = self.checkpoints.take_answers()
        acts = [] if self.budget.alerts else self._find_acts()
        for act in acts:
            try:
                self._do(act)
            except NotGivenBack as kept:
                self._not_given_back[act["plan"]] = str(kept)
                self.news.say("kept", plan=act["plan"], text=str(kept))
                break
        if self.state["status"] == "done":
            return False
        if self.executor.at_work:
            for ended in self.executor.wait(TICK_SECONDS, self.interrupts.descriptor):
                self._accept(ended)
            self._report_places()
        elif not acts and not answered:
            self._stand_still()
        return True

    def _find_acts(self) -> list[Act]:
        """What may be done now. After a worktree could not be given back, nothing new begins, and what
        runs may end."""
        acts = ready(self.state, self.jobs)
        if not self._not_given_back:
            return acts
        closing = [act for act in acts if act["do"] == "close"]
        return [act for act in closing if act["plan"] not in self._not_given_back]

    def _do(self, act: Act) -> None:
        does: dict[str, Callable[[Act], None]] = {
            "start": self._start,
            "ask": lambda act: self.checkpoints.ask(act["plan"], act["key"]),
            "close": self._close,
            "verify": self._verify,
            "end": self._end,
        }
        does[act["do"]](act)

    def _start(self, act: Act) -> None:
        """Record that a task begins, and begin it only then."""
        self.texts.check(act["plan"])
        plan = self.state["plans"][act["plan"]]
        if not plan["began_at"]:
            line = AUTONOMOUS if plan["autonomous"] else HUMAN_VERIFY
            text = line.format(phase=plan["plan"]["phase"], plan=plan["plan"]["plan"])
            self.news.say("plan", plan=act["plan"], text=text)
        folder = self.worktrees.folder_of(act["plan"])
        self.budget.spending.add_folder(folder)
        mark = new_id()
        number = plan["tasks"][act["key"]]["attempts"] + 1
        log = f"{act['plan'].replace('/', '-')}-{act['key']}-{number}-{mark[:4]}.log"
        text_of = self.texts.text_of(act["plan"])
        task = next(one for one in text_of["tasks"] if one["key"] == act["key"])
        programs = task_programs.TaskPrograms(self.state, text_of, self.place, self.settings)
        job = programs.of_task(task, mark, log, folder)
        begun = {"plan": act["plan"], "task": act["key"], "mark": mark, "log": log}
        self.stream.execute({"do": "start", **begun})
        self._starts[mark] = (act["plan"], act["key"])
        self.executor.start(job)
        self.news.say("start", plan=act["plan"], task=act["key"], text=task["name"])

    def _accept(self, ended: Ended) -> None:
        """Record the end of a start, and check the thresholds."""
        if ended["mark"] in self.checkpoints.mending:
            self.checkpoints.accept_mend(ended)
            return
        plan, key = self._starts[ended["mark"]]
        why = _explain_end(ended)
        (record,) = self.stream.execute(
            {
                "do": "lose" if ended["lost"] else "fail" if why else "finish",
                "plan": plan,
                "task": key,
                "mark": ended["mark"],
                "exit_code": ended["code"],
                "seconds": ended["seconds"],
                "said": ended["last_line"],
                "on": ended.get("on", ""),
                **({"why": why} if why else {}),
            }
        )
        kind, text = record["kind"].removeprefix("task_"), why or ended["last_line"]
        self.news.say(kind, plan=plan, task=key, text=text, seconds=ended["seconds"])
        if record["kind"] == "task_lost":
            return
        if record["kind"] == "task_failed":
            self.executor.release(ended["mark"])
            self.budget.add_error(f"{plan}#{key}", why)
        self._check()

    def _report_places(self) -> None:
        """Report on which machine a task is, once it is known, and why others do not begin."""
        for mark, on in self.executor.placed():
            if mark in self._starts:
                plan, key = self._starts[mark]
                where = {"plan": plan, "task": key, "mark": mark, "on": on}
                self.stream.execute({"do": "place", **where})
                self.news.say("placed", plan=plan, task=key, text=on)
        if self.executor.waits != self._waits:
            self._waits = self.executor.waits
            self.news.say("waiting" if self._waits else "goes_on", text=self._waits)

    def _check(self) -> None:
        """After every task: check thresholds and triggers, and write the state to its files; PILOT-58,
        PILOT-67."""
        report = self.budget.check()
        self.news.budget(report)
        self.flight.show()
        self._halt_if_stopped(report["verdict"])

    def _halt_if_stopped(self, verdict: str) -> None:
        if verdict == "stop":
            refuse_while_stopped(self.workspace)
            raise Halted(run_model.STOPPED, "Stopped", exit_code=7)

    def _close(self, act: Act) -> None:
        """Close a plan that is done: end its programs in the background, give its worktree back, and
        write its summary."""
        edit = self.texts.describe_late_edit(act["plan"])
        if edit:
            self.news.say("edited", plan=act["plan"], text=edit)
        for mark, (plan, _) in self._starts.items():
            if plan == act["plan"]:
                self.executor.release(mark)
        facts = self.worktrees.give_back(act["plan"])
        self.flight.summarize(act["plan"], facts)
        self.stream.execute({"do": "close", "plan": act["plan"], "facts": facts})
        self.worktrees.forget_return(act["plan"])
        self.flight.show()
        left = f"merged from {facts['left']}, which its task checked out" if "left" in facts else ""
        self.news.say("closed", plan=act["plan"], text=left)

    def _verify(self, act: Act) -> None:
        """At the end of a phase: save its waypoint, then verify its goals; PILOT-68."""
        saved = self.flight.save_waypoint(run_model.PHASE_COMPLETE)
        self.news.say("phase", phase=act["phase"], text=saved and f"Waypoint saved: {saved}")
        asked = (act["phase"], self.settings, self.on_goals)
        unmet = task_programs.unmet_goals(self.worktrees, self.state, *asked)
        self.stream.execute({"do": "verify", "phase": act["phase"], "unmet": unmet})
        for goal in unmet:
            self.news.say("unmet", phase=act["phase"], text=goal)

    def _end(self, act: Act) -> None:
        self.stream.execute({"do": "end"})
        self.news.say("end")

    # Standing still

    def _stand_still(self) -> None:
        """Ask a person, or halt: nothing runs and nothing may begin."""
        state = self.state
        if self._not_given_back:
            raise Halted(run_model.ERROR, "; ".join(self._not_given_back.values()), exit_code=1)
        failed = [plan for plan in state["plans"].values() if has_failed(plan)]
        if failed:
            self._mend_or_halt(failed[0])
            return
        unmet = [each for each in state["phases"] if each["unmet"]]
        if unmet:
            goals_text = "; ".join(unmet[0]["unmet"] or [])
            raise Halted(run_model.GOALS, f"Phase {unmet[0]['phase']}: {goals_text}", exit_code=1)
        if self.budget.alerts:
            self._attend_alerts()
            return
        gates = runs.asked_gates(state)
        if not gates:
            raise HoldfastError(f"The run {state['id']} cannot go on.", kind="stuck")
        self.flight.show()
        if not self.attendant.gates(gates, self.interrupts):
            raise Halted(run_model.GATE_WAITS, ", ".join(gates), exit_code=8)

    def _mend_or_halt(self, plan: PlanRun) -> None:
        """Start the program that mends what a person found. Everything else that failed halts the
        run."""
        id = plan["plan"]["id"]
        for key, gate in plan["gates"].items():
            if gate["status"] != REFUSED:
                continue
            if self.settings["plan.fix"].strip():
                folder = self.worktrees.folder_of(id)
                self.executor.start(self.checkpoints.mend(id, key, folder, self.settings))
                return
            raise Halted(run_model.ISSUES, f"{id}#{key}: {gate['text']}", exit_code=9)
        for key, task in plan["tasks"].items():
            if task["status"] == FAILED:
                raise Halted(run_model.ERROR, f"{id}#{key}: {task['why']}", exit_code=1)

    def _attend_alerts(self) -> None:
        types = self.budget.alerts
        if not self.attendant.alerts(self.budget.budget, types, self.interrupts):
            raise Halted(run_model.ALERT_WAITS, ", ".join(types), exit_code=8)
        self._halt_if_stopped(self.budget.check()["verdict"])

    def _report_ending(self, halted: Halted) -> None:
        """Say which programs are being ended, because that may take seconds."""
        count = self.executor.alive
        if not count:
            return
        what = f"ending {plural(count, 'program')}"
        if halted.reason == run_model.USER_INTERRUPT:
            what += "; again: at once"
        elif halted.reason == run_model.GATE_WAITS:
            what += " left in the background; --wait keeps them while a person looks"
        self.news.say("ending", text=what)

    def _find_running(self) -> list[tuple[str, str, str]]:
        """The starts without an end: plan, task and mark."""
        return [
            (id, key, task["mark"])
            for id, plan in self.state["plans"].items()
            for key, task in plan["tasks"].items()
            if task["status"] == RUNNING
        ]

    def _halt(self, halted: Halted) -> None:
        """End everything that runs, and record where the run stopped."""
        running = self._find_running()
        self._report_ending(halted)
        self.executor.end()
        for id, key, mark in running:
            why = (halted.text or AS_STOPPED)[:200]
            self.stream.execute({"do": "lose", "plan": id, "task": key, "mark": mark, "why": why})
        halted.waypoint = self.flight.hold(halted.reason, halted.text)
        pause = {"reason": halted.reason, "text": halted.text, "waypoint": halted.waypoint}
        self.stream.execute({"do": "pause", **pause})
        self.news.say("paused", text=f"{halted.reason}: {halted.text}")


def _explain_end(ended: Ended) -> str:
    """Why a start failed; empty when it ended well."""
    said = f": {ended['last_line']}" if ended["last_line"] else ""
    if ended["lost"]:
        return ended.get("why") or "its worker was killed"
    if ended["too_long"]:
        return f"no end after {ended['seconds']:.0f} s{said}"
    if ended["code"] == 0:
        return ""
    what = "verify failed" if ended["stage"] == task_programs.VERIFY else f"{ended['stage']} failed"
    code = f"signal {-ended['code']}" if ended["code"] < 0 else f"exit code {ended['code']}"
    return f"{what}, {code}{said}"


def _new_life(state: RunState, on: str) -> RunLife:
    process, since = own()
    number = (state["life"]["number"] if state["life"] else 0) + 1
    host = os.uname().nodename
    at = clock.precise(clock.now())
    life: RunLife = {"number": number, "pid": process, "started": since, "host": host, "at": at}
    return {**life, "on": on} if on else life
