"""The protocol's XML: what is accepted, what is refused, and on which line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.gates.rules import content as words
from holdfast.gates.rules.content import render
from holdfast.gates.rules.gate_xml import BadXml, content_of, parse, write
from tests.gates import samples


@pytest.mark.clause("PILOT-06")
def test_an_automatic_task_has_a_name_an_action_and_perhaps_a_check() -> None:
    (auto, _) = parse(samples.VERIFY_XML)
    assert auto["type"] == "auto"
    assert auto["fields"]["name"]["text"] == "Start dev server"
    assert auto["fields"]["action"]["text"] == "Run `npm run dev` in background"
    assert auto["fields"]["verify"] == {"line": 4, "text": "curl localhost:3000 returns 200"}
    with pytest.raises(BadXml, match="Line 1: <action> is missing"):
        parse('<task type="auto"><name>A</name></task>')


@pytest.mark.clause("PILOT-07")
def test_a_verification_is_read_and_no_part_of_it_may_be_missing() -> None:
    content = content_of(parse(samples.VERIFY_XML)[1])
    assert content["type"] == "human-verify"
    assert content["items"] == [
        "Desktop (>1024px): sidebar visible, cards display data",
        "Mobile (375px): single column, bottom nav visible",
        'Click "Settings" - modal opens',
    ]
    assert content["signal"] == 'Type "approved" or describe issues'
    for tag in ("what-built", "how-to-verify", "resume-signal"):
        lines = samples.VERIFY_XML.replace(tag, "x-y")
        with pytest.raises(BadXml):
            parse(lines)


@pytest.mark.clause("PILOT-09", "AMB-PILOT-38")
@pytest.mark.parametrize(
    "line",
    [
        "Log in at http://localhost:3000/admin as demo with the password demo, and verify:",
        "Visit http://localhost:3000/admin in a private window and verify:",
        "Open http://localhost:3000/admin?role=viewer, resize to 375px, then check:",
    ],
)
def test_the_line_with_the_address_keeps_its_instructions(line: str) -> None:
    task = samples.VERIFY_XML.replace("Visit http://localhost:3000/dashboard and verify:", line)
    content = content_of(parse(task)[1])
    assert content["items"][0] == line
    assert content["url"].startswith("http://localhost:3000/admin")
    assert f"1. ✅ {line}" in render(content)
    assert content_of(parse(write(content))[0]) == content


@pytest.mark.clause("PILOT-12", "PILOT-10")
def test_a_decision_is_read_with_all_its_options() -> None:
    content = content_of(parse(samples.DECISION_XML)[0])
    assert content["title"] == "Select authentication provider"
    assert content["context"] == "Need user auth for the app. Three options with tradeoffs."
    assert [option["id"] for option in content["options"]] == ["supabase", "clerk", "custom"]
    assert content["options"][1] == {
        "id": "clerk",
        "name": "Clerk",
        "pros": "Best DX, beautiful UI, social logins easy",
        "cons": "Paid after 10k MAU, another vendor",
    }
    without_cons = samples.DECISION_XML.replace(
        "      <cons>Paid after 10k MAU, another vendor</cons>\n", ""
    )
    with pytest.raises(BadXml, match="Line 12: the option clerk lacks <cons>"):
        parse(without_cons)


@pytest.mark.clause("PILOT-31", "AMB-PILOT-35")
def test_the_short_form_of_an_option_is_its_name() -> None:
    content = content_of(parse(samples.SHORT_DECISION_XML)[0])
    assert [option["name"] for option in content["options"]] == [
        "React - Larger ecosystem",
        "Vue - Simpler learning curve",
    ]
    assert content["signal"] == "Select: react or vue"


@pytest.mark.clause("PILOT-22")
def test_a_manual_step_is_read() -> None:
    content = content_of(parse(samples.ACTION_XML)[1])
    assert content["title"] == "Complete email verification"
    assert content["why"] == "Email verification requires clicking link in your inbox"
    assert content["items"][1] == "Click the verification link"
    with pytest.raises(BadXml, match="<why-manual> is missing"):
        parse(
            samples.ACTION_XML.replace(
                "  <why-manual>Email verification requires clicking link in your inbox</why-manual>\n",
                "",
            )
        )


@pytest.mark.clause("AMB-PILOT-14")
def test_a_checkpoint_blocks_whether_it_says_so_or_not() -> None:
    assert parse(samples.ACTION_XML)[1]["blocking"]
    assert parse(samples.VERIFY_XML)[1]["blocking"]
    assert not parse(samples.VERIFY_XML)[0]["blocking"]
    with pytest.raises(BadXml, match="Line 1: there is no gate 'maybe'"):
        parse('<task type="checkpoint:decision" gate="maybe"></task>')


@pytest.mark.clause("PILOT-02")
@pytest.mark.parametrize(
    "type", ["checkpoint:approve", "human-verify", "decision", "", "checkpoint:"]
)
def test_another_type_is_refused(type: str) -> None:
    with pytest.raises(
        BadXml, match=r"Line 1: (there is no task of the type|the task has no type)"
    ):
        parse(f'<task type="{type}"></task>')
    assert words.TYPES == ("human-verify", "decision", "human-action")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('<task type="auto">\n  <name>a & b</name>\n</task>', 2, "not XML"),
        ('<task type="auto">\n  <name>width < 3</name>\n</task>', 2, "not XML"),
        (
            '<task type="checkpoint:decision">\n<decision>x</decision>\n<verdict>y</verdict></task>',
            3,
            "does not belong",
        ),
        ("<plan></plan>", 1, "is no <task>"),
        ("", 1, "there is no <task>"),
        ("Hello", 1, "there is no <task>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><task type="auto"/>', 1, "is missing"),
        ("\x00", 1, "there is no <task>"),
        ("</tasks><tasks>", 1, "there is no <task>"),
        ('<task type="auto"><name>a</name>\n<name>b</name></task>', 2, "a second <name>"),
    ],
)
def test_what_is_no_task_is_refused_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(BadXml) as refused:
        parse(text)
    assert refused.value.line == line
    assert what in refused.value.message
    assert refused.value.exit_code == 2


def test_entities_of_the_documents_own_are_never_expanded() -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE b [<!ENTITY a "aaaa"><!ENTITY c "&a;&a;&a;">]><task type="auto"><name>&c;</name></task>'
    with pytest.raises(BadXml):
        parse(bomb)
    declared = '<?xml version="1.0" encoding="UTF-8"?>\n' + samples.SHORT_DECISION_XML
    assert parse(declared)[0]["line"] == 2


WORD = st.text(
    alphabet=st.characters(categories=("L", "N", "P", "S"), exclude_characters=""),
    min_size=1,
    max_size=12,
)
SENTENCE = (
    st.lists(WORD, min_size=1, max_size=4)
    .map(" ".join)
    .filter(lambda text: words.items_of(text) == [text] and "http" not in text.lower())
)


@given(built=SENTENCE, how=st.lists(SENTENCE, min_size=1, max_size=5), port=st.integers(1, 65535))
def test_a_verification_survives_its_own_xml(built: str, how: list[str], port: int) -> None:
    content = words.verify(built, how, url=f"http://localhost:{port}/a?b=1&c=2")
    assert content_of(parse(write(content))[0]) == content


@given(
    title=SENTENCE,
    context=SENTENCE,
    options=st.lists(st.tuples(SENTENCE, SENTENCE, SENTENCE), min_size=2, max_size=4),
)
def test_a_decision_survives_its_own_xml(
    title: str, context: str, options: list[tuple[str, str, str]]
) -> None:
    content = words.decision(
        title,
        [
            {"id": f"o{number}", "name": name, "pros": pros, "cons": cons}
            for number, (name, pros, cons) in enumerate(options)
        ],
        context=context,
    )
    assert content_of(parse(write(content))[0]) == content


@given(title=SENTENCE, why=SENTENCE, steps=st.lists(SENTENCE, min_size=1, max_size=5))
def test_a_manual_step_survives_its_own_xml(title: str, why: str, steps: list[str]) -> None:
    content = words.action(title, steps, why=why)
    assert content_of(parse(write(content))[0]) == content


@given(text=st.text(max_size=200))
def test_any_text_that_is_no_xml_is_refused_with_a_line(text: str) -> None:
    with pytest.raises(BadXml) as refused:
        parse(text + "<")
    assert 1 <= refused.value.line <= text.count("\n") + text.count("\r") + 2
