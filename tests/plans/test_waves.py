"""In which order plans run: phases, waves in a phase, and dependencies that allow it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.plans.rules.model import Plan
from holdfast.plans.rules.waves import WaveOrder, natural, phases
from tests.plans.samples import plan

SOME = plan()


def order(*lines: str) -> WaveOrder:
    """Each line: `phase/plan[@wave]: dependency dependency`."""
    plans: list[Plan] = []
    for line in lines:
        head, _, needs = line.partition(":")
        id, _, wave = head.partition("@")
        phase, _, name = id.partition("/")
        plans.append(
            {
                **SOME,
                "id": id,
                "phase": phase,
                "plan": name,
                "wave": int(wave) if wave else None,
                "depends_on": needs.split(),
            }
        )
    return WaveOrder(plans)


def waves_of(found: WaveOrder) -> dict[str, int | None]:
    return {one["id"]: one["wave"] for one in found.plans}


def codes(found: WaveOrder) -> list[str]:
    return [one["code"] for one in found.troubles]


@pytest.mark.clause("PILOT-38")
def test_a_plan_without_a_wave_comes_after_the_latest_of_its_dependencies() -> None:
    found = order("1/01:", "1/02: 01", "1/03@4: 02", "1/04: 03 01", "1/05:", "2/01: 1/04")
    assert not found.troubles
    assert waves_of(found) == {
        "1/01": 1,
        "1/05": 1,
        "1/02": 2,
        "1/03": 4,
        "1/04": 5,
        "2/01": 1,
    }


@pytest.mark.clause("AMB-PILOT-19")
def test_phases_come_one_after_the_other_and_waves_are_inside_a_phase() -> None:
    found = order("10/01:", "2/02@2:", "2/01:", "2/10@2:", "2/9@2:")
    assert [
        (phase, [[one["plan"] for one in wave] for wave in waves])
        for phase, waves in phases(found.plans)
    ] == [("2", [["01"], ["02", "9", "10"]]), ("10", [["01"]])]
    late = order("10/01:", "2/01@2:")
    assert [phase for phase, _ in phases(late.plans)] == ["2", "10"], (
        "whatever the waves are called"
    )


def test_a_dependency_is_of_the_same_phase_or_the_only_one_of_its_name() -> None:
    found = order("1/01:", "1/02:", "2/01:", "2/03: 01 02", "3/04: 1/01 03")
    needs = {one["id"]: one["depends_on"] for one in found.plans}
    assert needs["2/03"] == ["2/01", "1/02"]
    assert needs["3/04"] == ["1/01", "2/03"]
    (several,) = order("1/01:", "2/01:", "3/02: 01").troubles
    assert (several["code"], several["instead"]) == ("UNKNOWN_PLAN", "Say which: 1/01, 2/01.")
    (unknown,) = order("1/06:", "1/07: 6").troubles
    assert unknown["code"] == "UNKNOWN_PLAN"
    assert unknown["instead"].startswith("Did you mean 06?")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("1/01@2:", "1/02@2: 01"), "INVALID_WAVE"),
        (("1/01@3:", "1/02@2: 01"), "INVALID_WAVE"),
        (("1/01: 2/01", "2/01:"), "INVALID_WAVE"),
        (("1/01: 01",), "CYCLE"),
        (("1/01: 02", "1/02: 01"), "CYCLE"),
        (("1/01@1: 02", "1/02@2: 03", "1/03@3: 01"), "CYCLE"),
    ],
)
def test_a_dependency_must_be_in_an_earlier_wave(lines: tuple[str, ...], code: str) -> None:
    assert codes(order(*lines)) == [code]


def test_every_circle_is_told_once_and_what_hangs_on_it_is_not() -> None:
    found = order("1/a: b", "1/b: a", "1/c: a d", "1/d: c", "1/e: d", "1/f:", "1/g: f")
    assert [one["what"].partition(": ")[2] for one in found.troubles] == [
        "1/a → 1/b → 1/a",
        "1/c → 1/d → 1/c",
    ]
    assert waves_of(found)["1/g"] == 2


def test_a_long_chain_is_no_fault() -> None:
    lines = [f"1/{number}: {number - 1}" for number in range(2, 1500)]
    found = order("1/1:", *lines)
    assert not found.troubles
    assert waves_of(found)["1/1499"] == 1499
    circle = order(f"1/1: {1499}", *lines)
    assert codes(circle) == ["CYCLE"]
    assert "…" in circle.troubles[0]["what"]


def test_natural_order_counts_numbers_as_numbers() -> None:
    names = ["2", "10", "1", "a10", "a9", "03-b", "3-a", "3", "03", "B", "b"]
    assert sorted(names, key=natural) == [
        "1", "2", "03", "3", "3-a", "03-b", "10", "a9", "a10", "B", "b",
    ]  # fmt: skip
    assert sorted(["9" * 5000, "1"], key=natural)[0] == "1"


@given(st.integers(1, 12), st.randoms(use_true_random=False), st.data())
def test_waves_hold_whatever_the_order_of_the_files(
    count: int, shuffler: random.Random, data: st.DataObject
) -> None:
    """Against the plain rule: one after the latest dependency, else one."""
    needs = {
        number: data.draw(st.sets(st.integers(1, number - 1), max_size=3)) if number > 1 else set()
        for number in range(1, count + 1)
    }
    expected: dict[int, int] = {}
    for number in range(1, count + 1):
        expected[number] = max((expected[need] for need in needs[number]), default=0) + 1
    lines = [f"1/{number}: {' '.join(map(str, needs[number]))}" for number in needs]
    shuffler.shuffle(lines)
    found = order(*lines)
    assert not found.troubles
    assert waves_of(found) == {f"1/{number}": wave for number, wave in expected.items()}
