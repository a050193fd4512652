"""The verdict: what an agent is up to, on which signals it rests, and whether it may be replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as draw

from holdfast.fleet.rules.verdict import liveness, may_replace, verdict
from holdfast.kernel.clock import HOUR, MINUTE, stamp
from tests.fleet.examples import NOW

if TYPE_CHECKING:
    from holdfast.fleet.rules.verdict import Signals, Verdict


def judged(age: int, status: str = "IN_PROGRESS", **seen: Any) -> Verdict:
    """The verdict on an agent whose heartbeat is so many minutes old."""
    signals: Signals = {
        "heartbeat": f"{age} min",
        "process": "unknown",
        "worktree": None,
        "transcript": None,
        "activity": None,
        "busy_until": "",
        "doing": "",
        "waiting": False,
        "unstarted": False,
        "unbeaten": False,
        **seen,  # type: ignore[typeddict-item]
    }
    return verdict(liveness(age, status), status, signals, NOW)


def minutes_ago(minutes: int) -> int:
    return NOW - minutes * MINUTE


@pytest.mark.parametrize(("age", "word"), [(0, "waiting"), (60, "waiting"), (61, "dead")])
def test_an_agent_that_a_command_started_waits_for_its_first_beat(age: int, word: str) -> None:
    found = judged(age, process="gone", unbeaten=True)
    assert found["verdict"] == word
    assert (found["because"] == ["started, no beat yet"]) is (word == "waiting")
    assert judged(age, process="gone")["verdict"] == ("quiet" if age < 61 else "dead")


@pytest.mark.parametrize(
    ("age", "word"), [(0, "active"), (30, "active"), (31, "slow"), (60, "slow"), (61, "quiet")]
)
def test_by_the_clock_alone_nobody_is_dead(age: int, word: str) -> None:
    found = judged(age)
    assert found["verdict"] == word
    assert found["because"] == [f"heartbeat {age} min"]
    assert not may_replace(found)


@pytest.mark.parametrize(
    ("seen", "because"),
    [
        ({"process": "gone"}, ["heartbeat 61 min", "process gone"]),
        ({"worktree": minutes_ago(61)}, ["heartbeat 61 min", "no change for 61 min"]),
        ({"transcript": minutes_ago(90)}, ["heartbeat 61 min", "no change for 90 min"]),
    ],
)
def test_two_independent_signals_declare_an_agent_dead(
    seen: dict[str, Any], because: list[str]
) -> None:
    found = judged(61, **seen)
    assert found["verdict"] == "dead"
    assert found["because"] == found["dead_signals"] == because
    assert may_replace(found)


def test_work_tree_and_transcript_are_one_signal() -> None:
    """Each alone says the same: nothing was written."""
    found = judged(45, worktree=minutes_ago(300), transcript=minutes_ago(200))
    assert found["dead_signals"] == ["no change for 200 min"]
    assert found["verdict"] == "slow"
    assert not may_replace(found)


@pytest.mark.parametrize(("minutes", "says_dead"), [(60, False), (61, True)])
def test_no_change_counts_when_it_is_more_than_sixty_minutes(minutes: int, says_dead: bool) -> None:
    found = judged(61, worktree=minutes_ago(minutes))
    assert (found["verdict"] == "dead") is says_dead
    assert may_replace(found) is says_dead


@pytest.mark.parametrize(("minutes", "lives"), [(0, True), (30, True), (31, False), (45, False)])
def test_a_change_within_thirty_minutes_is_life(minutes: int, lives: bool) -> None:
    found = judged(61, worktree=minutes_ago(minutes), process="gone")
    assert bool(found["life_signals"]) is lives
    assert may_replace(found) is not lives


@pytest.mark.parametrize(
    "life",
    [
        {"process": "alive", "worktree": minutes_ago(500)},
        {"process": "gone", "transcript": minutes_ago(3), "worktree": minutes_ago(500)},
        {"process": "gone", "worktree": minutes_ago(500), "busy_until": stamp(NOW + MINUTE)},
    ],
)
def test_one_sign_of_life_forbids_a_replacement(life: dict[str, Any]) -> None:
    found = judged(500, **life)
    assert found["verdict"] != "dead"
    assert not may_replace(found)


def test_the_agents_fresh_heartbeat_is_a_sign_of_life() -> None:
    found = judged(5, process="gone", worktree=minutes_ago(500))
    assert found["verdict"] == "quiet"
    assert found["because"] == ["process gone", "no change for 500 min", "heartbeat 5 min"]
    assert not may_replace(found)


def test_stale_with_a_living_process_is_slow() -> None:
    found = judged(70, process="alive")
    assert found["verdict"] == "slow"
    assert found["because"] == ["process alive", "heartbeat 70 min"]


@pytest.mark.parametrize("age", [0, 31, 61, 200])
def test_busy_until_its_time_and_by_the_clock_afterwards(age: int) -> None:
    before = judged(age, busy_until=stamp(NOW + 1000), doing="cargo build")
    assert before["verdict"] == "busy"
    assert before["because"][-1 if age <= 30 else 0] == "busy until 14:30 UTC: cargo build"
    for passed in (NOW, NOW - 1000):
        after = judged(age, busy_until=stamp(passed), doing="cargo build")
        assert after["verdict"] == judged(age)["verdict"]


def test_busy_is_not_said_of_a_process_that_is_gone() -> None:
    found = judged(10, process="gone", busy_until=stamp(NOW + HOUR))
    assert found["verdict"] == "quiet"
    assert found["because"][0] == "process gone"


@pytest.mark.parametrize(
    ("status", "seen", "word"),
    [
        ("BLOCKED", {}, "blocked"),
        ("WAITING", {}, "waiting"),
        ("PAUSED", {}, "waiting"),
        ("IN_PROGRESS", {"waiting": True}, "waiting"),
    ],
)
@pytest.mark.parametrize("age", [0, 45, 90])
def test_what_an_agent_declares(status: str, seen: dict[str, Any], word: str, age: int) -> None:
    assert judged(age, status, **seen)["verdict"] == word
    dead = judged(90, status, **seen, process="gone")
    assert dead["verdict"] == "dead", "waiting and blocked agents are watched as all others are"


@pytest.mark.clause("AMB-FLEET-04")
def test_a_complete_agent_is_done_whatever_else_is_seen() -> None:
    found = judged(5000, "COMPLETE", process="gone", worktree=minutes_ago(5000))
    assert found["verdict"] == "done"
    assert found["because"][0] == "complete"


@pytest.mark.clause("AMB-FLEET-20")
def test_a_corrupted_checkpoint_is_said() -> None:
    signals: Signals = {
        "heartbeat": "",
        "process": "alive",
        "worktree": None,
        "transcript": None,
        "activity": None,
        "busy_until": "",
        "doing": "",
        "waiting": False,
        "unstarted": False,
        "unbeaten": False,
    }
    found = verdict("CORRUPTED", "", signals, NOW)
    assert found["verdict"] == "corrupted"
    assert not may_replace(found)


def test_a_laptop_that_slept_for_nine_hours() -> None:
    """All heartbeats are nine hours old, and so is the last change; the processes go on."""
    found = judged(540, process="alive", worktree=minutes_ago(540))
    assert found["verdict"] == "slow"
    assert not may_replace(found)


@pytest.mark.parametrize("ahead", [31, 600, 60 * 24 * 365])
def test_a_change_in_the_future_says_nothing(ahead: int) -> None:
    found = judged(61, worktree=minutes_ago(-ahead), process="gone")
    assert (found["life_signals"], len(found["dead_signals"])) == ([], 2)
    found = judged(61, worktree=minutes_ago(-ahead))
    assert found["verdict"] == "quiet", "and it is no sign of death either"


def test_a_clock_that_is_a_little_ahead_is_believed() -> None:
    found = judged(61, worktree=minutes_ago(-2))
    assert found["life_signals"] == ["changed 0 min ago"]


@pytest.mark.parametrize("text", ["", "never", "15:40", "2026-99-99T00:00:00Z"])
def test_a_strange_busy_until_says_nothing(text: str) -> None:
    assert judged(90, busy_until=text)["verdict"] == "quiet"


@given(
    age=draw.integers(0, 2000),
    status=draw.sampled_from(["IN_PROGRESS", "WAITING", "BLOCKED", "PAUSED", ""]),
    process=draw.sampled_from(["alive", "gone", "unknown"]),
    worktree=draw.none() | draw.integers(-2000, 2000),
    transcript=draw.none() | draw.integers(-2000, 2000),
    busy=draw.none() | draw.integers(-200, 200),
    waiting=draw.booleans(),
)
def test_no_signals_replace_an_agent_on_age_alone_or_against_a_sign_of_life(
    age: int,
    status: str,
    process: str,
    worktree: int | None,
    transcript: int | None,
    busy: int | None,
    waiting: bool,
) -> None:
    found = judged(
        age,
        status,
        process=process,
        worktree=None if worktree is None else minutes_ago(worktree),
        transcript=None if transcript is None else minutes_ago(transcript),
        busy_until="" if busy is None else stamp(minutes_ago(-busy)),
        waiting=waiting,
    )
    assert may_replace(found) is (found["verdict"] == "dead")
    assert found["because"], "every verdict names what it rests on"
    if may_replace(found):
        assert process != "alive"
        assert age > 30
        assert (process == "gone") or (worktree is not None or transcript is not None)
        assert busy is None or busy <= 0
