"""A person sets a limit with one command, in the protocol's own file."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.budgets.set_limit import put_number
from tests.budgets.test_person import person
from tests.budgets.world import Scene
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast

holdfast = command_line.holdfast
CONFIG = Path(".autopilot/config.yaml")
BY_HAND = """\
# What this project may cost.
thresholds:
  alert:
    cost: 25.00   # ask Kim
    context: 40
  stop:
    cost: 50.00

checkpoint_triggers:
  - type: cost_stop
    threshold: $50
    action: hard_stop
"""


@pytest.mark.clause("PILOT-44", "PILOT-45")
def test_one_command_sets_a_budget(scene: Scene, holdfast: Holdfast) -> None:
    seen = person("set", "cost", "$5")
    assert seen.code == 0, seen.screen
    assert CONFIG.read_text("utf-8") == "thresholds:\n  stop:\n    cost: 5\n"
    assert "config.yaml says stop.cost: $5.00" in seen.screen
    assert holdfast("guard", "check", "--cost", "5").code == 7
    assert holdfast("guard", "limits", "--json").data["limits"]["stop"]["cost"] == 5


def test_the_rest_of_the_file_stays_as_it_is(scene: Scene) -> None:
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(BY_HAND.partition("checkpoint_triggers")[0], "utf-8")
    assert person("set", "cost", "80").code == 0
    assert person("set", "context", "55%").code == 0
    wanted = BY_HAND.partition("checkpoint_triggers")[0].replace("50.00", "80")
    wanted = wanted.replace("    cost: 80\n", "    cost: 80\n    context: 55\n")
    assert CONFIG.read_text("utf-8") == wanted


def test_a_lower_stop_takes_its_alert_along(scene: Scene) -> None:
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(BY_HAND.partition("checkpoint_triggers")[0], "utf-8")
    assert person("set", "cost", "5").code == 0
    text = CONFIG.read_text("utf-8")
    assert "    cost: 5   # ask Kim\n" in text
    assert text.count("cost: 5") == 2


def test_a_level_in_braces_is_changed_within_them(scene: Scene) -> None:
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(
        "thresholds:\n  alert: {context: 40}\n  stop: {cost: 50.00, context: 50} # Kim\n", "utf-8"
    )
    assert person("set", "cost", "5").code == 0
    assert person("set", "cost", "4", "--level", "alert").code == 0
    assert CONFIG.read_text("utf-8") == (
        "thresholds:\n  alert: {context: 40, cost: 4}\n  stop: {cost: 5, context: 50} # Kim\n"
    )


def test_only_a_person_sets_a_limit(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("guard", "set", "cost", "5")
    assert answer.code == 4
    assert not CONFIG.exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [(("set", "money", "5"), "cost"), (("set", "cost", "much"), "guard set cost 5")],
)
def test_what_is_no_limit_says_what_to_type(
    scene: Scene, holdfast: Holdfast, words: tuple[str, ...], hint: str
) -> None:
    answer = holdfast("guard", *words)
    assert answer.code == 2
    assert hint in answer.err


def test_a_file_in_another_style_is_left_alone(scene: Scene, holdfast: Holdfast) -> None:
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text("thresholds: {stop: {cost: 50}}\n", "utf-8")
    answer = holdfast("guard", "set", "cost", "60")
    assert (answer.code, "Write it there yourself" in answer.err) == (1, True)
    assert CONFIG.read_text("utf-8") == "thresholds: {stop: {cost: 50}}\n"


@pytest.mark.parametrize("text", ["", "# mine\n", "thresholds:\n", "checkpoint_triggers: []\n"])
def test_a_number_is_added_where_there_is_none(text: str) -> None:
    after = put_number(text, "stop", "cost", "5")
    assert after.endswith("thresholds:\n  stop:\n    cost: 5\n")
    assert after.startswith(text.replace("thresholds:\n", ""))


def test_budget_is_understood_as_guard(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("budget", "set", "cost", "5")
    assert (answer.code, "guard" in answer.err) == (2, True)


@pytest.mark.clause("PILOT-52", "PILOT-55")
def test_a_plain_check_shows_that_an_alert_is_acknowledged(
    scene: Scene, holdfast: Holdfast
) -> None:
    import re

    scene.check(cost=26.5)
    person("ack", "cost", then=(re.compile(rb"halt.*\n"), "ack"))
    assert "alert acknowledged at $26.50" in holdfast("guard", "check").out
    assert "alert acknowledged at $26.50" in holdfast("guard", "check", "--cost", "27").out


@pytest.mark.clause("PILOT-91")
def test_a_terminal_names_a_command_that_there_is(scene: Scene) -> None:
    from tests.gates.person import Terminal

    seen = Terminal("guard", "check", "--cost", "52.30").leave()
    assert "3. Resume with holdfast guard reset" in seen.screen
    assert "/autopilot:cockpit" not in seen.screen
