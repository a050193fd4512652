"""What speaks against plans before anything runs: in a file, and between files; all of it at once."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.plans.rules import model
from holdfast.plans.rules.document import examine
from holdfast.plans.rules.lint import findings
from holdfast.plans.rules.model import Document, PlanFinding
from tests.plans.samples import AUTO, DECISION, examined

PAUSE = "{type: human-verify, after_task: 1, what: %s}"
VERIFY = """\
<task type="checkpoint:human-verify">
  <what-built>The page</what-built>
  <how-to-verify>
    1. %s
  </how-to-verify>
  <resume-signal>Type "approved" or describe issues</resume-signal>
</task>
"""
READING = """\
<task type="auto">
  <name>Use</name>
  <action>Use it</action>
  <run>echo
    {{gate.%s}}</run>
</task>
"""


def lint(*documents: Document, **options: Any) -> list[PlanFinding]:
    return findings(documents, **options)


def errors(*documents: Document, **options: Any) -> list[str]:
    return [one["code"] for one in lint(*documents, **options) if one["level"] == "error"]


def test_sound_plans_have_no_findings() -> None:
    assert lint(examined(), examined(plan="02", depends_on='["01"]', path="two.md")) == []


def test_all_problems_of_all_files_come_at_once_by_file_and_line() -> None:
    broken = examined("<task type='auto'>", path="10.md", plan="10")
    circle = examined(path="2.md", plan="2", depends_on="[3]", wav="1")
    other = examined(path="3.md", plan="3", depends_on="[2, 9]")
    headless = examine("# no plan\n", "1.md")
    found = lint(broken, circle, other, headless)
    assert [(one["path"], one["line"], one["code"]) for one in found] == [
        ("1.md", 1, "NO_FRONTMATTER"),
        ("2.md", 5, "CYCLE"),
        ("2.md", 6, "UNKNOWN_FIELD"),
        ("3.md", 5, "UNKNOWN_PLAN"),
        ("10.md", 7, "BAD_XML"),
    ]


def test_a_dependency_in_the_same_or_a_later_wave_is_told_where_it_stands() -> None:
    first = examined(wave="2", path="a.md")
    (found,) = lint(first, examined(plan="02", wave="2", depends_on='["01"]', path="b.md"))
    assert (found["path"], found["line"], found["column"]) == ("b.md", 6, 1)
    assert found["code"] == "INVALID_WAVE"
    assert found["instead"] == "wave: 3, or leave wave out."


def test_two_files_of_one_id_are_told() -> None:
    (found,) = lint(examined(path="a.md"), examined(path="b.md"))
    assert (found["code"], found["path"]) == ("DUPLICATE_PLAN", "b.md")
    assert "a.md" in found["what"]


@pytest.mark.clause("AMB-PILOT-39")
def test_an_autonomous_plan_with_a_checkpoint_is_an_error() -> None:
    assert errors(examined(checkpoint=PAUSE % "It works")) == ["AUTONOMOUS"]
    assert errors(examined(AUTO + DECISION.format(attributes=""))) == ["AUTONOMOUS"]
    assert errors(examined(autonomous="false", checkpoint=PAUSE % "It works")) == []
    assert errors(examined(autonomous="false")) == []
    (warned,) = lint(examined(autonomous="false"))
    assert "a person is asked at its end" in warned["what"]


@pytest.mark.clause("PILOT-77", "AMB-PILOT-18")
@pytest.mark.parametrize(("number", "said"), [(0, 1), (1, 0), (2, 0), (3, 1)])
def test_after_task_out_of_range_is_a_finding(number: int, said: int) -> None:
    pause = f"{{type: human-verify, after_task: {number}, what: It works}}"
    found = errors(examined(tasks=2, autonomous="false", checkpoint=pause))
    assert found == ["AFTER_TASK"] * said


@pytest.mark.clause("PILOT-88")
def test_a_plan_that_says_otherwise_than_the_rules_is_warned_with_their_reason() -> None:
    (found,) = lint(examined(has_ui_changes="true"))
    assert (found["level"], found["code"]) == ("error", "PLAN_TYPE")
    assert "UI changes require visual verification" in found["what"]
    (other,) = lint(examined(autonomous="false", is_backend_only="true"))
    assert "autonomous: true. Backend verified by tests" in other["what"]
    (unseen,) = lint(examined(autonomous="false", is_integration="true"))
    assert (unseen["level"], unseen["code"]) == ("error", "PLAN_TYPE")
    assert "asks no person to look" in unseen["what"]
    agreed = {"autonomous": "false", "has_ui_changes": "true", "is_infrastructure": "true"}
    assert lint(examined(checkpoint=PAUSE % "It works", **agreed)) == []
    assert lint(examined(has_ui_changes="false", is_setup="true")) == []
    # The default by the phase's number is no reason to complain about a plan's own word.
    assert lint(examined(phase="9")) == []


def test_gates_that_break_the_automation_first_rule_are_found_where_they_stand() -> None:
    asks = AUTO + VERIFY % "Run `npm run dev` and look at http://localhost:3000"
    (found,) = lint(examined(asks, autonomous="false", path="a.md"))
    assert (found["code"], found["line"], found["column"]) == ("PILOT-27", 15, 5)
    assert found["instead"].startswith("Run it yourself")
    declared = examined(autonomous="false", checkpoint=PAUSE % "Please run npm test")
    assert errors(declared) == ["PILOT-27"]
    short = AUTO + (
        '<task type="checkpoint:decision"><decision>Which</decision><options>'
        '<option id="a">A</option><option id="b">B</option></options></task>'
    )
    assert errors(examined(short, autonomous="false")) == []
    assert set(errors(examined(short, autonomous="false"), strict=True)) == {"PILOT-14", "PILOT-15"}


def test_a_broken_gate_is_told_once_and_does_not_stop_the_others() -> None:
    broken = VERIFY.replace("what-built", "was-built") % "Look at it"
    body = AUTO + broken + VERIFY % "Run `make` first"
    assert errors(examined(body, autonomous="false")) == ["BAD_XML", "BAD_XML", "PILOT-27"]


@pytest.mark.parametrize(
    ("one", "other", "met"),
    [
        ("src/a.ts", "src/a.ts", "src/a.ts"),
        ("src/a.ts", "./src//a.ts", "src/a.ts"),
        ("src/", "src/deep/a.ts", "src/deep/a.ts"),
        ("src/*.ts", "src/a.ts", "src/a.ts"),
        (".", "src/a.ts", "src/a.ts"),
        ("src/a.ts", "src/b.ts", ""),
        ("src/a", "src/ab", ""),
    ],
)
def test_plans_that_run_at_the_same_time_do_not_change_the_same_file(
    one: str, other: str, met: str
) -> None:
    first = examined(files_modified=f'["{one}"]', path="a.md")
    second = {"plan": "02", "files_modified": f'["{other}"]', "path": "b.md"}
    found = lint(first, examined(**second))
    assert [item["code"] for item in found] == (["OVERLAP"] if met else [])
    assert met in "".join(item["what"] for item in found)
    assert all((item["path"], item["line"]) == ("b.md", 5) for item in found)
    # One after the other they may: another wave, a plan that waits for people, another phase.
    assert lint(first, examined(**second, wave="2")) == []
    assert lint(first, examined(**second, phase="2")) == []
    waits = {"autonomous": "false", "checkpoint": PAUSE % "It works"}
    assert lint(first, examined(**{**second, **waits})) == []


@pytest.mark.parametrize("name", ["/etc/passwd", "../other/a", "~/a", "src/../../a"])
def test_files_outside_of_the_project_are_told(name: str) -> None:
    assert errors(examined(files_modified=f'["{name}"]')) == ["OUTSIDE"]


def test_a_task_without_a_command_needs_an_agent() -> None:
    prose = '<task type="auto"><name>Write it</name><action>Write it well</action></task>'
    assert errors(examined(prose), agent=True) == []
    (found,) = lint(examined(AUTO + prose), agent=False)
    assert (found["code"], found["line"]) == ("NO_AGENT", 12)
    assert "plan.agent" in found["instead"]


def test_an_answer_is_asked_for_before_it_is_used() -> None:
    named = DECISION.format(attributes=' name="store"')
    asks = {"autonomous": "false"}
    sound = AUTO + named + READING % "store"
    assert errors(examined(sound, **asks)) == []
    assert (
        errors(examined(AUTO + DECISION.format(attributes="") + READING % "decision-1", **asks))
        == []
    )
    (early,) = lint(examined(READING % "store" + named, **asks))
    assert (early["code"], early["line"], early["column"]) == ("NO_ANSWER", 11, 5)
    (unknown,) = lint(examined(AUTO + named + READING % "stor", **asks))
    assert unknown["instead"] == "Did you mean store?"
    declared = examined(AUTO + READING % "human-verify-1", checkpoint=PAUSE % "It works", **asks)
    assert errors(declared) == []


def test_an_answer_of_another_plan_is_known_in_later_waves_only() -> None:
    asks = examined(AUTO + DECISION.format(attributes=' name="store"'), autonomous="false")
    uses = READING % "store"
    assert errors(asks, examined(uses, plan="02", depends_on='["01"]')) == []
    assert errors(asks, examined(uses, phase="2")) == []
    assert errors(asks, examined(uses, plan="02")) == ["NO_ANSWER"]
    unnamed = examined(AUTO + DECISION.format(attributes=""), autonomous="false")
    assert errors(unnamed, examined(READING % "decision-1", plan="02", wave="2")) == ["NO_ANSWER"]


def test_a_name_is_one_gates_and_so_is_its_variable() -> None:
    one = examined(AUTO + DECISION.format(attributes=' name="the-store"'), autonomous="false")
    other = AUTO + DECISION.format(attributes=' name="The_Store"')
    assert errors(one, examined(other, plan="02", autonomous="false")) == ["TWICE"]
    assert model.variable("the-store") == "HOLDFAST_GATE_THE_STORE"


def test_answers_are_data_in_a_command() -> None:
    answers = {"store": "a'; rm -rf /"}
    command = "use {{gate.store}} {{ gate.store }} {{gate.other}} {{x}}"
    quoted = "'a'\"'\"'; rm -rf /'"
    filled = model.fill(command, answers, quoted=True)
    assert filled == f"use {quoted} {quoted} {{{{gate.other}}}} {{{{x}}}}"
    assert model.fill("{{gate.store}}", answers, quoted=False) == "a'; rm -rf /"
    # An answer that looks like a reference is not filled in turn.
    assert model.fill("{{gate.a}}", {"a": "{{gate.b}}", "b": "x"}, quoted=False) == "{{gate.b}}"


@pytest.mark.parametrize(
    ("command", "quoted"),
    [
        ("echo {{gate.store}}", False),
        ("echo 'it' {{gate.store}} \"so\"", False),
        ('echo \\"{{gate.store}}', False),
        ("echo '\\' {{gate.store}}", False),
        ('echo "{{gate.store}}"', True),
        ("echo 'a {{gate.store}}'", True),
        ("echo \"it's {{gate.store}}", True),
    ],
)
def test_an_answer_between_quotes_is_told(command: str, quoted: bool) -> None:
    """It brings its own; between others a shell would read it as more than a word."""
    use = f'<task type="auto"><name>n</name><action>a</action><run>{command}</run></task>'
    body = AUTO + DECISION.format(attributes=' name="store"') + use
    assert errors(examined(body, autonomous="false")) == ["QUOTED"] * quoted
    # Without a command it is prose.
    prose = body.replace("run>", "verify>").replace("<verify>true</verify>", "<run>true</run>")
    assert errors(examined(prose, autonomous="false")) == []


def test_two_spellings_of_a_phase_are_two_phases_and_that_is_said() -> None:
    (found,) = lint(examined(phase="3"), examined(phase="03", path="b.md"))
    assert (found["code"], found["level"]) == ("TWO_SPELLINGS", "warning")


def test_must_haves_and_traits_are_accepted() -> None:
    traits = dict.fromkeys(("is_backend_only", "is_setup", "is_infrastructure"), "true")
    assert lint(examined(must_haves="{truths: [It works]}", is_final="false", **traits)) == []


@pytest.mark.parametrize(
    ("haves", "codes"),
    [
        ("{truths: [It works], artifacts: [a, {path: b/c}], key_links: [x], x-mine: 1}", []),
        ("{artefacts: [a]}", ["UNKNOWN_FIELD"]),
        ("{artifacts: [{file: a}]}", ["BAD_VALUE"]),
        ("{artifacts: ['']}", ["BAD_VALUE"]),
        ("{artifacts: a}", ["BAD_VALUE"]),
        ("{artifacts: [../a, {path: /etc/passwd}]}", ["OUTSIDE", "OUTSIDE"]),
        ("[a]", ["BAD_VALUE"]),
    ],
)
def test_must_haves_that_nobody_would_look_at_are_told(haves: str, codes: list[str]) -> None:
    assert errors(examined(must_haves=haves)) == codes


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("src/*.py", "src/a*", True),
        ("src/*.py", "src/*.md", False),
        ("src/*.py", "doc/*.py", False),
        ("a?c", "ab*", True),
        ("a?c", "ab", False),
        ("a[0-9]", "a?", True),
        ("*a*b", "b*a", False),
        ("*ab*", "*ba*", True),
        ("**", "x*y", True),
        ("a*b?c", "ab*c", True),
    ],
)
def test_two_patterns_that_can_match_the_same_file_overlap(
    one: str, other: str, meet: bool
) -> None:
    for first, second in ((one, other), (other, one)):
        plans = (
            examined(files_modified=f'["{first}"]', path="a.md"),
            examined(files_modified=f'["{second}"]', path="b.md", plan="02"),
        )
        assert errors(*plans) == (["OVERLAP"] if meet else [])
