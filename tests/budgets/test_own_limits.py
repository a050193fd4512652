"""Limits that people ask for beside the protocol's: turns, minutes at work, tokens, one subagent's share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.budgets.hooks import has_budget
from holdfast.budgets.rules.thresholds import DEFAULTS, EXTRA_TYPES, QUANTITIES
from holdfast.clients.claude.sessions import folder_of
from holdfast.kernel import clock
from tests.budgets.world import NOON, Scene, configure
from tests.session import world as session_world
from tests.session.world import Holdfast

holdfast = session_world.holdfast


def line(minute: float, kind: str, number: int, tokens: int = 0) -> dict[str, Any]:
    at = clock.precise(NOON + int(minute * clock.MINUTE))
    if kind == "user":
        return {
            "type": "user",
            "timestamp": at,
            "message": {"role": "user", "content": f"do {number}"},
        }
    usage = {"input_tokens": tokens, "output_tokens": 0}
    said = {"id": f"m{number}", "model": "claude-opus-4-5", "role": "assistant", "content": []}
    return {"type": "assistant", "timestamp": at, "message": {**said, "usage": usage}}


def write(root: Path, name: str, lines: list[dict[str, Any]]) -> None:
    path = Path(folder_of(str(root))) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))


@pytest.fixture
def worked(scene: Scene) -> Scene:
    """Two turns, six minutes at work and a long pause, 1,000 tokens, of which 600 a subagent's."""
    write(
        scene.root,
        "s1.jsonl",
        [
            line(0, "user", 1),
            line(0, "assistant", 1, 100),
            line(1, "assistant", 2, 200),
            line(60, "user", 2),
            line(60, "assistant", 3, 100),
        ],
    )
    write(scene.root, "s1/subagents/agent-a1.jsonl", [line(1, "assistant", 9, 600)])
    return scene


def test_they_limit_nothing_until_a_person_sets_one(worked: Scene) -> None:
    report = worked.check()
    assert report["verdict"] == "go"
    assert not set(EXTRA_TYPES) & set(report["values"])
    assert not any(set(EXTRA_TYPES) & set(numbers) for numbers in DEFAULTS.values())


@pytest.mark.parametrize(
    ("type", "value"), [("turns", 2), ("minutes", 6), ("tokens", 1000), ("subagent", 60.0)]
)
def test_three_levels_and_an_acknowledgment(worked: Scene, type: str, value: float) -> None:
    def at(warning: float, alert: float, stop: float) -> str:
        configure(
            f"thresholds:\n  warning: {{{type}: {warning}}}\n  alert: {{{type}: {alert}}}\n"
            f"  stop: {{{type}: {stop}}}\n"
        )
        return worked.check()["verdict"]

    whole = int(value)
    assert at(whole + 1, whole + 2, whole + 3) == "go"
    assert worked.check()["values"][type] == value
    assert at(whole, whole + 1, whole + 2) == "go"
    assert worked.state["levels"][type] == "warning"
    assert at(1, whole, whole + 1) == "wait"
    assert list(worked.state["pending"]) == [type]
    worked.ack(type)
    assert worked.check()["verdict"] == "go", "acknowledged"
    assert at(1, 1, whole) == "stop"
    halt = worked.state["stopped"]
    assert halt is not None
    assert halt["type"] == type


def test_a_stop_alone_is_enough(worked: Scene) -> None:
    configure("thresholds:\n  stop: {turns: 2}\n")
    assert worked.check()["verdict"] == "stop"


@pytest.mark.parametrize(
    ("type", "text", "number"),
    [
        ("minutes", "2h", 120),
        ("minutes", "90", 90),
        ("tokens", "500k", 500_000),
        ("tokens", "2M", 2_000_000),
    ],
)
def test_amounts_as_people_write_them(type: str, text: str, number: float) -> None:
    assert QUANTITIES[type].read(text) == number


def test_a_look_arms_nothing_and_limits_says_so(
    repository: Path, holdfast: Holdfast, scene: Scene
) -> None:
    assert holdfast("guard", "check", "--cost", "1").code == 0
    assert not has_budget(scene.workspace), "hooks hold no agent to the protocol's numbers"
    told = holdfast("guard", "limits")
    assert "a look arms nothing" in told.out
    assert holdfast("guard", "limits", "--json").data["is_set"] is False
    configure("thresholds:\n  stop: {turns: 40}\n")
    assert has_budget(scene.workspace)
    told = holdfast("guard", "limits")
    assert "a look arms nothing" not in told.out
    assert "Turns" in told.out
    assert "No limit is set for minutes, tokens, subagent, quota." in told.out
