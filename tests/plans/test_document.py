"""Plan files: what they say is read as it is spelled, and all that is wrong is told with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.errors import Usage
from holdfast.plans.rules import document
from holdfast.plans.rules.document import examine, read
from tests.plans import samples
from tests.plans.samples import AUTO, DECISION, INTEGRATION, examined, plan, text


def told(body: str = "", **fields: Any) -> list[tuple[str, int, int]]:
    """Code, line and column of every error of a file."""
    return [
        (one["code"], one["line"], one["column"])
        for one in examined(body, **fields)["problems"]
        if one["level"] == "error"
    ]


def codes(body: str = "", **fields: Any) -> list[str]:
    return [code for code, _, _ in told(body, **fields)]


@pytest.mark.clause("PILOT-38", "AMB-PILOT-36")
def test_the_frontmatter_is_read_and_ids_stay_as_they_are_spelled() -> None:
    found = read(INTEGRATION, "06.md")
    assert (found["id"], found["phase"], found["plan"], found["wave"]) == ("3/06", "3", "06", 3)
    assert found["autonomous"] is False
    assert found["checkpoint"] == {
        "type": "human-verify",
        "after_task": 4,
        "what": "Integration tests pass, dashboard functional",
    }
    assert found["depends_on"] == ["04", "05"]
    # YAML 1.1 makes 6 of 06, 8 of 010, and true of yes.
    for spelled in ("06", "010", "08", "1.10", "yes", "0x10", "1_000", "2026-01-29"):
        assert plan(plan=spelled)["plan"] == spelled
        assert plan(depends_on=f"[{spelled}]")["depends_on"] == [spelled]


@pytest.mark.clause("PILOT-42")
def test_an_autonomous_plan_has_a_checkpoint_of_null_and_waits_nowhere() -> None:
    for null in ("null", "~", ""):
        found = plan(checkpoint=null)
        assert found["autonomous"] is True
        assert found["checkpoint"] is None
        assert [task["gate"] for task in found["tasks"]] == [None]


def test_the_first_heading_is_the_title() -> None:
    assert plan(f"Some words.\n\n##  The *sign-in*  page ##\n# Not this\n{AUTO}")["title"] == (
        "The *sign-in* page"
    )
    assert plan(AUTO + "# Behind the tasks\n")["title"] == ""
    assert plan(f"#hashtag\n{AUTO}")["title"] == ""


def test_what_is_optional_may_be_absent() -> None:
    found = plan(autonomous=None)
    assert (found["wave"], found["autonomous"], found["depends_on"]) == (None, None, [])
    assert (found["files_modified"], found["must_haves"], found["traits"]) == ([], {}, {})


def test_a_task_is_read_with_its_command_and_its_bounds() -> None:
    (task,) = plan(
        '<task type="auto" timeout="5min" needs="gpu=1 memory=2.5">\n'
        "<name>Train</name><action>Train the model</action>\n"
        "<run><![CDATA[test 1 -lt 2 && echo '</task>' > out]]></run>\n"
        "<verify>test -s out</verify></task>"
    )["tasks"]
    assert (task["key"], task["number"], task["name"]) == ("1", 1, "Train")
    assert task["run"] == "test 1 -lt 2 && echo '</task>' > out"
    assert (task["verify"], task["timeout"]) == ("test -s out", 300_000)
    assert task["needs"] == {"gpu": 1.0, "memory": 2.5}


def test_must_haves_and_fields_of_ones_own_are_accepted() -> None:
    found = plan(
        must_haves='{truths: ["It starts"], artifacts: [{path: a.py, min_lines: 50}]}',
        **{"x-ticket": "KELP-1"},
    )
    assert found["must_haves"]["artifacts"] == [{"path": "a.py", "min_lines": "50"}]


@pytest.mark.clause("AMB-PILOT-18")
def test_a_checkpoint_without_a_task_asks_what_the_frontmatter_says() -> None:
    tasks = read(INTEGRATION, "06.md")["tasks"]
    assert [task["key"] for task in tasks] == ["1", "2", "3", "4", "checkpoint", "5", "6"]
    gate = tasks[4]["gate"]
    assert gate is not None
    assert gate["type"] == "human-verify"
    assert gate["title"] == "Phase 3, Plan 06"
    assert gate["items"] == ["Integration tests pass, dashboard functional"]
    assert codes(checkpoint="{type: decision, after_task: 1, what: Which}") == ["CHECKPOINT"]
    assert codes(checkpoint="{type: human-verify, after_task: 1}") == ["MISSING_FIELD"]


@pytest.mark.clause("AMB-PILOT-18", "PILOT-77")
@pytest.mark.parametrize("number", ["0", "3", "-1", "two", "1.5", "99999999999", "[1]", ""])
def test_after_task_is_one_of_the_auto_tasks_counted_from_one(number: str) -> None:
    pause = "{type: human-verify, after_task: %s, what: It works}"
    for good, keys in (("1", ["1", "checkpoint", "2"]), ("2", ["1", "2", "checkpoint"])):
        found = plan(tasks=2, autonomous="false", checkpoint=pause % good)
        assert [task["key"] for task in found["tasks"]] == keys
    assert codes(tasks=2, autonomous="false", checkpoint=pause % f'"{number}"') == ["AFTER_TASK"]


@pytest.mark.clause("AMB-PILOT-39")
def test_after_task_counts_auto_tasks_and_agrees_with_a_checkpoint_in_the_xml() -> None:
    body = AUTO + DECISION.format(attributes="") + AUTO
    alone = plan(body, autonomous="false")
    assert [(task["key"], task["number"]) for task in alone["tasks"]] == [
        ("1", 1),
        ("2", 0),
        ("3", 2),
    ]
    both = plan(body, autonomous="false", checkpoint="{type: decision, after_task: 1, what: x}")
    assert [task["key"] for task in both["tasks"]] == ["1", "2", "3"]
    named = plan(body, autonomous="false", checkpoint="decision")
    assert named["checkpoint"] == {"type": "decision", "after_task": 1, "what": ""}
    for other in (
        "{type: decision, after_task: 2}",
        "{type: human-verify, after_task: 1, what: x}",
    ):
        assert codes(body, autonomous="false", checkpoint=other) == ["CHECKPOINT"]
    assert codes(AUTO, checkpoint="decision") == ["CHECKPOINT"]
    again = body + DECISION.format(attributes="")
    second = "{type: decision, after_task: 2, what: x}"
    assert codes(again, autonomous="false", checkpoint=second) == []


def test_a_gate_is_called_as_its_author_says_or_after_its_type_and_number() -> None:
    body = "".join([AUTO, *(DECISION.format(attributes=one) for one in (' name="auth"', "", ""))])
    tasks = plan(body, autonomous="false")["tasks"]
    assert [task["gate_name"] for task in tasks] == ["", "auth", "decision-2", "decision-3"]
    for bad in ("a b", "1st", "", "ä", "decision-1", "a.b", "Human_Verify-2"):
        broken = AUTO + DECISION.format(attributes=f' name="{bad}"')
        assert codes(broken, autonomous="false") == ["BAD_VALUE"]


def test_every_problem_is_told_at_once_with_its_line_and_column() -> None:
    written = """\
