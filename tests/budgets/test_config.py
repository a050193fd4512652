"""Where limits come from: the project's file, the user's own, the waypoint, flags; and their mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast as library
from holdfast.budgets.limits import in_force, in_force_anyway
from holdfast.kernel.errors import HoldfastError, NotAllowed
from holdfast.kernel.workspace import discover
from tests.budgets.world import CONFIG, Scene, configure
from tests.cli.conftest import Holdfast
from tests.test_docs import blocks


def own_limits(**costs: object) -> None:
    path = Path.home() / ".claude" / "autopilot" / "config.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"defaults": costs}), "utf-8")


@pytest.mark.clause("PILOT-94", "AMB-PILOT-25")
def test_a_stop_is_raised_in_the_file(scene: Scene) -> None:
    configure("thresholds:\n  stop:\n    cost: 80\n")
    assert scene.verdict(cost=60) == "wait"
    assert scene.verdict(cost=80) == "stop"


@pytest.mark.clause("PILOT-94", "AMB-PILOT-25", "PILOT-74")
def test_the_file_overrides_in_part_with_or_without_units(scene: Scene) -> None:
    configure(
        "project: mine\n"
        "thresholds:\n"
        "  warning: {cost: $12.50, errors: 1}\n"
        "  alert:\n    context: 45%\n"
        "checkpoint_triggers:\n"
        "  - type: cost_stop\n    threshold: $70\n"
        "  - {type: time_elapsed, duration: 45min}\n"
    )
    held = scene.budget.in_force()
    assert held.limits["warning"] == {"cost": 12.5, "context": 30, "variance": 20, "errors": 1}
    assert held.limits["alert"]["context"] == 45
    assert held.limits["stop"] == {"cost": 70, "context": 50, "variance": 50, "errors": 5}
    assert held.pause == 45 * 60_000
    assert held.sources["stop"]["cost"] == held.sources["warning"]["cost"] == str(CONFIG)
    assert held.sources["stop"]["errors"] == "protocol"


@pytest.mark.clause("AMB-PILOT-25")
def test_flags_beat_the_waypoint_beats_the_project_beats_the_user_beats_the_protocol(
    scene: Scene,
) -> None:
    own_limits(warnCost=11, alertCost=26, maxCost="$60")
    configure("thresholds: {alert: {cost: 30}, stop: {cost: 70}}")
    scene.check(cost=1)
    scene.do("reset", given={"stop": {"cost": 80}}, forgiven={})
    held = scene.budget.in_force({"warning": {"cost": 9}})
    assert [held.limits[level]["cost"] for level in ("warning", "alert", "stop")] == [9, 30, 80]
    sources = {level: held.sources[level]["cost"] for level in held.sources}
    assert sources == {"warning": "--limit", "alert": str(CONFIG), "stop": "waypoint"}
    configure("")
    scene.do("reset", given={}, forgiven={})
    scene.do(
        "confirm_own", own={"warning": {"cost": 11}, "alert": {"cost": 26}, "stop": {"cost": 60}}
    )
    held = scene.budget.in_force()
    assert [held.limits[level]["cost"] for level in held.limits] == [11, 26, 60]
    assert held.sources["stop"]["cost"].endswith("/.claude/autopilot/config.json")


@pytest.mark.clause("AMB-PILOT-25")
def test_a_limit_of_a_flag_stays_with_the_waypoint(scene: Scene) -> None:
    low = {"warning": {"cost": 1.0}, "alert": {"cost": 2.0}, "stop": {"cost": 20.0}}
    assert scene.check(limits=low, cost=1.5)["verdict"] == "go"
    assert scene.budget.in_force().limits["stop"]["cost"] == 50, "for that one check"
    assert scene.check(limits=low, cost=20)["verdict"] == "stop"
    held = scene.budget.in_force()
    assert held.limits["stop"]["cost"] == 20
    assert held.sources["stop"]["cost"] == "waypoint"


@pytest.mark.parametrize("level", ["alert", "stop"])
def test_a_flag_lowers_a_limit_and_raises_none(
    scene: Scene, holdfast: Holdfast, level: str
) -> None:
    number = {"alert": 26, "stop": 51}[level]
    with pytest.raises(NotAllowed):
        scene.check(limits={level: {"cost": number}}, cost=60)
    answer = holdfast(
        "guard", "check", "--cost", "60", "--limit", f"{level}.cost={number}", "--json"
    )
    assert (answer.code, answer.envelope["error"]["kind"]) == (4, "limit_raised")
    assert holdfast("guard", "check", "--cost", "60").code == 7


@pytest.mark.parametrize(
    "word", ["cost=5", "stop.cost", "stop.money=5", "end.cost=5", "stop.cost=5,5"]
)
def test_a_flag_that_names_no_limit_is_refused(scene: Scene, holdfast: Holdfast, word: str) -> None:
    answer = holdfast("guard", "check", "--limit", word, "--json")
    assert answer.code == 2
    assert "--limit" in answer.envelope["error"]["message"]


@pytest.mark.clause("AMB-PILOT-26")
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("thresholds: {warning: {cost: 26}, alert: {cost: 25}}", ["warning.cost", "alert.cost"]),
        ("thresholds: {alert: {errors: 6}, stop: {errors: 5}}", ["alert.errors", "stop.errors"]),
        (
            "thresholds: {warning: {context: 41}, stop: {context: 39}}",
            ["warning.context", "stop.context"],
        ),
    ],
)
def test_levels_out_of_order_are_an_error_that_names_both(
    scene: Scene, text: str, keys: list[str]
) -> None:
    configure(text)
    with pytest.raises(HoldfastError) as refused:
        scene.check(cost=1)
    assert refused.value.kind == "bad_config"
    assert all(f"thresholds.{key}" in refused.value.message for key in keys)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("thresholds: {stop: {cost: $5}}", [5, 5, 5]),
        ("thresholds: {stop: {cost: $20}}", [10, 20, 20]),
        ("thresholds: {alert: {cost: $60}}", [10, 60, 60]),
        ("thresholds: {warning: {cost: $2}, stop: {cost: $5}}", [2, 5, 5]),
    ],
)
def test_one_number_is_a_budget(scene: Scene, text: str, numbers: list[float]) -> None:
    """A number of the protocol gives way to a person's, and the limits say to which."""
    configure(text)
    held = scene.budget.in_force()
    assert [held.limits[level]["cost"] for level in held.limits] == numbers
    given = {name for name in held.limits if held.sources[name]["cost"].startswith("as ")}
    assert given == {
        level
        for level, number, protocol in zip(held.limits, numbers, (10, 25, 50), strict=True)
        if number != protocol and level not in text
    }


