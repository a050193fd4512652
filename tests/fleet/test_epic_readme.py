"""Edits of EPIC_README.md as text: ours alone, the rest byte for byte."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.rules import epic_readme
from holdfast.kernel.merge import merge_lines

LINE = "Secondary-A: STALE (likely crashed)"
README = "# Epic: KAI-6\n\n| Agent | Role |\n|---|---|\n\nlast line"
TEXT = st.text(alphabet="ab#- \r\n\udcff", max_size=60)


@pytest.mark.clause("FLEET-56", "AMB-FLEET-25")
def test_the_area_is_made_at_the_end_with_one_line_an_agent() -> None:
    once = epic_readme.mark_stale(README, "Secondary-A", False)
    assert once == f"{README}\n\n## Stale agents\n\n{LINE}\n"
    assert epic_readme.mark_stale(once, "Secondary-A", False) == once
    both = epic_readme.mark_stale(once, "Secondary-B", False)
    assert both == f"{once}Secondary-B: STALE (likely crashed)\n"
    assert epic_readme.mark_stale(both, "Secondary-B", True) == once


@pytest.mark.clause("AMB-FLEET-25")
def test_an_area_in_the_middle_is_used_and_what_is_around_it_stays() -> None:
    before = (
        "# Epic\n\n### STALE AGENTS  \n\nnobody yet\n\n## After\nSecondary-A: STALE is a word\n"
    )
    after = epic_readme.mark_stale(before, "Secondary-A", False)
    assert after == before.replace("nobody yet\n", f"nobody yet\n{LINE}\n")
    assert epic_readme.mark_stale(after, "Secondary-A", True) == before


@pytest.mark.clause("AMB-FLEET-25")
def test_a_line_that_somebody_else_wrote_for_the_agent_is_replaced() -> None:
    by_hand = "## Stale agents\n\n- Secondary-A: STALE since noon\n- Secondary-AB: STALE\n"
    assert epic_readme.mark_stale(by_hand, "Secondary-A", False) == (
        f"## Stale agents\n\n{LINE}\n- Secondary-AB: STALE\n"
    )


def test_nothing_to_take_out_changes_nothing() -> None:
    assert epic_readme.mark_stale(README, "Secondary-A", True) == README
    assert epic_readme.mark_stale("", "Secondary-A", True) == ""


def test_windows_line_ends_stay_windows_line_ends() -> None:
    text = README.replace("\n", "\r\n")
    for changed in (
        epic_readme.mark_stale(text, "Secondary-A", False),
        epic_readme.write_progress(text, "Secondary-A", ["one", "two"]),
        epic_readme.mark_deferred(text, "Secondary-A", "feature_02"),
    ):
        assert changed.startswith(text)
        assert changed.count("\n") == changed.count("\r\n")


def test_a_section_is_replaced_between_its_marks() -> None:
    begin, end = "<!-- BEGIN SECONDARY-A PROGRESS -->", "<!-- END SECONDARY-A PROGRESS -->"
    text = f"# Epic\n\n{begin}\nold\n\nolder\n{end}\n\nafter\n"
    changed = epic_readme.write_progress(
        text, "Secondary-A", ["Stage: S2.P2", "Status: IN_PROGRESS"]
    )
    assert changed == (f"# Epic\n\n{begin}\nStage: S2.P2\nStatus: IN_PROGRESS\n{end}\n\nafter\n")
    assert epic_readme.write_progress("# Epic\n", "Agent-Primary", ["x"]) == (
        "# Epic\n\n<!-- BEGIN PRIMARY PROGRESS -->\nx\n<!-- END PRIMARY PROGRESS -->\n"
    )
    cut_off = epic_readme.write_progress(f"{begin}\nwhose is this\n", "Secondary-A", ["new"])
    assert cut_off == f"{begin}\nnew\n{end}\nwhose is this\n"


def test_a_line_of_a_section_cannot_end_it() -> None:
    hostile = ["<!-- END SECONDARY-A PROGRESS -->", "a\n## Stale agents\nb"]
    text = epic_readme.write_progress("# Epic\n\nafter\n", "Secondary-A", hostile)
    again = epic_readme.write_progress(text, "Secondary-A", ["fine"])
    assert again == (
        "# Epic\n\nafter\n\n<!-- BEGIN SECONDARY-A PROGRESS -->\nfine\n"
        "<!-- END SECONDARY-A PROGRESS -->\n"
    )


def test_a_deferred_feature_has_one_line() -> None:
    once = epic_readme.mark_deferred("# Epic\n", "Secondary-A", "feature_02_team_penalty")
    assert once == (
        "# Epic\n\n## Deferred to Wave 2\n\n"
        "feature_02_team_penalty: deferred to Wave 2 (was Secondary-A's)\n"
    )
    assert epic_readme.mark_deferred(once, "Secondary-A", "feature_02_team_penalty") == once


def mark_stale(text: str) -> str:
    return epic_readme.mark_stale(text, "Secondary-A", False)


def tell_progress(text: str) -> str:
    return epic_readme.write_progress(text, "Secondary-A", ["one"])


def defer(text: str) -> str:
    return epic_readme.mark_deferred(text, "Secondary-A", "feature_02")


@given(TEXT)
def test_made_twice_is_made_once_and_nothing_of_the_text_is_lost(text: str) -> None:
    for change in (mark_stale, tell_progress, defer):
        once = change(text)
        assert change(once) == once
        assert once.startswith(text)
        once.encode("utf-8", "surrogateescape")


def test_an_edit_beside_a_line_that_the_other_side_changed_brings_no_old_line_back() -> None:
    base = "a\nold\nb\n"
    for ours, theirs, both in (
        ("a\nnew\nold\nb\n", "a\nchanged\nb\n", "a\nnew\nchanged\nb\n"),
        ("a\nold\nnew\nb\n", "a\nchanged\nb\n", "a\nchanged\nnew\nb\n"),
        ("a\none\nb\n", "a\nother\nb\n", "a\none\nother\nb\n"),
        ("a\nb\n", "a\nold\nb\nno end", "a\nb\nno end"),
        ("a\nold\nb\nours\n", "a\nold\nb\nno end", "a\nold\nb\nours\nno end"),
    ):
        assert merge_lines(base, ours, theirs) == both


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.data())
def test_lines_that_either_side_added_are_all_in_the_merged_text(
    base: list[str], data: st.DataObject
) -> None:
    sides = []
    for who in ("ours", "theirs"):
        lines = list(base)
        for number in range(data.draw(st.integers(0, 3))):
            lines.insert(data.draw(st.integers(0, len(lines))), f"{who}-{number}")
        sides.append("".join(f"{line}\n" for line in lines))
    text = merge_lines("".join(f"{line}\n" for line in base), *sides)
    assert sorted(line for line in text.split("\n") if "-" in line) == sorted(
        line for side in sides for line in side.split("\n") if "-" in line
    )
    known = [line for line in text.split("\n") if line and "-" not in line]
    assert Counter(base) <= Counter(known)
    if len(set(base)) == len(base):  # of equal lines, which one moved is a guess
        assert known == base
