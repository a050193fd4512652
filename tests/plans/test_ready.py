"""What may begin now: the same as a simple model says, for any plans and any order of events."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.kernel.errors import Conflict
from holdfast.kernel.state import fold
from holdfast.plans.rules import run, waves
from holdfast.plans.rules.model import Plan, kind_of
from holdfast.plans.rules.ready import Act, ready, waiting_gates
from holdfast.plans.rules.run_model import RunState
from tests.plans.samples import plan as plan_of
from tests.plans.world import VERIFY, auto

NOW = 1_794_000_000_000


class Machine:
    """A run without a journal: commands become records, and records the state."""

    def __init__(self, plans: list[Plan], *, tries: int = 2) -> None:
        order = waves.WaveOrder(plans)
        assert order.troubles == []
        self.state: RunState = run.initial("run:model")
        phases = [
            {"phase": phase, "waves": [[one["id"] for one in wave] for wave in each], "unmet": None}
            for phase, each in waves.phases(order.plans)
        ]
        self.do(
            "begin",
            root="/",
            options={"tries": tries, "jobs": 4, "worktrees": False},
            phases=phases,
            plans=[{"plan": one, **kind_of(one), "skipped": []} for one in order.plans],
        )
        self.marks = 0
        self.live()

    def do(self, what: str, **words: Any) -> list[str]:
        decision = run.decide(self.state, run.RunnerCommand(do=what, **words), NOW)
        events: Any = [
            {"id": "", "kind": name, "body": body, "at": "2026-11-15T12:00:00.000Z", "actor": ""}
            for name, body in decision.records
        ]
        self.state = fold(run, self.state, events)
        return [name for name, _ in decision.records]

    def live(self) -> None:
        self.do("live", life={"number": 1, "pid": 1, "started": "", "host": "", "at": ""})

    def start(self, plan: str, task: str) -> str:
        self.marks += 1
        self.do("start", plan=plan, task=task, mark=str(self.marks), log="")
        return str(self.marks)

    def end(self, what: str, plan: str, task: str, mark: str) -> list[str]:
        return self.do(
            what, plan=plan, task=task, mark=mark, exit_code=0, seconds=0.0, why="w", said=""
        )

    def starts(self, jobs: int = 99) -> set[tuple[str, str]]:
        acts = ready(self.state, jobs)
        return {(act["plan"], act["key"]) for act in acts if act["do"] == "start"}

    def settle(self) -> None:
        """Everything that needs no program: plans are closed, goals looked at, gates asked."""
        while True:
            acts = [act for act in ready(self.state, 99) if act["do"] not in ("start", "end")]
            if not acts:
                return
            for act in acts:
                self._do(act)

    def _do(self, act: Act) -> None:
        if act["do"] == "close":
            self.do("close", plan=act["plan"])
        elif act["do"] == "verify":
            self.do("verify", phase=act["phase"], unmet=[])
        else:
            gate = self.state["plans"][act["plan"]]["gates"][act["key"]]
            name = f"{act['plan']}-{act['key']}-{gate['round'] + 1}"
            self.do("ask", plan=act["plan"], key=act["key"], gate=name, round=gate["round"] + 1)

    def answer(self, plan: str, key: str, verdict: str = "yes") -> None:
        gate = self.state["plans"][plan]["gates"][key]["gate"]
        said = {"verdict": verdict, "answer": "approved", "text": "", "by": "ada"}
        self.do("answer", plan=plan, key=key, gate=gate, **said)


def machine(*plans: tuple[str, str, int], **options: Any) -> Machine:
    """Plans as (`phase/plan`, its steps, its wave): `a` a task, `g` a gate; with a capital first
    letter it is not autonomous."""
    made = []
    for name, steps, wave in plans:
        phase, _, plan = name.partition("/")
        body = "".join(VERIFY if step in "gG" else auto("true") for step in steps)
        autonomous = "true" if steps.islower() and "g" not in steps else "false"
        made.append(plan_of(body, phase=phase, plan=plan, wave=wave, autonomous=autonomous))
    return Machine(made, **options)


@pytest.mark.clause("PILOT-39", "PILOT-40")
def test_plans_with_checkpoints_come_one_by_one_after_the_parallel_ones() -> None:
    made = machine(("1/01", "a", 1), ("1/02", "a", 1), ("1/03", "ag", 1), ("1/04", "ag", 1))
    assert made.starts() == {("1/01", "1"), ("1/02", "1")}

    for plan in ("1/01", "1/02"):
        assert not {start for start in made.starts() if start[0] in ("1/03", "1/04")}
        made.end("finish", plan, "1", made.start(plan, "1"))
    made.settle()
    assert made.starts() == {("1/03", "1")}, "only one of them"

    made.end("finish", "1/03", "1", made.start("1/03", "1"))
    made.settle()
    assert made.starts() == set(), "until its person has answered"
    made.answer("1/03", "2")
    made.settle()
    assert made.starts() == {("1/04", "1")}


@pytest.mark.clause("PILOT-40")
def test_nobody_is_asked_before_the_parallel_part_of_the_wave_is_complete() -> None:
    """Whatever its name: the plan that waits for people is first in the wave's order."""
    made = machine(("1/01", "ga", 1), ("1/02", "a", 1))
    made.settle()
    assert made.starts() == {("1/02", "1")}
    mark = made.start("1/02", "1")
    made.settle()
    assert waiting_gates(made.state) == []
    made.end("finish", "1/02", "1", mark)
    made.settle()
    assert waiting_gates(made.state) == [("1/01", "1")]


