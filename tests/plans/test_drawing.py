"""The picture of waves and dependencies: in a terminal of any width, and as SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from holdfast.kernel.text import width
from holdfast.plans.rules import drawing, run_model
from holdfast.plans.rules.drawing import svg
from holdfast.plans.rules.waves import WaveOrder
from tests.plans.samples import AUTO, DECISION, INTEGRATION, plan

if TYPE_CHECKING:
    from holdfast.plans.rules.drawing import Phase, State
    from holdfast.plans.rules.model import Plan

SVG = "{http://www.w3.org/2000/svg}"


def dashboard() -> list[Plan]:
    """The protocol's example: three in parallel, two after them, and one that waits for people."""
    from holdfast.plans.rules.document import read

    three = [
        plan(f"# {title}\n{AUTO}", phase="3", plan=f"0{number}")
        for number, title in enumerate(("User API", "Settings API", "Activity feed"), 1)
    ]
    layout = plan(f"# Layout\n{AUTO}", phase="3", plan="04", depends_on='["01", "02", "03"]')
    pages = plan(f"# Settings UI\n{AUTO}", phase="3", plan="05", depends_on='["02", "1/01"]')
    setup = plan(f"# Setup\n{AUTO}", phase="1")
    return WaveOrder([*three, layout, pages, setup, read(INTEGRATION, "06.md")]).plans


def many() -> list[Plan]:
    plans = []
    for number in range(1, 31):
        waits = number % 10 == 0
        needs = ", ".join(f'"{need:02}"' for need in range(1, number, 2)) if number > 20 else ""
        body = f"# Part {number} of a project with a long name\n{AUTO}"
        body += DECISION.format(attributes="") if waits else ""
        fields = {"plan": f"{number:02}", "depends_on": f"[{needs}]"}
        plans.append(plan(body, autonomous="false" if waits else "true", **fields))
    return WaveOrder(plans).plans


def shown(plans: list[Plan], columns: int = 80, states: Any = None) -> list[str]:
    return list(drawing.lines(drawing.graph(plans, states), columns))


def test_waves_and_dependencies_are_seen_at_a_glance() -> None:
    assert shown(dashboard(), 64) == [
        "Phase 1 · 1 plan in 1 wave " + "─" * 37,
        "  ● wave 1",
        "  └─ 01  Setup                                            1 task",
        "",
        "Phase 3 · 6 plans in 3 waves " + "─" * 35,
        "  ● wave 1  3 in parallel",
        "  ├─ 01  User API                                         1 task",
        "  ├─ 02  Settings API                                     1 task",
        "  ├─ 03  Activity feed                                    1 task",
        "  │",
        "  ● wave 2  2 in parallel",
        "  ├─ 04  Layout  ← 01 02 03                               1 task",
        "  ├─ 05  Settings UI  ← 02 1/01                           1 task",
        "  │",
        "  ● wave 3  1 alone",
        "  └─ 06  Build 1  ← 04 05                                6 tasks",
        "         ◆ human-verify after task 4",
    ]


@pytest.mark.parametrize("columns", [20, 24, 40, 64, 80, 100, 300])
def test_thirty_plans_stay_readable_in_any_width(columns: int) -> None:
    lines = shown(many(), columns)
    assert max(width(line) for line in lines) <= max(24, min(columns, 100))
    assert all(line == line.rstrip() for line in lines)
    for number in range(1, 31):
        assert sum(f"─ {number:02}  " in line for line in lines) == 1
    said = [word for line in lines for word in line.partition("←")[2].split()]
    assert "01" in said


def test_a_runs_states_are_shown_by_marks_not_by_colours_alone() -> None:
    states: dict[str, State] = {
        "1/01": "done",
        "3/01": "running",
        "3/02": "failed",
        "3/03": "skipped",
        "3/06": "waiting",
    }
    lines = shown(dashboard(), 80, states)
    marks = [line.split("─ ")[1][0] for line in lines if "─ " in line and "Phase" not in line]
    assert marks == ["✓", "▶", "✗", "–", "·", "·", "◆"]


