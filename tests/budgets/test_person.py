"""What only a person may do: a real terminal, the word typed back, 'ack' or 'stop', a new limit."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from holdfast.kernel import latch
from holdfast.people import person as people
from tests.budgets.world import CONFIG, Scene, configure, read
from tests.cli.conftest import Holdfast
from tests.gates.person import Seen, Terminal
from tests.session.world import holdfast_process

ANSWER = re.compile(rb"or 'stop' to halt\. $")
LIMIT = re.compile(rb"New stop \(empty leaves it stopped\): $")


def person(*words: str, then: tuple[re.Pattern[bytes], str] | None = None) -> Seen:
    """A person runs `holdfast guard ...`, types the word back, and answers what is asked then."""
    terminal = Terminal("guard", *words)
    terminal.type_back()
    if then is not None:
        question, answer = then
        terminal.read_until(question)
        terminal.type(f"{answer}\n".encode())
    return terminal.leave()


# guard ack


@pytest.mark.clause("PILOT-52", "AMB-PILOT-20")
@pytest.mark.parametrize("answer", ["ack", "  ACK "])
def test_a_person_acknowledges_at_a_terminal(scene: Scene, answer: str) -> None:
    scene.check(cost=26.5)
    seen = person("ack", "cost", then=(ANSWER, answer))
    assert seen.code == 0, seen.screen
    assert "✅ Acknowledged. Continuing..." in seen.screen
    assert "🔶 ALERT: Threshold Reached" in seen.screen, "they see what they acknowledge"
    assert scene.verdict(cost=30) == "go"
    known = scene.state["acknowledgments"]["cost"]
    assert (known["level"], known["value_at_ack"], known["threshold"]) == ("alert", 26.5, 25)
    assert known["by"]["channel"] == "terminal"
    assert known["by"]["name"]


@pytest.mark.clause("PILOT-53", "AMB-PILOT-20", "AMB-PILOT-28")
@pytest.mark.parametrize("answer", ["stop", "no", "", "acknowledge"])
def test_any_other_answer_halts_with_a_waypoint(scene: Scene, answer: str) -> None:
    scene.check(cost=26.5)
    seen = person("ack", "cost", then=(ANSWER, answer))
    assert seen.code == 9, seen.screen
    (name,) = scene.waypoints()
    assert re.fullmatch(r"alert-stop-\d{8}-\d{6}\.json", name)
    assert f"Waypoint saved: .autopilot/waypoints/{name}" in seen.screen
    saved = read(Path(".autopilot/waypoints") / name)
    assert (saved["reason"], saved["trigger"]["value"]) == ("alert_stop", 26.5)
    assert scene.verdict(cost=5) == "stop", "nobody goes on"
    held = latch.read(scene.workspace)
    assert held is not None
    assert held["reason"] == "A person said stop: Cost at $26.50"


def test_the_ceiling_of_a_person_is_on_record(scene: Scene) -> None:
    scene.check(cost=26.5)
    assert person("ack", "cost", "--until", "$40", then=(ANSWER, "ack")).code == 0
    assert scene.state["acknowledgments"]["cost"]["until"] == 40
    assert scene.verdict(cost=40) == "wait"


def test_without_a_terminal_nobody_acknowledges(scene: Scene) -> None:
    scene.check(cost=26.5)
    done = holdfast_process("guard", "ack", "cost", "--json")
    assert done.returncode == 4
    assert '"no_person"' in done.stdout
    assert scene.verdict(cost=26.5) == "wait"
    assert scene.workspace.journal.head("people:workspace") is not None, "the attempt is recorded"


def test_an_agent_with_a_terminal_does_not_acknowledge_either(scene: Scene) -> None:
    scene.check(cost=26.5)
    seen = Terminal("guard", "ack", "cost", environment={"CLAUDECODE": "1"}).leave()
    assert seen.code == 4
    assert scene.verdict(cost=26.5) == "wait"


def test_a_word_that_is_not_typed_back_acknowledges_nothing(scene: Scene) -> None:
    scene.check(cost=26.5)
    terminal = Terminal("guard", "ack", "cost")
    for _ in range(people.TRIES):
        terminal.read_until(re.compile(rb"and Enter: $"))
        assert b"'ack'" not in terminal.screen, "the word is asked for first, and alone"
        terminal.screen = b""
        terminal.type(b"ack\n")
    assert terminal.leave().code == 4
    assert scene.verdict(cost=26.5) == "wait"


def test_what_does_not_wait_asks_nobody(scene: Scene, holdfast: Holdfast) -> None:
    assert holdfast("guard", "ack", "cost", "--json").code == 3
    assert holdfast("guard", "ack", "money", "--json").code == 2
    scene.check(cost=26.5)
    assert holdfast("guard", "ack", "cost", "--until", "12,50", "--json").code == 2
    assert holdfast("guard", "ack", "cost", "--until", "26", "--json").code == 2
    scene.ack("cost")
    answer = holdfast("guard", "ack", "cost", "--json")
    assert (answer.code, answer.data["answer"]) == (0, "already")


# guard reset after a stop


@pytest.mark.clause("PILOT-63", "PILOT-94")
def test_a_person_lifts_the_stop_with_a_new_limit(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=52.3)
    seen = person("reset", then=(LIMIT, "$80"))
    assert seen.code == 0, seen.screen
    assert "✅ All alert acknowledgments cleared" in seen.screen
    assert "Cost is at $52.30, the stop at $50.00." in seen.screen
    assert latch.read(scene.workspace) is None
    assert scene.verdict(cost=60) == "wait", "the alert asks again"
    assert scene.verdict(cost=80) == "stop"
    assert holdfast("guard", "limits", "--json").data["sources"]["stop"]["cost"] == "waypoint"


@pytest.mark.parametrize("answer", ["", "$50", "52.30", "12,50", "NaN"])
def test_without_a_higher_limit_the_stop_holds(scene: Scene, answer: str) -> None:
    scene.check(cost=52.3)
    terminal = _asked_for_a_limit(answer)
    terminal.type(b"\n")
    assert terminal.leave().code == 1
    assert latch.read(scene.workspace) is not None
    assert scene.verdict(cost=1) == "stop"


@pytest.mark.parametrize("answer", ["$50", "12,50"])
def test_who_mistypes_the_new_limit_is_asked_again(scene: Scene, answer: str) -> None:
    scene.check(cost=52.3)
    terminal = _asked_for_a_limit(answer)
    terminal.type(b"80\n")
    seen = terminal.leave()
    assert seen.code == 0, seen.screen
    assert latch.read(scene.workspace) is None


def _asked_for_a_limit(answer: str) -> Terminal:
    """The terminal of a person who has answered, and is asked."""
    terminal = Terminal("guard", "reset")
    terminal.type_back()
    terminal.read_until(LIMIT)
    if answer:
        terminal.screen = b""
        terminal.type(f"{answer}\n".encode())
        terminal.read_until(LIMIT)
    return terminal


def test_a_limit_raised_in_the_file_needs_a_person_but_no_new_number(scene: Scene) -> None:
    scene.check(cost=52.3)
    configure("thresholds: {stop: {cost: 80}}")
    assert scene.verdict(cost=52.3) == "stop", "an editor lifts nothing"
    assert person("reset").code == 0
    assert scene.verdict(cost=60) == "wait"
    assert scene.budget.in_force().sources["stop"]["cost"] == str(CONFIG)


@pytest.mark.parametrize("earlier", ["", "4"])
def test_who_lifts_the_stop_of_a_programs_limit_is_asked_how_far(
    scene: Scene, earlier: str
) -> None:
    scene.check(cost=2.25, limits={"stop": {"cost": 2}})
    if earlier:
        assert person("reset", "--limit", f"stop.cost={earlier}").code == 0
        assert scene.verdict(cost=4.5) == "stop"
    seen = person("reset", then=(LIMIT, "$6"))
    assert seen.code == 0, seen.screen
    at, stop = ("$4.50", "$4.00") if earlier else ("$2.25", "$2.00")
    assert f"Cost is at {at}, the stop at {stop}." in seen.screen
    assert "The stop is lifted; Cost stops at $6.00." in seen.screen
    assert ("A program that says $2.00 itself" in seen.screen) is (not earlier)
    assert scene.budget.in_force().limits["stop"]["cost"] == 6


def test_a_file_says_nothing_about_a_programs_lower_limit(scene: Scene) -> None:
    configure("thresholds: {stop: {cost: 80}}")
    scene.check(cost=2.25, limits={"stop": {"cost": 2}})
    assert person("reset", then=(LIMIT, "$3")).code == 0
    assert scene.budget.in_force().limits["stop"]["cost"] == 3


def test_a_person_raises_a_programs_limit_before_it_stops(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(context=42, limits={"stop": {"cost": 2}})
    assert "$2.00 (a program's --limit)" in holdfast("guard", "limits").out
    seen = person("reset", "--limit", "stop.cost=4")
    assert seen.code == 0, seen.screen
    assert "Cost stops at $4.00." in seen.screen
    assert "$4.00 (a person's guard reset)" in holdfast("guard", "limits").out
    assert (scene.verdict(cost=3), scene.verdict(cost=4)) == ("go", "stop")


def test_a_limit_can_be_said_with_the_command(scene: Scene) -> None:
    scene.check(cost=52.3)
    assert person("reset", "--limit", "stop.cost=52.30").code == 2
    assert latch.read(scene.workspace) is not None
    assert person("reset", "--limit", "stop.cost=80").code == 0
    assert scene.verdict(cost=60) == "wait"


def test_errors_are_put_behind_and_the_context_begins_anew(scene: Scene) -> None:
    for number in range(5):
        scene.do("add", error=f"Failure {number}")
    assert scene.check()["verdict"] == "stop"
    assert person("reset").code == 0
    assert scene.check()["values"]["errors"] == 0
    assert scene.verdict(context=55) == "stop"
    assert person("reset").code == 0
    assert scene.verdict(context=5, session="fresh") == "go"


@pytest.mark.parametrize("words", [(), ("--limit", "stop.cost=900")])
def test_without_a_terminal_no_stop_is_lifted(scene: Scene, words: tuple[str, ...]) -> None:
    scene.check(cost=52.3)
    done = holdfast_process("guard", "reset", *words, "--json")
    assert done.returncode == 4
    assert scene.verdict(cost=1) == "stop"
    assert latch.read(scene.workspace) is not None


def test_a_limit_is_not_raised_without_a_person_before_a_stop_either(scene: Scene) -> None:
    scene.check(cost=1)
    assert holdfast_process("guard", "reset", "--limit", "stop.cost=900").returncode == 4
    assert person("reset", "--limit", "stop.cost=900").code == 0
    assert scene.budget.in_force().limits["stop"]["cost"] == 900


def test_a_release_does_not_lift_a_budgets_stop(scene: Scene, holdfast: Holdfast) -> None:
    scene.check(cost=52.3)
    answer = holdfast("release", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (4, "budget_stop")
    assert latch.read(scene.workspace) is not None


def test_a_budgets_stop_behind_an_emergency_stop_comes_forth_again(
    scene: Scene, holdfast: Holdfast
) -> None:
    holdfast("estop", "--reason", "Everybody out")
    assert scene.verdict(cost=52.3) == "stop"
    held = latch.read(scene.workspace)
    assert held is not None
    assert held["reason"] == "Everybody out", "a person's stop is not written over"
    terminal = Terminal("release")
    terminal.type_back()
    assert terminal.leave().code == 7
    held = latch.read(scene.workspace)
    assert held is not None
    assert held["by"] == "guard"
    assert os.path.exists(latch.places(scene.workspace)[0])