---
phase: 3
plan: 06
wav: 3
autonomous: maybe
checkpoint: {type: human-verfy, after_task: 1, what: x}
depends_on: "04"
---
<task type="auto">
  <name>Build</name>
  <veriffy>true</veriffy>
</task>
  <task type="auto" timout="3">
    <name>Test</nam>
    <action>Test it</action>
  </task>
<task type="auto">
  <name>Ship</name><action>a & b</action>
</task>
<task type="auto">
  <name>Last</name>
  <action>Say it
"""
    found = examine(written, "p.md")["problems"]
    assert [(one["line"], one["column"], one["code"]) for one in found] == [
        (4, 1, "UNKNOWN_FIELD"),
        (5, 1, "BAD_VALUE"),
        (6, 14, "BAD_VALUE"),
        (7, 1, "BAD_VALUE"),
        (9, 1, "BAD_XML"),
        (11, 3, "UNKNOWN_FIELD"),
        (14, 17, "BAD_XML"),
        (18, 31, "BAD_XML"),
        (22, 3, "BAD_XML"),
    ]
    said = {one["line"]: f"{one['what']}. {one['instead']}" for one in found}
    assert "Did you mean wave?" in said[4]
    assert "Did you mean human-verify?" in said[6]
    assert "Did you mean verify?" in said[11]
    assert "does not close <name> of line 14" in said[14]
    assert said[22] == "<action> is not closed. Close it with </action>."
    with pytest.raises(Usage, match=r"^p\.md:4:1: there is no field 'wav' \(and 8 more\)$"):
        read(written, "p.md")


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("", "NO_FRONTMATTER"),
        ("# A title\n", "NO_FRONTMATTER"),
        ("---\nphase: 1\n", "NO_FRONTMATTER"),
        ("---\n---\n" + AUTO, "NOT_YAML"),
        ("---\n- a\n---\n" + AUTO, "NOT_YAML"),
        ("---\nphase: [\n---\n" + AUTO, "NOT_YAML"),
        ("---\nphase: 1\nplan: 1\nphase: 2\n---\n" + AUTO, "TWICE"),
        ("---\nphase: 1\nplan: a/b\n---\n" + AUTO, "BAD_VALUE"),
        ("---\nphase: ..\nplan: 1\n---\n" + AUTO, "BAD_VALUE"),
        ("---\nphase: 1\n---\n" + AUTO, "MISSING_FIELD"),
        ("---\nphase: 1\nplan: 1\nwave: 0\n---\n" + AUTO, "BAD_VALUE"),
        ("---\nphase: 1\nplan: 1\nwave: 1.5\n---\n" + AUTO, "BAD_VALUE"),
        ("---\nphase: 1\nplan: 1\nhas_ui_changes: some\n---\n" + AUTO, "BAD_VALUE"),
        ("---\nphase: 1\nplan: 1\n---\nDo something.\n", "NO_TASK"),
        ("---\nphase: 1\nplan: a\x00b\n---\n" + AUTO, "NOT_YAML"),
        ("---\nphase: &a 1\nplan: *a\n---\n" + AUTO, "NOT_YAML"),
        ("---\nx-a: " + "[" * 5000 + "\n---\n" + AUTO, "NOT_YAML"),
        ("---\nphase: 1\nplan: 1\nx-a: " + "b" * 70_000 + "\n---\n" + AUTO, "TOO_LARGE"),
        (samples.text() + "a" * 1_000_001, "TOO_LARGE"),
    ],
)
def test_what_is_no_plan_is_refused(written: str, code: str) -> None:
    assert code in [one["code"] for one in examine(written, "p.md")["problems"]]
    with pytest.raises(Usage, match=r"^p\.md:"):
        read(written, "p.md")


def test_a_bomb_of_aliases_is_not_expanded() -> None:
    levels = "\n".join(f"x-{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    found = examine(f"---\nphase: 1\nplan: 1\nx-0: &a0 [lol]\n{levels}\n---\n{AUTO}", "p.md")
    assert [one["code"] for one in found["problems"]] == ["NOT_YAML"]
    assert found["problems"][0]["line"] == 4


def test_entities_and_document_types_are_refused() -> None:
    body = '<task type="auto"><name>&lol;</name><action>x</action></task>'
    assert codes(body) == ["BAD_XML"]
    declared = '<!DOCTYPE x [<!ENTITY lol "lol">]>\n' + body
    assert codes(declared) == ["BAD_XML"]


def test_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    unix = text("<task type='auto'><name>A</name><action>B</action>\n<run>one\ntwo</run></task>")
    found = read(unix, "p.md")
    assert read("\ufeff" + unix.replace("\n", "\r\n"), "p.md") == found
    assert read(unix.replace("\n", "\r"), "p.md") == found
    assert found["tasks"][0]["run"] == "one\ntwo"
    assert document.digest(unix) == found["digest"] != document.digest(unix + " ")


def test_comments_code_and_prose_are_no_tasks() -> None:
    body = f"""\
