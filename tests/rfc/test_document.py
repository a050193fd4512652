"""checkpoint.md: its exact form, and that writing and reading it are inverse."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from holdfast.kernel.rules import Unparsable
from holdfast.rfc.rules import budget, document
from holdfast.rfc.rules import rfc as rules
from holdfast.rfc.rules.document import Parsed
from holdfast.rfc.rules.markdown import is_comment, one_line
from holdfast.rfc.rules.model import (
    LABELS,
    LONGEST_BULLET,
    MOST_GROUP_LINES,
    MOST_LINES,
    TENSIONS_UPDATED,
    order_of,
    sections_of,
    stream_of,
)
from holdfast.rfc.rules.state_file import first_fields
from tests.rfc.world import CHECKPOINT, DISCOVER, FOLDER, ID, PROTOCOL, Rfc, done, fields, through

if TYPE_CHECKING:
    from holdfast.rfc.rules.model import Extra, RfcState, Section

NASTY = (
    "```",
    "```python x = 1 ```",
    "## Meta",
    "### Scan Insights",
    "# Checkpoint: other",
    "---",
    "- - -",
    "* a",
    "1. one",
    "<!-- open",
    "--> closed",
    "a <!-- b --> c",
    "| a | b |",
    "> said",
    "שלום עולם",
    "مرحبا \u202e abc",
    "한국어 텍스트",
    "emoji 👩‍👩‍👧 here",
    "e\u0301",
    "\\",
    "&lt;",
    "- checkpoint_version: 9",
    "Resolved: none",
    "~~~",
    "=====",
    "[a](b)",
    "`",
    "\ufeffx",
)
BULLETS = some.one_of(
    some.sampled_from(NASTY),
    some.text(some.characters(codec="utf-8"), min_size=1, max_size=80),
    some.text(some.sampled_from("#-`~<!> \t\n\r\x1b[31m\u2028\x85\x00:;"), max_size=40),
).map(one_line)
VALID = BULLETS.filter(lambda text: bool(text) and not is_comment(text))


@some.composite
def groups(draw: some.DrawFn, key: str) -> list[Section]:
    """The sections of a valid group."""
    made: list[Section] = []
    for title, (fewest, most) in sections_of(key).items():
        texts = draw(some.lists(VALID, min_size=fewest, max_size=most or 9, unique=True))
        if title == TENSIONS_UPDATED:
            texts = [f"{LABELS[at % 3]}: {text}" for at, text in enumerate(texts)]
        made.append({"title": title, "bullets": texts})
    return budget.compress(key, made, add_labels=True)


@some.composite
def states(draw: some.DrawFn) -> RfcState:
    """Any valid checkpoint: some of the groups, and perhaps a part that a person added."""
    keys = draw(
        some.lists(
            some.sampled_from(["discover", "design", "gate_b_round_1", "gate_b_round_2", "review"]),
            min_size=1,
            unique=True,
        )
    )
    state = rules.initial(stream_of(ID))
    state["fields"] = first_fields(ID, draw(some.sampled_from(["light", "standard", "full"])), "")
    state["fields"]["checkpoint_version"] = draw(some.integers(1, 99_999))
    state["groups"] = [
        {"key": key, "sections": draw(groups(key)), "written": 0}
        for key in sorted(keys, key=order_of)
    ]
    mine: Extra = {"title": "Mine", "lines": ["Not yours.", "", "- a"]}
    state["extra"] = [mine] if draw(some.booleans()) else []
    state["meta"] = {
        "last_phase": state["groups"][-1]["key"],
        "artifacts": {
            "rfc": draw(some.sampled_from(["", "0123abcd"])),
            "evidence": draw(some.integers(-1, 500)),
            "evidence_digest": "",
        },
        "round": draw(some.integers(0, 3)),
        "extra": draw(some.sampled_from([[], ["author: somebody"]])),
    }
    return state


@pytest.mark.clause("RFC-17", "RFC-18", "RFC-22", "RFC-26", "RFC-30", "AMB-RFC-17")
@given(states())
def test_reading_is_the_inverse_of_writing(state: RfcState) -> None:
    text = document.write(state)
    read = Parsed(text)
    assert not read.fatal
    fields = state["fields"]
    assert (read.id, read.version) == (ID, fields["checkpoint_version"])
    assert read.strictness == fields["strictness"]
    assert read.meta == state["meta"]
    assert read.groups == state["groups"]
    assert read.extra == state["extra"]
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(text.split("\n")) - 1, "no line of it is cut in two"


@given(states(), some.booleans())
@pytest.mark.clause("RFC-09", "RFC-10")
def test_what_is_written_is_within_its_budget(state: RfcState, crlf: bool) -> None:
    text = document.write(state)
    read = Parsed(text.replace("\n", "\r\n") if crlf else text)
    assert len(text.split("\n")) - 1 <= MOST_LINES
    for _, count in read.spans.values():
        assert count <= MOST_GROUP_LINES
    assert [group["sections"] for group in read.groups] == [
        group["sections"] for group in state["groups"]
    ]


SOUP = some.lists(
    some.one_of(
        some.sampled_from(
            [
                "# Checkpoint: auth-model",
                "## Meta",
                "---",
                "## DISCOVER Exit",
                "## Mine",
                "",
                "### Scan Insights",
                "### Active Tensions",
                "- checkpoint_version: 3",
                "- last_phase: discover",
                "- strictness: Full",
                "- a bullet",
                "  more of it",
                "- artifact_state: rfc.md(0123abcd), evidence(1 items), gate_b_round=0",
                "```",
                "<!-- a -->",
                "<!--",
                "-->",
                "text",
                "~~~",
                "  - nested",
                "\t- tab",
                "* star",
            ]
        ),
        BULLETS,
    ),
    max_size=12,
)


HEADER = [
    "# Checkpoint: auth-model",
    "## Meta",
    "- checkpoint_version: 3",
    "- last_phase: discover",
    "- strictness: Full",
    "- artifact_state: rfc.md(0123abcd), evidence(1 items), gate_b_round=0",
    "---",
    "## DISCOVER Exit",
    "### Scan Insights",
]


@given(SOUP, some.booleans())
@example(["# Checkpoint: auth-model", "## Meta", "```", "## DISCOVER Exit"], False)
def test_no_text_breaks_the_reader_and_what_it_takes_in_stays_the_same(
    lines: list[str], begun: bool
) -> None:
    lines = [*HEADER, *lines] if begun else lines
    state = rules.initial(stream_of(ID))
    state["fields"] = first_fields(ID, "standard", "")
    change: Any = {"kind": "edited", "path": str(CHECKPOINT), "text": "\n".join(lines)}
    try:
        edits = rules.absorb(state, state, change, 0)
    except Unparsable as problem:
        said = str(problem)
        edits = []
        assert re.match(r"line \d+: |with it", said), said
    for kind, body in edits:
        state = rules.apply(state, {"id": "", "kind": kind, "body": body, "at": "", "actor": ""})
    if not state["meta"]["last_phase"]:
        return
    again = Parsed(document.write(state))
    assert not again.fatal
    said_again = [(group["key"], group["sections"]) for group in again.groups]
    assert said_again == [(group["key"], group["sections"]) for group in state["groups"]]
    assert again.extra == state["extra"]


@pytest.mark.clause("RFC-08", "RFC-11", "RFC-12", "RFC-13", "RFC-14", "RFC-15", "RFC-16")
@pytest.mark.clause("AMB-RFC-14", "AMB-RFC-15", "RFC-17")
def test_the_file_as_it_stands(begun: Rfc) -> None:
    (FOLDER / "rfc.md").write_bytes(b"# RFC\r\nwith its own line ends\n")
    (FOLDER / "evidence.json").write_text('{"schema_version": "v1", "items": [{}, {}, {}]}')
    through(begun, "discover")
    digest = hashlib.sha256((FOLDER / "rfc.md").read_bytes()).hexdigest()[:8]
    assert CHECKPOINT.read_text("utf-8").startswith(
        "# Checkpoint: auth-model\n"
        "\n"
        "## Meta\n"
        "- checkpoint_version: 1\n"
        "- last_phase: discover\n"
        "- strictness: Standard\n"
        f"- artifact_state: rfc.md({digest}), evidence(3 items), gate_b_round=0\n"
        "\n"
        "---\n"
        "\n"
        "## DISCOVER Exit\n"
        "\n"
        "### User Intent Signals\n"
        "- Speed matters more than completeness\n"
    )


@pytest.mark.clause("RFC-13", "RFC-54", "AMB-RFC-06")
def test_each_write_counts_once_in_both_files(begun: Rfc) -> None:
    for number in range(1, 5):
        said = done(begun("write", "discover", given=DISCOVER.replace("Speed", f"Speed {number}")))
        assert f"version {number}:" in said.out
        assert f"- checkpoint_version: {number}\n" in CHECKPOINT.read_text("utf-8")
        assert fields()["checkpoint_version"] == number


@pytest.mark.clause("AMB-RFC-22")
def test_the_template_is_a_checkpoint_without_a_word_in_it(rfc: Rfc) -> None:
    """Its placeholders are comments: left in place they are empty sections, and never written."""
    text = (PROTOCOL / "template.md").read_text("utf-8")
    Path("template.md").write_text(text)
    answer = rfc("lint", "template.md")
    assert answer.code == 1
    lines = text.splitlines()
    for title, (fewest, _) in sections_of("discover").items():
        at = lines.index(f"### {title}") + 1
        assert f"template.md:{at}: {title} has 0 bullets, {fewest} is the fewest" in answer.out
        assert f"template.md:{at + 1}: a comment of the template is left" in answer.out


@pytest.mark.clause("AMB-RFC-22")
def test_no_placeholder_is_written(begun: Rfc) -> None:
    given = DISCOVER.replace("###", "<!-- 3-7 bullets.\nNuances -->\n###") + "- <!-- one more -->\n"
    done(begun("write", "discover", given=given))
    assert "<!--" not in CHECKPOINT.read_text("utf-8")


@pytest.mark.clause("AMB-RFC-02")
def test_every_physical_line_of_a_group_counts() -> None:
    text = (
        "# Checkpoint: a\n## Meta\n---\n## DISCOVER Exit\n\n### Active Tensions\n"
        "<!-- one -->\n- a\n\n---\n## DESIGN Exit\n"
    )
    spans = Parsed(text).spans
    assert spans["discover"] == (4, 6)
    assert spans["design"] == (11, 1)


def test_a_bullet_longer_than_a_screen_is_no_signal(begun: Rfc) -> None:
    fits = DISCOVER.replace("Firm: no new service", "x" * LONGEST_BULLET)
    done(begun("write", "discover", given=fits))
    answer = begun("write", "discover", given=fits.replace("xx", "xxx", 1))
    assert answer.code == 1
    assert "bullet 2 of User Intent Signals has 2001 characters, 2000 is the most" in answer.err
    assert fields()["checkpoint_version"] == 1
