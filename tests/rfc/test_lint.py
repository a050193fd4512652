"""A checkpoint written by hand: what is wrong, by line, as a compiler says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.rfc.lint import lint_checkpoint
from tests.rfc.world import CHECKPOINT, ID, STATE, Rfc, done, fields, through

PATH = str(CHECKPOINT)


def line_of(text: str, path: Path = CHECKPOINT) -> int:
    lines = path.read_text("utf-8").splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if text in line]
    return found


def test_what_holdfast_writes_has_no_errors(failed: Rfc) -> None:
    assert done(failed("lint")).out == "No errors.\n"
    assert done(failed("lint", ID, "--json")).data == {"remarks": []}


@pytest.mark.clause("RFC-11", "RFC-12", "RFC-14", "RFC-15", "RFC-16", "RFC-17", "RFC-18")
@pytest.mark.clause("RFC-22", "RFC-26", "AMB-RFC-13")
@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("# Checkpoint: auth-model", "# Checkpoint: other", "# Check", "the title names other"),
        ("last_phase: gate_b_round_1", "last_phase: gate_b", "last_phase", "last_phase is disc"),
        ("last_phase: gate_b_round_1", "last_phase: review", "last_phase", "is no such group"),
        ("strictness: Standard", "strictness: Strict", "strictness", "Light, Standard or Full"),
        ("strictness: Standard", "strictness: Light", "strictness", "Light has no Gate-B"),
        ("evidence(0 items)", "evidence(some)", "artifact_state", "artifact_state is `rfc.md("),
        ("- strictness: Standard\n", "", "## Meta", "Meta has no strictness"),
        ("---\n\n## DESIGN", "## DESIGN", "## DESIGN", "there is no `---` before this group"),
        ("### Tricky Sections", "### Tricky Parts", "Tricky Parts", "is no section of DESIGN Exit"),
        ("### Tricky Sections\n", "", "## DESIGN", "has no `### Tricky Sections`"),
        ("- The cache", "- The cache\n  and more", "The cache", "a bullet is one line"),
        (
            "### Scan Insights",
            "<!-- 2-4 bullets -->\n### Scan Insights",
            "<!--",
            "a comment of the",
        ),
        ("- The cache is per process\n", "", "### Scan", "Scan Insights has 1 bullet, 2 is the"),
        ("- Resolved: none\n", "", "### Active Tensions Up", "has no `Resolved:`"),
        ("- Resolved: none", "- Solved: none", "Solved: none", "begins with none of Resolved:"),
    ],
)
def test_by_line(failed: Rfc, old: str, new: str, at: str, said: str) -> None:
    text = CHECKPOINT.read_text("utf-8")
    assert old in text
    CHECKPOINT.write_text(text.replace(old, new), "utf-8")
    answer = failed("lint")
    assert answer.code == 1
    lines = [line for line in answer.out.splitlines() if said in line]
    assert len(lines) == 1, answer.out
    assert lines[0].startswith(f"{PATH}:{line_of(at)}: "), answer.out


def test_headings_lines_and_keys_of_ones_own_are_no_errors(failed: Rfc) -> None:
    """The how-to invites them; they are named all the same, and count as lines."""
    text = CHECKPOINT.read_text("utf-8").replace("## Meta\n", "## Meta\n- reviewed_by: Ann\n")
    text = text.replace("### Tricky", "### My doubts\n- Is it right?\n\n### Tricky")
    CHECKPOINT.write_text(f"{text}\n---\n\n## Parking lot\n\nLater.\n", "utf-8")
    STATE.write_text(json.dumps({**fields(), "owner": "Ann"}, indent=2))
    answer = done(failed("lint"))
    for said in (
        "warning: reviewed_by is no line of Meta",
        "warning: My doubts is no section of DESIGN Exit",
        "warning: Parking lot is no group of the protocol",
        "warning: owner: is no key of the schema",
    ):
        assert said in answer.out
    text = text.replace("- Is it right?\n", "- Is it right?\n" * 40)
    CHECKPOINT.write_text(text, "utf-8")
    assert "40 is the most" in failed("lint").out


def test_the_line_of_the_bullet_that_is_one_too_many(failed: Rfc) -> None:
    text = CHECKPOINT.read_text("utf-8")
    more = "".join(f"- tension {number}\n" for number in range(3))
    old = "### Active Tensions\n"
    CHECKPOINT.write_text(text.replace(old, old + more), "utf-8")
    answer = failed("lint")
    lines = CHECKPOINT.read_text("utf-8").splitlines()
    fourth = lines.index("### Active Tensions") + 1 + 4
    assert f"{PATH}:{fourth}: Active Tensions has 4 bullets, 3 is the most" in answer.out


@pytest.mark.clause("RFC-09", "RFC-10")
@pytest.mark.parametrize(("blanks", "total", "group"), [(0, 0, 0), (1, 0, 1), (160, 1, 1)])
def test_the_budgets_of_a_file(blanks: int, total: int, group: int) -> None:
    """Forty lines of a group and two hundred of the whole are well; one more is not."""
    head = "# Checkpoint: a\n\n## Meta\n- checkpoint_version: 1\n- last_phase: discover\n"
    head += "- strictness: Full\n"
    head += "- artifact_state: rfc.md(0123abcd), evidence(1 items), gate_b_round=0\n\n---\n\n"
    body = "## DISCOVER Exit\n### User Intent Signals\n- a\n- b\n- c\n### Scan Insights\n- d\n- e\n"
    body += "### Active Tensions\n- f\n" + "\n" * 30
    assert len(body.splitlines()) == 40
    remarks = lint_checkpoint(head + body + "\n" * blanks, "c.md")
    at_group = [one for one in remarks if "has 4" in one["message"] or "has 2" in one["message"]]
    at_end = [one for one in remarks if one["line"] == 201]
    assert len(at_group) == group
    assert len(at_end) == total
    if group:
        assert at_group[0]["line"] == 10 + 1 + 40


@pytest.mark.clause("RFC-51")
def test_a_third_round_is_one_too_many(failed: Rfc) -> None:
    text = CHECKPOINT.read_text("utf-8")
    group = text.partition("---\n\n## Gate-B")[2]
    for number in (2, 3):
        text += "\n---\n\n## Gate-B" + group.replace("Round 1", f"Round {number}")
    CHECKPOINT.write_text(text, "utf-8")
    answer = failed("lint")
    assert f"{PATH}:{line_of('## Gate-B Round 1')}: only the last 2 rounds stay" in answer.out


@pytest.mark.clause("AMB-RFC-09")
def test_lenient_warns_of_too_little(failed: Rfc) -> None:
    text = CHECKPOINT.read_text("utf-8").replace("- The cache is per process\n", "")
    CHECKPOINT.write_text(text, "utf-8")
    answer = done(failed("lint", "--lenient"))
    assert "warning: Scan Insights has 1 bullet, 2 is the fewest" in answer.out


@pytest.mark.clause("AMB-RFC-06", "RFC-54")
def test_state_json_by_line(failed: Rfc) -> None:
    value = {**fields(), "checkpoint_version": 2, "mood": "good"}
    del value["template_id"]
    STATE.write_text(json.dumps(value, indent=2))
    answer = failed("lint")
    assert answer.code == 1
    at = line_of('"checkpoint_version"', STATE)
    assert f"{STATE}:{at}: checkpoint_version: is 2, and the checkpoint's is 3" in answer.out
    at = line_of('"mood"', STATE)
    assert f"{STATE}:{at}: warning: mood: is no key of the schema" in answer.out
    assert f"{STATE}:1: template_id: is missing" in answer.out
    STATE.write_text('{\n  "rfc_id": "auth-model",\n  oops\n}')
    assert f"{STATE}:3: not JSON" in failed("lint").out
    STATE.unlink()
    assert f"{STATE}:1: is missing" in failed("lint").out


def test_a_checkpoint_that_should_be_there(failed: Rfc) -> None:
    CHECKPOINT.unlink()
    assert f"{PATH}:1: is missing" in failed("lint").out


def test_any_file_of_yours(begun: Rfc, tmp_path: Path) -> None:
    through(begun, "discover")
    mine = tmp_path / "mine.md"
    mine.write_bytes(CHECKPOINT.read_bytes())
    assert done(begun("lint", str(mine))).out == "No errors.\n"
    mine.write_bytes(b"\xff\x00")
    assert "not UTF-8" in begun("lint", str(mine)).out
    mine.write_text("")
    assert f"{mine}:1: the first line is not" in begun("lint", str(mine)).out
    assert begun("lint", str(tmp_path / "nothing.md")).code == 3


def test_as_data(failed: Rfc) -> None:
    CHECKPOINT.write_text(CHECKPOINT.read_text("utf-8").replace("## Meta", "## Mata"), "utf-8")
    answer = failed("lint", "--json")
    assert answer.code == 1
    first = answer.data["remarks"][0]
    assert first["path"] == PATH
    assert first["severity"] == "error"
    assert isinstance(first["line"], int)
