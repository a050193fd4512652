"""Waves and dependencies: the states of plans, and the flowchart for Mermaid."""

from __future__ import annotations

import re

from holdfast.plans.rules import run_model
from holdfast.plans.rules.graph import State, build_graph, describe_wave, draw_mermaid, find_states
from holdfast.plans.rules.model import Plan
from holdfast.plans.rules.waves import WaveOrder
from tests.plans.samples import AUTO, DECISION, INTEGRATION, plan


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
    assert list(find_states(state).values()) == [
        "skipped",
        "done",
        "failed",
        "failed",
        "waiting",
        "running",
        "open",
    ]


def test_plans_that_wait_come_after_the_parallel_ones_of_their_wave() -> None:
    wave = build_graph(many())[0]["waves"][0]
    kinds = [node["autonomous"] for node in wave["plans"]]
    assert kinds == sorted(kinds, reverse=True)
    assert describe_wave(wave) == "18 in parallel, then 2 one by one"


def test_the_flowchart_has_each_plan_in_its_wave_and_each_dependency() -> None:
    states: dict[str, State] = {"1/01": "done", "3/06": "waiting"}
    assert list(draw_mermaid(build_graph(dashboard(), states))) == [
        "flowchart LR",
        '  subgraph phase1["Phase 1"]',
        '    subgraph phase1wave1["wave 1"]',
        '      plan1["✓ 01 Setup<br>1 task"]',
        "    end",
        "  end",
        '  subgraph phase2["Phase 3"]',
        '    subgraph phase2wave1["wave 1"]',
        '      plan2["· 01 User API<br>1 task"]',
        '      plan3["· 02 Settings API<br>1 task"]',
        '      plan4["· 03 Activity feed<br>1 task"]',
        "    end",
        '    subgraph phase2wave2["wave 2"]',
        '      plan5["· 04 Layout<br>1 task"]',
        '      plan6["· 05 Settings UI<br>1 task"]',
        "    end",
        '    subgraph phase2wave3["wave 3"]',
        '      plan7["◆ 06 Build 1<br>6 tasks<br>human-verify after task 4"]',
        "    end",
        "  end",
        "  plan2 --> plan5",
        "  plan3 --> plan5",
        "  plan4 --> plan5",
        "  plan3 --> plan6",
        "  plan1 --> plan6",
        "  plan5 --> plan7",
        "  plan6 --> plan7",
    ]


def test_hostile_text_is_only_text_in_the_flowchart() -> None:
    evil = (
        '"]; click plan1 "javascript:alert(1)" <script>alert(1)</script> #quot; `x` \x1b[2J \u202e'
    )
    lines = list(draw_mermaid(build_graph(WaveOrder([plan(f"# {evil}\n{AUTO}")]).plans)))
    (node,) = (line for line in lines if "plan1[" in line)
    assert node.count('"') == 2
    assert re.sub(r"#[0-9]+;|<br>", "", node).isprintable()
    assert not set("<>;#`") & set(re.sub(r"#[0-9]+;|<br>", "", node))
    assert "#60;script#62;" in node
