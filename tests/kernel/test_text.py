"""Text of others on one line of ours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from holdfast.kernel.text import one_line


def test_lines_and_runs_of_blanks_become_single_spaces() -> None:
    assert one_line(" one\n\ttwo \r\n  three ") == "one two three"


def test_the_beginning_of_a_long_text_stays_and_a_mark_says_so() -> None:
    assert one_line("one two three", 13) == "one two three"
    assert one_line("one two three", 12) == "one two thr…"


@given(some.text(), some.integers(1, 40))
def test_it_has_one_line_and_at_most_so_many_characters(text: str, most: int) -> None:
    line = one_line(text, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1
    assert one_line(line, most) == line or line.endswith(" …")