def test_one_number_is_a_budget_from_every_face(scene: Scene, holdfast: Holdfast) -> None:
    with library.open() as workspace:
        report = workspace.budgets.check(cost=4.99, limits=["stop.cost=5"])
        assert report["verdict"] == "go"
        assert workspace.budgets.check(cost=5, limits=["stop.cost=5"])["verdict"] == "stop"
    configure("thresholds: {stop: {context: 20%}}")
    assert "20% (as stop.context)" in holdfast("guard", "limits").out


def test_a_warning_of_a_flag_raises_no_alert(scene: Scene, holdfast: Holdfast) -> None:
    answer = holdfast("guard", "check", "--cost", "1", "--limit", "warning.cost=26")
    assert answer.code == 2
    assert "is above alert.cost (25)" in answer.err


@pytest.mark.parametrize(
    ("text", "stop"),
    [
        ("thresholds: {stop: {cost: $5}, stops: {}}", 5),
        ("thresholds: {alert: {cost: $9}, stop: {cost: $5}}", 5),
        ("thresholds: {stop: {cost: '12,50'}}", 50),
        ("thresholds: {stop: {cost: $500}, halt: {}}", 50),
        ("thresholds: {", 50),
    ],
)
def test_a_file_that_cannot_be_understood_frees_no_agent(
    scene: Scene, holdfast: Holdfast, text: str, stop: float
) -> None:
    configure(text)
    held, problem = in_force_anyway(scene.workspace, scene.budget.state())
    assert held.limits["stop"]["cost"] == stop
    assert held.limits["alert"]["cost"] <= stop
    assert str(CONFIG) in problem or "thresholds.alert.cost" in problem
    looked = holdfast("guard", "limits")
    assert looked.code == 0
    assert problem in looked.out
    assert f"the budget stops at cost ${stop:.2f}" in holdfast("status").out


def test_the_limits_of_the_last_check_hold_when_the_file_breaks(scene: Scene) -> None:
    configure("thresholds: {stop: {cost: $5}}")
    scene.check(cost=1)
    configure("thresholds: {stop: {cost: 5 dollars}}")
    held, problem = in_force_anyway(scene.workspace, scene.budget.state())
    assert held.limits["stop"]["cost"] == 5
    assert "thresholds.stop.cost" in problem


@pytest.mark.clause("AMB-PILOT-26")
def test_equal_levels_are_in_order(scene: Scene) -> None:
    configure("thresholds: {warning: {cost: 5}, alert: {cost: 5}, stop: {cost: 5}}")
    assert scene.verdict(cost=4.99) == "go"
    assert scene.verdict(cost=5) == "stop"


