"""How much a checkpoint may hold: compressed without loss, then refused, never cut."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.kernel.errors import HoldfastError
from holdfast.rfc.rules import budget, document, questions
from holdfast.rfc.rules import rfc as rules
from holdfast.rfc.rules.document import Parsed
from holdfast.rfc.rules.markdown import is_comment, one_line
from holdfast.rfc.rules.model import (
    MOST_GROUP_LINES,
    MOST_LINES,
    TENSIONS_UPDATED,
    BudgetExceeded,
    sections_of,
    stream_of,
)
from holdfast.rfc.rules.state_file import first_fields
from tests.rfc.world import (
    CHECKPOINT,
    DESIGN,
    DISCOVER,
    FEEDBACK,
    ID,
    Rfc,
    done,
    fields,
    headings,
    section,
    through,
)

if TYPE_CHECKING:
    from holdfast.rfc.rules.model import Section

RANGES = [
    pytest.param(group, title, *bounds, marks=pytest.mark.clause(clause))
    for group, title, bounds, clause in (
        ("discover", "User Intent Signals", (3, 7), "RFC-19"),
        ("discover", "Scan Insights", (2, 4), "RFC-20"),
        ("discover", "Active Tensions", (1, 3), "RFC-21"),
        ("design", "Design Reasoning Notes", (0, 7), "RFC-23"),
        ("design", "Decision Interdependencies", (2, 5), "RFC-24"),
        ("design", "Tricky Sections", (1, 3), "RFC-25"),
        ("gate-b", "Reviewer Feedback Digest", (3, 5), "RFC-27"),
        ("gate-b", "What Changed This Round", (1, 3), "RFC-28"),
    )
]


@pytest.fixture
def gate(begun: Rfc) -> Rfc:
    """In the gates, where every group can be written."""
    through(begun, "discover", "design")
    return begun


@pytest.mark.clause("AMB-RFC-09")
@pytest.mark.parametrize(("group", "title", "fewest", "most"), RANGES)
def test_the_bullets_of_a_section(
    gate: Rfc, group: str, title: str, fewest: int, most: int
) -> None:
    for count in {fewest, most}:
        done(gate("write", group, "--dry-run", given=section(title, count, group)))
    before = CHECKPOINT.read_bytes()
    over = gate("write", group, given=section(title, most + 1, group))
    assert over.code == 1
    assert f"{title} has {most + 1} bullets, {most} is the most" in over.err
    assert f"{title} must give 1 line: {most + 1} bullets now, {most} at most" in over.err
    assert gate("write", group, "--lenient", given=section(title, most + 1, group)).code == 1
    if fewest:
        few = gate("write", group, given=section(title, fewest - 1, group))
        assert few.code == 1
        assert f"{title} has " in few.err
        assert f"{fewest} is the fewest" in few.err
    assert CHECKPOINT.read_bytes() == before
    if fewest:
        lenient = done(gate("write", group, "--lenient", given=section(title, fewest - 1, group)))
        assert f"warning: {title} has " in lenient.err


@pytest.mark.clause("RFC-29", "AMB-RFC-18")
def test_tensions_carry_their_labels(gate: Rfc) -> None:
    for label in ("Resolved", "Intensified", "New"):
        without = "\n".join(line for line in FEEDBACK.splitlines() if f"- {label}:" not in line)
        answer = gate("write", "gate-b", given=without)
        assert answer.code == 1
        assert f"{TENSIONS_UPDATED} has no `{label}:`" in answer.err
        shown = done(gate("write", "gate-b", "--lenient", "--dry-run", given=without)).out
        assert f"- {label}: none" in shown
    answer = gate("write", "gate-b", given=FEEDBACK + "- and something else\n")
    assert answer.code == 1
    assert "bullet 4 of Active Tensions Updated begins with none of" in answer.err
    empty = FEEDBACK.replace("- Resolved: none", "- **resolved:**")
    done(gate("write", "gate-b", given=empty))
    tensions = CHECKPOINT.read_text("utf-8").partition("### Active Tensions Updated\n")[2]
    assert re.findall(r"^- (\w+): ", tensions, re.MULTILINE) == ["Resolved", "Intensified", "New"]
    assert "- Resolved: none\n" in tensions


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("**Resolved:** a", "Resolved: a"),
        ("**resolved**: a", "Resolved: a"),
        ("_NEW:_ *a*", "New: *a*"),
        ("New: _", "New: _"),
        ("**New: a**", "New: **a**"),
        ("Intensified:", "Intensified: none"),
        ("**Intensified:**", "Intensified: none"),
        ("Resolved:a", "Resolved: a"),
        ("Newer: a", "Newer: a"),
    ],
)
def test_a_label_is_found_however_it_is_set_off(said: str, written: str) -> None:
    (read,) = budget.compress("review", [{"title": TENSIONS_UPDATED, "bullets": [said]}])[2:]
    assert read["bullets"] == [written]


def feedback(tensions: int) -> str:
    extra = [f"- New: tension number {number}" for number in range(tensions)]
    return FEEDBACK + "\n".join(extra) + "\n"


@pytest.mark.clause("RFC-10", "RFC-52", "AMB-RFC-03", "AMB-RFC-02")
def test_a_group_has_forty_lines(gate: Rfc) -> None:
    # Heading, three sections, seven bullets as they are: 29 more make forty without a blank line.
    done(gate("write", "gate-b", given=feedback(29)))
    text = CHECKPOINT.read_text("utf-8")
    group = text.partition("## Gate-B")[2]
    assert len(("## Gate-B" + group).splitlines()) == MOST_GROUP_LINES
    assert text.count("- New: tension number ") == 29
    answer = gate("write", "gate-b", given=feedback(32))
    assert answer.code == 1
    assert (
        "Gate-B Round 1 Exit is over its budget: 43 lines, 40 is the most, 3 too many" in answer.err
    )
    assert "Active Tensions Updated must give 3 lines: 35 bullets now, 32 at most" in answer.err
    assert CHECKPOINT.read_text("utf-8") == text
    as_data = gate("write", "gate-b", "--json", given=feedback(32))
    assert as_data.envelope["error"]["kind"] == "over_budget"


@pytest.mark.clause("RFC-52", "AMB-RFC-03", "RFC-30")
def test_what_loses_nothing_comes_first(gate: Rfc) -> None:
    """Folding, dropping blanks and comments, and merging exact repeats make it fit."""
    given = FEEDBACK
    for number in range(20):
        given += f"\n\n<!-- note -->\n- New: tension {number}\n  goes on here\n\n- New:  tension "
        given += f"{number} goes on   here\n"
    done(gate("write", "gate-b", given=given))
    text = CHECKPOINT.read_text("utf-8")
    for number in range(20):
        assert text.count(f"- New: tension {number} goes on here\n") == 1


@pytest.mark.clause("RFC-09", "AMB-RFC-02")
def test_the_whole_has_two_hundred_lines(gate: Rfc) -> None:
    """Only what a person adds by hand can bring it that far."""
    done(gate("write", "gate-b", given=FEEDBACK))
    text = CHECKPOINT.read_text("utf-8")
    room = MOST_LINES - len(text.splitlines()) - 4
    mine = "\n".join(["", "---", "", "## My own notes", *[f"line {n}" for n in range(room)]])
    CHECKPOINT.write_text(text + mine + "\n", "utf-8")
    assert gate("lint").out.count("the most") == 0
    assert len(CHECKPOINT.read_text("utf-8").splitlines()) == MOST_LINES
    done(gate("write", "discover", given=DISCOVER))
    assert f"line {room - 1}\n" in CHECKPOINT.read_text("utf-8")
    longer = DISCOVER.replace("### Scan", "- and a fourth\n- and a fifth\n### Scan")
    done(gate("write", "discover", given=longer))  # the blank lines give way
    after = CHECKPOINT.read_text("utf-8")
    assert len(after.splitlines()) <= MOST_LINES
    assert "- and a fifth\n" in after
    assert f"line {room - 1}\n" in after
    CHECKPOINT.write_text(after + "x\n" * 60, "utf-8")
    assert f"checkpoint.md:{MOST_LINES + 1}: " in gate("lint").out


def test_what_a_person_added_is_named_when_it_leaves_no_room(gate: Rfc) -> None:
    done(gate("write", "design", given=DESIGN))
    text = CHECKPOINT.read_text("utf-8")
    many = "".join(f"line {number}\n" for number in range(150))
    CHECKPOINT.write_text(f"{text}\n---\n\n## My own notes\n{many}", "utf-8")
    answer = gate("write", "gate-b", given=feedback(20))
    assert answer.code == 1
    assert "200 is the most" in answer.err
    assert "My own notes: 151 lines" in answer.err
    assert "line 149\n" in CHECKPOINT.read_text("utf-8")


@pytest.mark.clause("RFC-50", "AMB-RFC-20", "RFC-07")
def test_two_hundred_lines_are_about_three_thousand_tokens(begun: Rfc) -> None:
    line = "- " + "a signal of sixty letters or so, as people write them" + "\n"
    assert 2_500 < budget.estimate_tokens(line * MOST_LINES) < 3_500
    assert budget.estimate_tokens("") == 0
    through(begun, "discover")
    assert re.search(r"of 200 lines, about \d+ tokens", done(begun("show")).out)


@pytest.mark.clause("RFC-51", "AMB-RFC-01")
def test_only_the_last_two_rounds_stay(rfc: Rfc) -> None:
    done(rfc("init", ID, "--strictness", "full"))
    through(rfc, "discover", "design", "gate-b", "design", "gate-b", "design")
    answer = done(rfc("write", "gate-b", given=FEEDBACK))
    assert "Left out to stay within the budget: Gate-B Round 1 Exit." in answer.out
    assert headings() == [
        "## Meta",
        "## DISCOVER Exit",
        "## DESIGN Exit",
        "## Gate-B Round 2 Exit",
        "## Gate-B Round 3 Exit",
    ]


@pytest.mark.clause("RFC-53", "AMB-RFC-13")
def test_a_second_exit_replaces_the_first_in_its_place(failed: Rfc) -> None:
    done(failed("write", "design", given=DESIGN.replace("narrowly", "clearly")))
    text = CHECKPOINT.read_text("utf-8")
    assert headings() == ["## Meta", "## DISCOVER Exit", "## DESIGN Exit", "## Gate-B Round 1 Exit"]
    assert "won clearly" in text
    assert "won narrowly" not in text


@pytest.mark.clause("AMB-RFC-04")
def test_a_rejected_review_costs_a_round_only_when_the_lines_do_not_suffice(rfc: Rfc) -> None:
    done(rfc("init", ID, "--strictness", "full"))
    through(rfc, "discover", "design", "gate-b", "design", "gate-b", "design")
    done(rfc("write", "review", given=FEEDBACK))
    rounds = ["## Gate-B Round 1 Exit", "## Gate-B Round 2 Exit", "## REVIEW Reject Exit"]
    assert headings()[3:] == rounds
    assert fields()["last_checkpoint_phase"] == "review"
    assert "- last_phase: review\n" in CHECKPOINT.read_text("utf-8")
    # With so many lines of a person's own that another forty do not fit.
    text = CHECKPOINT.read_text("utf-8")
    CHECKPOINT.write_text(f"{text}\n---\n\n## Mine\n" + "mine\n" * 112, "utf-8")
    answer = done(rfc("write", "review", given=feedback(26)))
    assert "Left out to stay within the budget: Gate-B Round 1 Exit." in answer.out
    assert headings()[3:] == [*rounds[1:], "## Mine"]
    assert len(CHECKPOINT.read_text("utf-8").splitlines()) <= MOST_LINES


# Whatever is said

TEXT = some.text(some.characters(codec="utf-8"), max_size=60)


@some.composite
def inputs(draw: some.DrawFn) -> tuple[str, list[Section]]:
    """Answers of any length, with any text."""
    key = draw(some.sampled_from(["discover", "design", "gate_b_round_1", "review"]))
    sections: list[Section] = []
    for title in sections_of(key):
        bullets = draw(some.lists(some.one_of(TEXT, TEXT.map(lambda one: one * 60)), max_size=60))
        if title == TENSIONS_UPDATED:
            labels = draw(some.lists(some.sampled_from(["Resolved", "New", "intensified"])))
            bullets = [f"{label}: {one}" for label, one in zip(labels, bullets, strict=False)]
        sections.append({"title": title, "bullets": bullets})
    return key, sections


@pytest.mark.clause("RFC-52", "AMB-RFC-03")
@given(inputs())
def test_no_answer_is_over_budget_or_loses_a_bullet_silently(
    made: tuple[str, list[Section]],
) -> None:
    key, sections = made
    state = rules.initial(stream_of(ID))
    state["fields"] = {**first_fields(ID, "standard", ""), "gate_b_round": 1}
    command: dict[str, Any] = {"do": "write", "sections": sections, "lenient": True}
    command |= {"group": "gate-b" if key.startswith("gate") else key}
    command |= {"artifacts": {"rfc": "0123abcd", "evidence": 1, "evidence_digest": ""}}
    try:
        ((kind, body),) = rules.decide(state, command, 0).records
    except HoldfastError as refusal:
        kinds = (refusal.kind, refusal.message)
        assert kinds[0] in ("over_budget", "bad_answers"), kinds
        return
    after = rules.apply(state, {"id": "", "kind": kind, "body": body, "at": "", "actor": ""})
    text = document.write(after)
    assert len(text.split("\n")) - 1 <= MOST_LINES
    for _, count in Parsed(text).spans.values():
        assert count <= MOST_GROUP_LINES
    kept = json.dumps(body["sections"])
    for section_ in sections:
        for bullet in section_["bullets"]:
            words = one_line(bullet.partition(": ")[2] if ": " in bullet else bullet)
            if words and not is_comment(one_line(bullet)):
                assert json.dumps(words)[1:-1] in kept


@given(some.text(some.sampled_from("#-*` \n\tab:<!>~"), max_size=200))
def test_markdown_answers_are_taken_whole_or_refused(text: str) -> None:
    """Every letter of a bullet that was taken in is there; everything else was refused."""
    given_ = f"### Scan Insights\n{text}"
    try:
        (read,) = questions.read("discover", given_)
    except HoldfastError:
        return
    kept = "".join(read["bullets"])
    comments = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for letter in "ab":
        assert kept.count(letter) >= comments.count(letter)


def test_the_refusal_says_what_each_section_must_give() -> None:
    sections: list[Section] = [
        {"title": "User Intent Signals", "bullets": [f"signal {n}" for n in range(14)]},
        {"title": "Scan Insights", "bullets": ["a", "b"]},
        {"title": "Active Tensions", "bullets": ["c"]},
    ]
    with pytest.raises(BudgetExceeded) as refusal:
        budget.check("discover", sections, lenient=False)
    assert refusal.value.message.split("\n  ") == [
        "DISCOVER Exit is over its budget: User Intent Signals has 14 bullets, 7 is the most.",
        "User Intent Signals must give 7 lines: 14 bullets now, 7 at most",
    ]


def test_two_megabytes(begun: Rfc) -> None:
    """Of repeats, they fit; of bullets, they are refused; of one bullet, too."""
    repeats = DISCOVER + "- Latency against the audit log\n\n" * 70_000
    assert len(repeats) > 2_000_000
    done(begun("write", "discover", given=repeats))
    before = CHECKPOINT.read_bytes()
    many = DISCOVER + "".join(f"- tension number {number:06d}\n" for number in range(20_000))
    assert (
        "Active Tensions has 20001 bullets, 3 is the most"
        in begun("write", "discover", given=many).err
    )
    one = DISCOVER.replace("Firm", "Firm " * 400_000)
    assert begun("write", "discover", given=one).code == 1
    unclosed = DISCOVER + "```\n" + "- never closed\n" * 20_000
    assert ": text that is no bullet: ```" in begun("write", "discover", given=unclosed).err
    whole = begun("write", "discover", given="x" * 5_000_000)
    assert whole.code == 2
    assert CHECKPOINT.read_bytes() == before


def test_no_answer_at_all(begun: Rfc) -> None:
    for nothing in ("", "\n\n", "<!-- nothing -->"):
        answer = begun("write", "discover", given=nothing)
        assert answer.code == 1, nothing
        assert "User Intent Signals has 0 bullets" in answer.err
    assert not CHECKPOINT.exists()


@pytest.mark.clause("AMB-RFC-18")
@pytest.mark.parametrize("instead", ["", "- Solved: all of it\n"])
def test_the_refusal_of_labels_says_that_none_will_do(begun: Rfc, instead: str) -> None:
    through(begun, "discover", "design")
    answer = begun("write", "gate-b", given=FEEDBACK.replace("- Resolved: none\n", instead))
    assert answer.code == 1
    assert "says all three, Resolved, Intensified, New" in answer.err
    assert "`- Resolved: none`" in answer.err


def test_the_settings_of_an_earlier_compressor_have_no_effect(
    begun: Rfc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file and an environment of an earlier version still work, and start no program."""
    text = '[rfc]\ncompressor = "touch called"\ncompressor_seconds = 5\n'
    Path("holdfast.toml").write_text(text)
    monkeypatch.setenv("HOLDFAST_RFC_COMPRESSOR", "touch called")
    answer = begun("write", "discover", given=section("User Intent Signals", 9, "discover"))
    assert answer.code == 1
    assert answer.err.splitlines() == [
        "error: DISCOVER Exit is over its budget: User Intent Signals has 9 bullets, 7 is the most.",
        "  User Intent Signals must give 2 lines: 9 bullets now, 7 at most",
        "hint: Nothing was written. Say the same in fewer or shorter bullets: signals, not transcripts.",
    ]
    assert not Path("called").exists()
    done(begun("write", "discover", given=DISCOVER))