@pytest.mark.clause("AMB-PILOT-19")
def test_the_checkpoints_of_a_wave_come_before_the_next_wave() -> None:
    made = machine(("1/01", "ag", 1), ("1/02", "a", 2))
    made.end("finish", "1/01", "1", made.start("1/01", "1"))
    made.settle()
    assert made.starts() == set()
    made.answer("1/01", "2")
    made.settle()
    assert made.starts() == {("1/02", "1")}


@pytest.mark.clause("AMB-PILOT-15")
def test_a_plan_that_is_not_autonomous_and_has_no_checkpoint_asks_at_its_end() -> None:
    """Its tasks run one by one without a pause. No plan called human-verify ends without a person."""
    made = machine(("1/01", "Aa", 1), ("1/02", "Aa", 1))
    assert made.starts() == {("1/01", "1")}
    for task in "12":
        made.end("finish", "1/01", task, made.start("1/01", task))
    made.settle()
    assert made.starts() == set()
    assert waiting_gates(made.state) == [("1/01", "checkpoint")]
    made.answer("1/01", "checkpoint")
    made.settle()
    assert made.starts() == {("1/02", "1")}


def test_never_more_at_a_time_than_jobs() -> None:
    made = machine(*((f"1/{number}", "a", 1) for number in range(6)))
    assert len(made.starts(jobs=2)) == 2
    plan, task = sorted(made.starts(jobs=2))[0]
    made.start(plan, task)
    assert len(made.starts(jobs=2)) == 1


def test_only_the_completion_of_the_start_that_runs_is_accepted() -> None:
    made = machine(("1/01", "aa", 1))
    first = made.start("1/01", "1")
    made.live()  # another runner: what was at work is open again
    assert made.end("finish", "1/01", "1", first) == ["completion_refused"]
    assert made.state["done"] == 0
    second = made.start("1/01", "1")
    assert made.end("finish", "1/01", "1", first) == ["completion_refused"]
    assert made.end("finish", "1/01", "1", second) == ["task_done"]
    assert made.end("finish", "1/01", "1", second) == ["completion_refused"], "once"
    assert (made.state["done"], made.state["refused"]) == (1, 3)


def test_a_task_that_is_not_ready_cannot_be_started() -> None:
    made = machine(("1/01", "aa", 1), ("1/02", "a", 2))
    for plan, task in (("1/01", "2"), ("1/02", "1")):
        with pytest.raises(Conflict):
            made.start(plan, task)


# Random plans against a model

PLANS = some.lists(
    some.tuples(
        some.sampled_from(["1", "2", "10"]),
        some.integers(1, 3),
        some.text("ag", min_size=1, max_size=4).filter(lambda steps: "a" in steps),
        some.booleans(),
    ),
    min_size=1,
    max_size=7,
)