MISTAKES = {
    "thresholds: {stop: {cost: '12,50'}}": "thresholds.stop.cost",
    "thresholds: {stop: {cost: NaN}}": "thresholds.stop.cost",
    "thresholds: {stop: {cost: -5}}": "thresholds.stop.cost",
    "thresholds: {stop: {cost: .inf}}": "thresholds.stop.cost",
    "thresholds: {stop: {cost: [1, 2]}}": "thresholds.stop.cost",
    "thresholds: {stop: {context: $50}}": "thresholds.stop.context",
    "thresholds: {stop: {errors: 2.5}}": "thresholds.stop.errors",
    "thresholds: {halt: {cost: 5}}": "thresholds.halt",
    "thresholds: {stop: {costs: 5}}": "thresholds.stop.costs",
    "thresholds: 5": "thresholds",
    "threshold: {stop: {cost: 5}}": "threshold",
    "checkpoint_triggers: {type: cost_stop}": "checkpoint_triggers",
    "checkpoint_triggers: [cost_stop]": "checkpoint_triggers[0]",
    "checkpoint_triggers: [{type: cost_end}]": "checkpoint_triggers[0].type",
    "checkpoint_triggers: [{type: cost_stop, threshold: 12,50}]": "checkpoint_triggers[0]",
    "checkpoint_triggers: [{type: cost_stop, count: 5}]": "checkpoint_triggers[0].count",
    "checkpoint_triggers: [{type: cost_stop, action: log_warning}]": "checkpoint_triggers[0].action",
    "checkpoint_triggers: [{type: time_elapsed, duration: 30}]": "checkpoint_triggers[0].duration",
    "checkpoint_triggers: [{type: time_elapsed, duration: 5s}]": "checkpoint_triggers[0].duration",
    "checkpoint_triggers: [{type: error_threshold, count: -3}]": "checkpoint_triggers[0].count",
    "checkpoint_triggers: [{type: task_complete, frequency: never}]": "[0].frequency",
    "checkpoint_triggers: [{type: cost_stop}, {type: cost_stop}]": "checkpoint_triggers[1].type",
    "thresholds: {stop: {cost: 60}}\ncheckpoint_triggers: [{type: cost_stop, threshold: 70}]": (
        "thresholds.stop.cost"
    ),
    "thresholds:\n  stop:\n    cost: 60\n    cost: 6000\n": "thresholds.stop.cost",
    "- a list": "config.yaml",
    "thresholds: {": "is not YAML",
    "a: &x [*x": "is not YAML",
}


@pytest.mark.clause("PILOT-66", "PILOT-74", "AMB-PILOT-25")
@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_the_file_is_an_error_with_its_key(
    scene: Scene, holdfast: Holdfast, text: str
) -> None:
    """No check goes on with limits that somebody meant differently."""
    configure(text)
    answer = holdfast("guard", "check", "--cost", "1", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "bad_config")
    assert MISTAKES[text] in answer.envelope["error"]["message"]
    assert str(CONFIG) in answer.envelope["error"]["message"]


def test_a_file_that_cannot_be_read_is_an_error(scene: Scene, holdfast: Holdfast) -> None:
    for content in (b"\xff\xfe", b"a: b\n" * 100_000):
        configure("")
        CONFIG.write_bytes(content)
        assert holdfast("guard", "check", "--cost", "1", "--json").code == 1
    CONFIG.unlink()
    CONFIG.mkdir()
    answer = holdfast("guard", "check", "--cost", "1", "--json")
    assert (answer.code, answer.envelope["error"]["kind"]) == (1, "bad_config")


@pytest.mark.parametrize("value", [-1, "12,50", True, [], "Infinity"])
def test_a_mistake_in_the_users_own_file_is_named(scene: Scene, value: object) -> None:
    own_limits(maxCost=value)
    with pytest.raises(HoldfastError, match="maxCost"):
        in_force(discover(), {}, {})


def test_the_file_of_the_how_to_is_accepted(scene: Scene) -> None:
    (own,) = blocks("docs/how-to/budgets.md", "yaml")
    (block,) = blocks("docs/reference/budgets.md", "yaml")
    configure(own)
    assert scene.budget.in_force().limits["stop"]["tokens"] == 5_000_000
    configure(block)
    held = scene.budget.in_force()
    assert [held.limits[level]["cost"] for level in held.limits] == [20, 60, 80]
    assert held.actions["alert"]["context"] == "force_checkpoint"
    assert held.pause == 45 * 60_000


def test_the_limits_and_their_sources_are_shown(scene: Scene, holdfast: Holdfast) -> None:
    configure("thresholds: {stop: {cost: 80}}")
    answer = holdfast("guard", "limits")
    assert answer.code == 0
    assert "$80.00 (.autopilot/config.yaml) hard_stop" in answer.out
    data = holdfast("guard", "limits", "--json").data
    assert data["limits"]["stop"]["cost"] == 80
    assert data["sources"]["stop"] == {
        "cost": str(CONFIG),
        "context": "protocol",
        "variance": "protocol",
        "errors": "protocol",
    }
    assert not Path(".autopilot/state").exists(), "looking writes nothing"
