"""Runs: what begins when, what people are asked, and what a run leaves in its files."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets.check import Budget
from holdfast.clients.claude import sessions as claude
from holdfast.gates import ask as asking
from holdfast.gates.ask import AskRequest
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as gate_content
from holdfast.kernel import clock
from holdfast.kernel.state import load
from holdfast.plans import run_budget
from holdfast.plans.news import RunEvent
from holdfast.plans.rules import flight
from holdfast.plans.rules import flight as flight_rules
from tests.plans.samples import DECISION
from tests.plans.world import HOLDFAST, VERIFY, World, auto

ACTION = """\
<task type="checkpoint:human-action" name="mail">
  <action>Complete email verification</action>
  <why-manual>Email verification requires clicking link in your inbox</why-manual>
  <instructions>1. Check your inbox
  2. Click the verification link</instructions>
  <resume-signal>Type "done" when verified</resume-signal>
</task>
"""

PAGE = "'The page at http://localhost:3000'"


@pytest.mark.clause("PILOT-32", "PILOT-42", "PILOT-75", "PILOT-79")
def test_an_autonomous_plan_runs_without_a_question_and_writes_its_logbook(world: World) -> None:
    body = auto(world.note("one")) + auto(world.note("two"))
    world.plan("1/01", body, checkpoint="null")

    state = world.run()

    assert state["status"] == "done"
    assert world.noted() == ["one", "two"]
    assert world.told("plan") == ["🤖 Autonomous execution: Phase 1, Plan 01"]
    assert world.records("gate_asked") == []
    assert "## Plan 01" in (world.root / ".autopilot/phases/001/LOGBOOK.md").read_text()
    assert "- **Status:** complete" in (world.root / flight.TRANSPONDER).read_text()


@pytest.mark.clause(
    "PILOT-33", "PILOT-34", "PILOT-37", "PILOT-41", "PILOT-43", "PILOT-76", "PILOT-79"
)
def test_a_plan_with_a_checkpoint_waits_there_and_goes_on_after_approved(world: World) -> None:
    body = "".join(auto(world.note(word)) for word in ("one", "two", "three"))
    pause = f"{{type: human-verify, after_task: 2, what: {PAGE}}}"
    world.plan("3/06", body, autonomous="false", checkpoint=pause)

    halted = world.halted()

    assert (halted.reason, halted.exit_code) == ("waiting_for_person", 8)
    assert world.noted() == ["one", "two"]
    assert world.told("plan") == ["👤 Human-verify execution: Phase 3, Plan 06"]
    logbook = world.root / ".autopilot/phases/003/LOGBOOK.md"
    assert not logbook.exists()
    (gate,) = world.open_gates()
    assert "The page at http://localhost:3000" in world.shown(gate)
    assert world.halted(begin=False).reason == "waiting_for_person", "and waits"
    assert world.noted() == ["one", "two"]

    world.answer(gate, "approved")
    assert world.run(begin=False)["status"] == "done"
    assert world.noted() == ["one", "two", "three"]
    assert "## Plan 06" in logbook.read_text()
    assert "- **Status:** complete" in (world.root / flight.TRANSPONDER).read_text()


@pytest.mark.clause("PILOT-77")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_after_task_counts_from_one(world: World, after: int) -> None:
    body = "".join(auto(world.note(str(number))) for number in (1, 2, 3))
    pause = f"{{type: human-verify, after_task: {after}, what: {PAGE}}}"
    world.plan("3/06", body, autonomous="false", checkpoint=pause)
    world.halted()
    assert len(world.noted()) == after


@pytest.mark.clause("PILOT-78", "AMB-PILOT-16")
def test_approved_is_said_and_goes_on(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY + auto(world.note("after")), autonomous="false")
    world.halted()
    (gate,) = world.open_gates()
    world.answer(gate, "Approved")
    world.run(begin=False)
    assert world.told("answered") == ["✅ Checkpoint approved, continuing..."]
    assert world.noted() == ["after"]


@pytest.mark.clause("PILOT-34", "PILOT-78", "AMB-PILOT-17")
def test_issues_stop_the_run_with_a_waypoint_and_are_presented_again(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY + auto(world.note("after")), autonomous="false")
    world.halted()
    (first,) = world.open_gates()
    shown = world.shown(first)
    assert shown.index("The page at http://localhost:3000") < shown.index("Visit http://localhost")
    world.answer(first, "The sidebar is missing")

    halted = world.halted(begin=False)

    assert (halted.reason, halted.exit_code) == ("issues_reported", 9)
    assert "The sidebar is missing" in halted.text
    assert halted.waypoint.startswith(".autopilot/waypoints/issues-reported-")
    waypoint = json.loads((world.root / halted.waypoint).read_text())
    assert waypoint["reason"] == "issues_reported"
    assert world.noted() == []

    assert world.halted(begin=False).reason == "waiting_for_person", "the same checkpoint, again"
    (second,) = world.open_gates()
    assert second == f"{first}.2"
    world.answer(second, "approved")
    world.run(begin=False)
    assert world.noted() == ["after"]
    assert "The sidebar is missing" in (world.root / ".autopilot/phases/001/LOGBOOK.md").read_text()


@pytest.mark.clause("AMB-PILOT-17")
def test_a_command_that_mends_issues_is_run_and_the_checkpoint_presented_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "HOLDFAST_PLAN_FIX", f'cat > {world.root}/heard; echo "$HOLDFAST_ISSUES" >> heard'
    )
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.halted()
    (first,) = world.open_gates()
    world.answer(first, "Too slow")

    assert world.halted(begin=False).reason == "waiting_for_person"

    heard = (world.root / "heard").read_text()
    assert "## Issues\n\nToo slow\n" in heard
    assert heard.endswith("Too slow\n"), "and in its environment"
    assert world.open_gates() == [f"{first}.2"]


@pytest.mark.clause("PILOT-35", "AMB-PILOT-16")
def test_a_decision_is_known_to_later_tasks_in_text_and_environment(world: World) -> None:
    ask = DECISION.format(attributes=' name="sessions"')
    use = auto(f'printf "%s %s\\n" {{{{gate.sessions}}}} "$HOLDFAST_GATE_SESSIONS" >> {world.log}')
    world.plan("1/01", auto("true") + ask + use, autonomous="false")
    world.plan("2/01", use)
    world.halted()
    (gate,) = world.open_gates()
    tradeoffs = ("Redis", "Fast", "One more server", "A table", "Nothing new", "Slower")
    assert [one for one in tradeoffs if one not in world.shown(gate)] == []
    world.answer(gate, "redis")
    world.run(begin=False)
    assert world.noted() == ["redis"] * 4, "in its own plan and in a later phase"


@pytest.mark.clause("PILOT-36", "AMB-PILOT-16")
def test_a_manual_step_goes_on_with_done_and_with_nothing_else(world: World) -> None:
    world.plan("1/01", auto("true") + ACTION + auto(world.note("after")), autonomous="false")
    world.halted()
    (first,) = world.open_gates()
    assert "Click the verification link" in world.shown(first)
    world.answer(first, "approved")
    assert world.halted(begin=False).exit_code == 9, "that is no 'done'"
    world.halted(begin=False)
    (second,) = world.open_gates()
    assert world.noted() == []
    world.answer(second, "done")
    world.run(begin=False)
    assert world.noted() == ["after"]


# After every task


@pytest.mark.clause("PILOT-58", "PILOT-67")
def test_thresholds_are_looked_at_after_every_task_of_an_autonomous_plan(world: World) -> None:
    """The second task reports a cost over the stop: the third never begins."""
    report = f"{HOLDFAST} guard report --add-cost 60 --json"
    body = auto(world.note("one")) + auto(report) + auto(world.note("three"))
    world.plan("1/01", body)

    halted = world.halted()

    assert (halted.reason, halted.exit_code) == ("stopped", 7)
    assert world.noted() == ["one"]
    state = json.loads((world.root / ".autopilot/state/thresholds.json").read_text())
    assert state["current_values"]["cost"] == 60
    assert state["levels_triggered"]["cost"] == "stop"


def _session_that_used(name: str, tokens: int, world: World) -> str:
    """A task whose client leaves a transcript: one request, one answer."""
    at = clock.precise(clock.now() + clock.MINUTE)
    said: dict[str, Any] = {"id": name, "model": "claude-opus-4-5", "role": "assistant"}
    said |= {"content": [], "usage": {"input_tokens": tokens, "output_tokens": 0}}
    lines = [
        {"type": "user", "timestamp": at, "message": {"role": "user", "content": "do it"}},
        {"type": "assistant", "timestamp": at, "message": said},
    ]
    source = world.root / f"{name}.lines"
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    folder = claude.folder_of(str(world.root))
    return auto(f"mkdir -p {folder} && cp {source} {folder}/{name}.jsonl && {world.note(name)}")


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        ("stop: {tokens: 2000}", "| Tokens | 2,500 | - | - | 2,000 | no |"),
        ("stop: {turns: 2}", "| Turns | 2 | - | - | 2 | no |"),
    ],
)
def test_a_run_holds_to_the_limits_that_people_ask_for_in_all_its_sessions_together(
    world: World, monkeypatch: pytest.MonkeyPatch, limits: str, shown: str
) -> None:
    monkeypatch.setattr(run_budget, "LOOK_SECONDS", 0.0)
    (world.root / ".autopilot").mkdir(exist_ok=True)
    (world.root / ".autopilot/config.yaml").write_text(f"thresholds: {{{limits}}}")
    tasks = _session_that_used("one", 1200, world) + _session_that_used("two", 1300, world)
    world.plan("1/01", tasks + auto(world.note("never")))
    halted = world.halted()
    assert (halted.reason, halted.exit_code) == ("stopped", 7)
    assert world.noted() == ["one", "two"]
    assert shown in (world.root / flight.TRANSPONDER).read_text()
    state = json.loads((world.root / ".autopilot/state/thresholds.json").read_text())
    assert "stop" in state["levels_triggered"].values()


@pytest.mark.clause("PILOT-67")
def test_the_state_is_saved_after_each_task(world: World) -> None:
    """What a task finds on record is everything that was done before it."""
    show = f"{HOLDFAST} plan show --json | tr ',' '\\n'"
    look = f'{show} | grep -c \'"status": "done"\' >> {world.log} || true'
    world.plan("1/01", auto(look) + auto(look) + auto(look))
    world.run()
    assert world.noted() == ["0", "1", "2"]


def _once_the_transponder_says(text: str) -> str:
    look = f"grep -qF -e '{text}' {flight.TRANSPONDER}"
    return auto(f"for i in $(seq 500); do {look} && exit; sleep 0.02; done; exit 1")


@pytest.mark.clause("PILOT-67")
def test_the_transponder_says_what_was_done_while_a_long_task_runs(world: World) -> None:
    """A task that ends only when the file says that the one before it is done."""
    world.plan("1/01", auto("true") + _once_the_transponder_says("- **Tasks:** 1/2"))
    world.begin(tries=1)
    assert world.run(begin=False)["status"] == "done"


@pytest.mark.clause("PILOT-79")
def test_the_transponder_says_that_a_plan_is_done_while_the_next_one_runs(world: World) -> None:
    world.plan("1/01", auto("true") + VERIFY, autonomous="false")
    world.plan("1/02", _once_the_transponder_says("| 1/01 | done |"), wave=2)
    world.begin(tries=1)
    world.halted(begin=False)
    (gate,) = world.open_gates()
    world.answer(gate, "approved")
    assert world.run(begin=False)["status"] == "done"


@pytest.mark.clause("PILOT-67", "PILOT-58")
def test_a_stop_of_the_budget_leaves_a_waypoint_that_says_where_the_run_is(world: World) -> None:
    body = auto("true", name="first") + auto(
        f"{HOLDFAST} guard report --add-cost 60 --json", name="dear"
    )
    world.plan("3/06", body + auto("true", name="third"))
    halted = world.halted()
    assert halted.waypoint.startswith(".autopilot/waypoints/stop-")
    waypoint = json.loads((world.root / halted.waypoint).read_text())
    assert waypoint["reason"] == "threshold_stop"
    assert (waypoint["phase"], waypoint["plan"]) == ("3", "06")
    assert waypoint["last_task_completed"] == "3/06#2 dear"
    assert waypoint["next_task"] == "3/06#3 third"


def test_an_alert_waits_for_a_person_and_nothing_new_begins(world: World) -> None:
    report = f"{HOLDFAST} guard report --add-cost 30 --json"
    world.plan("1/01", auto(report) + auto(world.note("after")))
    halted = world.halted()
    assert (halted.reason, halted.exit_code) == ("alert", 8)
    assert world.noted() == []
    assert any("🔶 ALERT: Threshold Reached" in text for text in world.told("alert"))


def test_failures_count_as_errors_of_the_budget(world: World) -> None:
    world.plan("1/01", auto("false"))
    world.begin(tries=2)
    world.halted(begin=False)
    assert Budget(world.workspace, actor="tester").state()["added"]["errors"] == 2


# Failing


def test_a_verify_that_fails_is_tried_again_and_then_stops_with_a_waypoint(world: World) -> None:
    world.plan(
        "1/01", auto(world.note("ran"), verify="false", name="brittle") + auto(world.note("no"))
    )
    world.begin(tries=2)

    halted = world.halted(begin=False)

    assert (halted.reason, halted.exit_code) == ("error", 1)
    assert "verify failed, exit code 1" in halted.text
    assert halted.waypoint.startswith(".autopilot/waypoints/error-")
    assert world.noted() == ["ran", "ran"]
    assert [one["body"]["last"] for one in world.records("task_failed")] == [False, True]


def test_a_failed_task_is_tried_anew_at_a_resume(world: World) -> None:
    world.plan("1/01", auto(f"test -e {world.root}/ready"))
    world.begin(tries=1)
    world.halted(begin=False)
    (world.root / "ready").touch()
    assert world.run(begin=False)["status"] == "done"


def test_what_runs_beside_a_failure_is_let_run_and_nothing_new_begins(world: World) -> None:
    class Noticing(list["RunEvent"]):
        def append(self, event: RunEvent) -> None:
            super().append(event)
            if event["event"] == "failed":
                (world.root / "failed").touch()

    world.events = Noticing()
    wait = f"while ! test -e {world.root}/failed; do sleep 0.02; done; "
    world.plan("1/01", auto("exit 1"))
    world.plan("1/02", auto(wait + world.note("finished")) + auto(world.note("never")))
    world.begin(tries=1)
    world.halted(begin=False)
    assert world.noted() == ["finished"]
    assert world.done() == ["1/02#1"]


# Phases


@pytest.mark.clause("PILOT-68", "AMB-PILOT-33")
def test_a_phase_ends_with_a_waypoint_and_then_its_goals(world: World) -> None:
    haves = "{artifacts: [made.txt, {path: also.txt, provides: more}]}"
    world.plan("1/01", auto("touch made.txt", name="half"), must_haves=haves)
    world.plan("2/01", auto(world.note("later")))

    halted = world.halted()

    assert (halted.reason, halted.exit_code) == ("goals_unmet", 1)
    assert world.told("unmet") == ["1/01: also.txt is not there"]
    assert world.noted() == [], "the next phase does not begin"
    events = [one["event"] for one in world.events]
    assert events.index("phase") < events.index("unmet"), "the checkpoint comes first"
    saved = list((world.root / ".autopilot/waypoints").glob("phase-complete-*.json"))
    assert len(saved) == 1
    assert json.loads(saved[0].read_text())["last_task_completed"] == "1/01#1 half"

    (world.root / "also.txt").touch()
    assert world.run(begin=False)["status"] == "done"
    assert world.noted() == ["later"]


@pytest.mark.clause("PILOT-68")
def test_the_checkpoint_of_a_phase_is_written_before_anybody_looks_at_its_goals(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = f"{world.root}/.autopilot/waypoints/phase-complete-*.json"
    monkeypatch.setenv("HOLDFAST_PLAN_GOALS", f"ls {saved} > seen 2>&1 || echo too early")
    world.plan("1/01", auto("true"))
    assert world.run()["status"] == "done"
    assert "phase-complete-" in (world.root / "seen").read_text()


@pytest.mark.clause("AMB-PILOT-33")
def test_a_command_of_yours_can_look_at_a_phases_goals(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "HOLDFAST_PLAN_GOALS", 'test -e good || echo "phase $HOLDFAST_PHASE is not good"'
    )
    world.plan("7/01", auto("true"), autonomous="true")
    assert world.halted().text == "Phase 7: phase 7 is not good"
    (world.root / "good").touch()
    assert world.run(begin=False)["status"] == "done"


# Files


@pytest.mark.clause("AMB-PILOT-29")
def test_a_logbook_a_phase_with_a_section_a_plan_in_which_people_may_write(world: World) -> None:
    world.plan("1/01", auto("echo fine", name="First"))
    world.run()
    logbook = world.root / ".autopilot/phases/001/LOGBOOK.md"
    text = logbook.read_text()
    logbook.write_text(text.replace("## Plan 01", "## Plan 01\n\nThis one was hard.") + "\nMine.\n")
    world.plan("1/02", auto("true", name="Second"))

    world.run()

    written = logbook.read_text()
    assert written.startswith("# Logbook: Phase 1\n")
    assert "This one was hard." in written
    assert "Mine." in written
    assert written.count("## Plan 01") == 2, "once a run"
    world.runner().flight.summarize("1/01", {})
    assert logbook.read_text() == written, "also when a crash came before the plan was closed"
    assert written.count("## Plan 02") == 1
    assert "| 1 First | done |" in written


@pytest.mark.clause("AMB-PILOT-29")
def test_the_logbook_stands_beside_the_phases_own_files(world: World) -> None:
    route = world.root / ".autopilot/phases/004-api/ROUTE.md"
    route.parent.mkdir(parents=True)
    world.plan("4/01", auto("true")).rename(route)
    code, answer, err = world.holdfast("takeoff", "-y")
    assert code == 0, err
    assert answer["data"]["done"] == 1
    assert (route.parent / "LOGBOOK.md").exists()


def test_the_transponder_is_current_short_and_keeps_what_others_wrote(world: World) -> None:
    world.plan("1/01", auto("true"))
    world.plan("1/02", auto("true") + VERIFY, autonomous="false", wave=2)
    world.halted()
    path = world.root / flight.TRANSPONDER
    text = path.read_text()
    assert "- **Tasks:** 2/2" in text
    assert "- **Reason:** waiting_for_person" in text
    (gate,) = world.open_gates()
    assert gate in text
    path.write_text(text + "\n## Notes of mine\n\nAsk Ada.\n")

    world.answer(gate, "approved")
    world.run(begin=False)

    text = path.read_text()
    assert "- **Status:** complete" in text
    assert "## Notes of mine\n\nAsk Ada." in text
    flown = load(world.workspace.journal, flight_rules, flight_rules.stream_of(world.id))[0]
    board = flown["board"]
    many: Any = {**board, "plans": board["plans"] * 500, "waits": ["a person"] * 500}
    assert len(flight.write_transponder(many, "").splitlines()) < 100


def test_a_holding_pattern_is_there_while_a_run_is_stopped_in_the_middle_of_a_phase(
    world: World,
) -> None:
    world.plan("3/06", auto("true") + VERIFY + auto("true", name="rest"), autonomous="false")
    world.halted()
    pattern = world.root / ".autopilot/holding-pattern.md"
    text = pattern.read_text()
    assert text.startswith(
        "---\nphase: 3\nplan: 06\ntask: 2\ntotal_tasks: 2\nstatus: waiting_for_person\n"
    )
    (gate,) = world.open_gates()
    world.answer(gate, "approved")
    world.run(begin=False)
    assert not pattern.exists(), "after a successful resume"


# Programs


def test_a_program_sees_its_run_its_phase_its_plan_and_its_task(world: World) -> None:
    names = ("RUN", "PHASE", "PLAN", "TASK")
    say = " ".join(f"$HOLDFAST_{name}" for name in names)
    world.plan("3/06", auto("true") + auto(f"echo {say} >> {world.log}"))
    world.run()
    assert world.noted() == [world.id, "3", "06", "3/06#2"]


def test_a_task_without_a_program_goes_to_the_agent_with_its_text_on_standard_input(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_PLAN_AGENT", "cat > heard")
    task = (
        '<task type="auto"><name>Dashboard</name><action>Build it; rm -rf / is only prose</action>'
        "<verify>curl localhost returns 200</verify></task>"
    )
    world.plan("3/06", task, autonomous="true", files_modified="[src/page.ts]")
    world.run()
    heard = (world.root / "heard").read_text()
    assert heard.startswith("# Phase 3, Plan 06: Dashboard\n\nBuild it; rm -rf / is only prose\n")
    assert "## Verify\n\ncurl localhost returns 200\n" in heard
    assert "- src/page.ts" in heard


def test_a_program_of_a_run_cannot_answer_a_gate_even_at_a_terminal_of_its_own(
    world: World,
) -> None:
    content = gate_content.verify("The page", ["http://localhost:3000 shows it"])
    asking.ask(
        GateContext(world.workspace, "tester", clock.now()),
        AskRequest(content=content, name="page"),
    )
    words = ["-m", "holdfast", "gate", "answer", "page", "approved"]
    script = f"import pty, sys; pty.spawn([sys.executable, *{words}])"
    command = f"{shlex.quote(sys.executable)} -c {shlex.quote(script)} > said < /dev/null; true"
    world.plan("1/01", auto(command))
    world.run()
    assert world.open_gates() == ["page"]
    assert "an agent's environment (HOLDFAST_RUN)" in (world.root / "said").read_text()


def test_old_outputs_of_tasks_go_with_gc(world: World) -> None:
    world.plan("1/01", auto("echo something to keep for a while"))
    world.run()
    (log,) = (Path(world.workspace.home) / "plans" / world.id / "logs").iterdir()
    assert log.stat().st_mode & 0o777 == 0o600
    os.utime(log, (0, 0))
    assert world.holdfast("gc")[0] == 0
    assert not log.exists()


def test_the_time_of_a_run_counts_for_the_suggestion_of_a_checkpoint(world: World) -> None:
    world.plan("1/01", auto("true"))
    world.begin()
    spent = world.runner().budget.spending
    measured = spent.measure(Budget(world.workspace, actor="t").state())
    assert clock.parse(measured["started_at"]) == clock.parse(world.state()["begun_at"])
    assert measured["values"]["context"] is None, "a run has no context of its own"