def test_where_each_plan_of_a_run_stands_is_read_from_its_state() -> None:
    waits = AUTO + DECISION.format(attributes="")
    plans = [
        plan(waits, plan=name, autonomous="false")
        for name in ("skipped", "done", "failed", "refused", "asked", "begun", "open")
    ]
    state = run_model.apply(
        run_model.initial("run:r"),
        {  # type: ignore[typeddict-item]
            "kind": "run_begun",
            "at": "",
            "body": {
                "root": "",
                "options": {},
                "phases": [],
                "plans": [
                    {
                        "plan": one,
                        "autonomous": False,
                        "reason": "",
                        "skipped": ["1", "2"] if one["plan"] == "skipped" else [],
                    }
                    for one in plans
                ],
            },
        },
    )
    runs = state["plans"]
    runs["1/done"]["closed"] = True
    runs["1/failed"]["tasks"]["1"]["status"] = "failed"
    runs["1/refused"]["gates"]["2"]["status"] = "refused"
    runs["1/asked"]["gates"]["2"]["status"] = "asked"
    runs["1/begun"]["began_at"] = "2026-11-15T19:21:30Z"
    assert list(drawing.states_of(state).values()) == [
        "skipped",
        "done",
        "failed",
        "failed",
        "waiting",
        "running",
        "open",
    ]


def test_plans_that_wait_come_after_the_parallel_ones_of_their_wave() -> None:
    wave = drawing.graph(many())[0]["waves"][0]
    kinds = [node["autonomous"] for node in wave["plans"]]
    assert kinds == sorted(kinds, reverse=True)
    assert "18 in parallel, then 2 one by one" in shown(many())[1]


def test_the_svg_is_whole_and_says_in_words_what_it_shows() -> None:
    drawn: list[Phase] = drawing.graph(dashboard(), {"3/06": "waiting"})
    root = ElementTree.fromstring(svg(drawn, "My <plans> & more"))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "My <plans> & more"
    assert root.get("role") == "img"
    named = (root.get("aria-labelledby") or "").split()
    assert {one.get("id") for one in root if one.get("id")} == set(named)
    groups = root.findall(f"{SVG}g")
    assert len(groups) == 7
    said = [group.findtext(f"{SVG}title") for group in groups]
    assert said[-1] == "3/06; Build 1; waiting; human-verify after task 4; after 3/04, 3/05"
    assert len(root.findall(f"{SVG}path[@class='edge']")) == 6
    style = root.findtext(f"{SVG}style") or ""
    assert "@media (prefers-color-scheme:dark)" in style
    # In a page it must not change anything but itself.
    assert all(
        name.strip().startswith(".holdfast-graph ")
        for rule in style.replace("@media (prefers-color-scheme:dark){", "").split("}")
        for name in rule.partition("{")[0].split(",")
        if name.strip()
    )


def test_hostile_text_is_only_text_in_both_pictures() -> None:
    evil = "<script>alert(1)</script> &amp; \x1b[2J\x07 ]]> \u202e"
    one = plan(f"# {evil}\n{AUTO}")
    drawn = drawing.graph(WaveOrder([one]).plans)
    picture = svg(drawn, evil)
    assert "<script" not in picture
    ElementTree.fromstring(picture)
    for text in (picture, *drawing.lines(drawn, 80)):
        assert not set("\x1b\x07\u202e") & set(text)


def test_a_picture_of_one_wave_with_many_plans_and_of_many_waves() -> None:
    chain = [plan(plan=str(number), depends_on=f"[{number - 1 or ''}]") for number in range(1, 60)]
    for plans in (WaveOrder(chain).plans, many()):
        root = ElementTree.fromstring(svg(drawing.graph(plans)))
        assert len(root.findall(f"{SVG}g")) == len(plans)