class Model:
    """What may begin, said in the plainest way: by looking at everything that has to come before."""

    def __init__(self, plans: list[tuple[str, int, str, bool]]) -> None:
        self.order = sorted(range(len(plans)), key=lambda at: (int(plans[at][0]), plans[at][1], at))
        self.plans = plans
        self.done: dict[int, int] = dict.fromkeys(range(len(plans)), 0)
        self.running: set[int] = set()

    def is_parallel(self, at: int) -> bool:
        _, _, steps, autonomous = self.plans[at]
        return autonomous and "g" not in steps

    def is_finished(self, at: int) -> bool:
        return self.done[at] == len(self.plans[at][2])

    def before(self, at: int) -> list[int]:
        """The plans that must be finished before this one begins."""
        phase, wave, _, _ = self.plans[at]
        found = []
        for other in self.order:
            there, its_wave, _, _ = self.plans[other]
            earlier = (int(there), its_wave) < (int(phase), wave)
            same = (there, its_wave) == (phase, wave)
            first = self.is_parallel(other) or (not self.is_parallel(at) and other < at)
            if other != at and (earlier or (same and not self.is_parallel(at) and first)):
                found.append(other)
        return found

    def may(self) -> set[tuple[int, int]]:
        """Plan and step, of every task that may begin."""
        found = set()
        for at in self.order:
            if at in self.running or self.is_finished(at):
                continue
            if self.plans[at][2][self.done[at]] == "a" and all(
                map(self.is_finished, self.before(at))
            ):
                found.add((at, self.done[at]))
        return found

    def waits(self) -> set[tuple[int, int]]:
        """The gates that must be asked by now."""
        return {
            (at, self.done[at])
            for at in self.order
            if not self.is_finished(at)
            and self.plans[at][2][self.done[at]] == "g"
            and all(map(self.is_finished, self.before(at)))
        }


@given(plans=PLANS, jobs=some.integers(1, 4), seed=some.integers(0, 1 << 32))
def test_any_plans_in_any_order_of_events_do_what_the_model_says(
    plans: list[tuple[str, int, str, bool]], jobs: int, seed: int
) -> None:
    # A plan that is not autonomous has a gate; what adds one that is missing has its own test.
    plans = [
        (phase, wave, steps if autonomous or "g" in steps else f"{steps}g", autonomous)
        for phase, wave, steps, autonomous in plans
    ]
    named = [f"{phase}/{at:02d}" for at, (phase, _, _, _) in enumerate(plans)]
    files = [
        plan_of(
            "".join(VERIFY if step == "g" else auto("true") for step in steps),
            phase=phase,
            plan=f"{at:02d}",
            wave=wave,
            autonomous="true" if autonomous and "g" not in steps else "false",
        )
        for at, (phase, wave, steps, autonomous) in enumerate(plans)
    ]
    made, model, choices = Machine(files, tries=99), Model(plans), random.Random(seed)
    running: dict[int, str] = {}
    for _ in range(1000):
        made.settle()
        asked = {
            (named.index(id), int(key) - 1)
            for id, plan in made.state["plans"].items()
            for key, gate in plan["gates"].items()
            if gate["status"] == "asked"
        }
        assert asked == model.waits()
        starts = {(named.index(plan), int(key) - 1) for plan, key in made.starts(jobs)}
        assert starts <= model.may()
        assert len(starts) == min(len(model.may()), jobs - len(running))
        if all(map(model.is_finished, model.order)):
            break
        _step(made, model, named, running, starts, asked, choices)
    made.settle()
    assert ready(made.state, jobs)[0]["do"] == "end"
    made.do("end")
    assert made.state["status"] == "done"
    assert made.state["done"] == sum(steps.count("a") for _, _, steps, _ in plans)


def _step(
    made: Machine,
    model: Model,
    named: list[str],
    running: dict[int, str],
    starts: set[tuple[int, int]],
    asked: set[tuple[int, int]],
    choices: random.Random,
) -> None:
    """One thing happens: a start, an end of some kind, an answer, or the runner is killed."""
    chance = choices.random()
    if chance < 0.05:
        made.live()
        running.clear()
        model.running.clear()
    elif starts and (chance < 0.5 or not running):
        at, step = choices.choice(sorted(starts))
        running[at] = made.start(named[at], str(step + 1))
        model.running.add(at)
    elif running and (chance < 0.85 or not asked):
        at = choices.choice(sorted(running))
        how = choices.choice(["finish", "finish", "fail", "lose"])
        made.end(how, named[at], str(model.done[at] + 1), running.pop(at))
        model.running.discard(at)
        model.done[at] += how == "finish"
    elif asked:
        at, step = choices.choice(sorted(asked))
        made.answer(named[at], str(step + 1))
        model.done[at] += 1