Each `<task>` runs. `<!--` opens a comment.
<!-- {AUTO} -->
```xml
{AUTO}
```
<tasks>
{AUTO}
</tasks>
<task-list>none</task-list>
"""
    document = examined(body)
    assert document["plan"] is not None
    assert len(document["plan"]["tasks"]) == 1
    assert [(one["code"], one["level"]) for one in document["problems"]] == [("EXAMPLE", "warning")]
    assert codes(AUTO + "<!-- for later\n" + AUTO) == ["BAD_XML"]
    assert codes(f"```\n{AUTO}\n") == ["NO_TASK"]


@pytest.mark.parametrize(
    "body",
    [
        "<task>" * 100_000,
        "<task><!--" * 60_000,
        "<task " * 100_000,
        '<task type="auto">' + "<b>" * 50_000,
        "<!--" * 200_000,
        "```\n" * 200_000,
        "<task type='auto'><![CDATA[</task>" * 20_000,
        "`" + "<task>" * 150_000,
        "`<task>`" * 110_000,
        "```\n" + "<task></task>\n" * 60_000,
        "```\n<task>\n```\n" * 10_000,
    ],
)
def test_a_hostile_text_is_refused_soon(body: str) -> None:
    found = [one for one in examined(body)["problems"] if one["code"] != "EXAMPLE"]
    assert 1 <= len(found) <= 120


def test_many_tasks_are_read_in_one_pass() -> None:
    found = examined("".join(AUTO.format(number=n) for n in range(2001)))
    assert [one["code"] for one in found["problems"]] == ["TOO_LARGE"]


@given(st.text(max_size=300))
def test_any_text_is_examined_without_a_fault(written: str) -> None:
    for whole in (written, f"---\n{written}\n---\n{AUTO}", text(f"<task type='auto'>{written}")):
        for one in examine(whole, "p.md")["problems"]:
            assert one["line"] >= 1
            assert one["column"] >= 1


@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=60))
def test_what_stands_in_an_element_is_read_as_it_is_written(said: str) -> None:
    from html import escape

    (task,) = plan(
        f'<task type="auto"><name>n</name><action>a</action><run>{escape(said)}x</run></task>'
    )["tasks"]
    assert task["run"] == (said + "x").strip()


def test_a_file_that_is_no_utf8_or_no_file_is_told_with_its_place(tmp_path: Path) -> None:
    import os

    from holdfast.plans.discovery import documents

    (tmp_path / "latin.md").write_bytes(b"---\nphase: 1\nplan: \xe9\n---\n")
    os.mkfifo(tmp_path / "pipe.md")
    paths = [str(tmp_path / name) for name in ("latin.md", "pipe.md", "gone.md")]
    found = documents(paths, str(tmp_path))
    assert [(one["path"], one["problems"][0]["code"]) for one in found] == [
        ("latin.md", "NOT_UTF8"),
        ("pipe.md", "UNREADABLE"),
        ("gone.md", "UNREADABLE"),
    ]
    assert (found[0]["problems"][0]["line"], found[0]["problems"][0]["column"]) == (3, 7)
