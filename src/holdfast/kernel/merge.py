"""Merge two edits of one text so that no addition of either side is lost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def lines_of(text: str) -> list[str]:
    """The lines with their ends; joined they are the text again."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def newline_of(text: str) -> str:
    """The line end that a text uses: that of its first line."""
    first = text[: text.find("\n")] if "\n" in text else text
    return "\r\n" if first.endswith("\r") else "\n"


def join_lines(lines: Sequence[str], newline: str = "\n") -> str:
    """Join lines; a line without an end gets one unless it is the last."""
    ended = [line if line.endswith("\n") else line + newline for line in lines[:-1]]
    return "".join([*ended, *lines[-1:]])


def merge_lines(base: str, ours: str, theirs: str) -> str:
    """Both sides' changes to a text. Where both changed the same lines, both stay, ours first."""
    if theirs in (base, ours):
        return ours
    if ours == base:
        return theirs
    return join_lines(_merge(lines_of(base), lines_of(ours), lines_of(theirs)), newline_of(theirs))


def merge_texts(base: str, ours: str, theirs: str) -> str:
    """The same for texts that are kept without the end of their last line."""
    merged = merge_lines(*(f"{text}\n" if text else "" for text in (base, ours, theirs)))
    return merged.removesuffix("\n")


def _merge(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    head = _common(base, ours, theirs)
    base, ours, theirs, start = base[head:], ours[head:], theirs[head:], base[:head]
    tail = _common(base[::-1], ours[::-1], theirs[::-1])
    end = base[len(base) - tail :]
    texts = [lines[: len(lines) - tail] for lines in (base, ours, theirs)]
    return [*start, *_merge_middle(*texts), *end]


def _common(*texts: list[str]) -> int:
    """How many lines the texts begin with that are the same in all of them."""
    count = 0
    for lines in zip(*texts, strict=False):
        if lines.count(lines[0]) < len(lines):
            break
        count += 1
    return count


def _merge_middle(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    result: list[str] = []
    at = (0, 0, 0)
    for in_base, in_ours, in_theirs, size in _agreements(base, ours, theirs):
        result += _chunk(base[at[0] : in_base], ours[at[1] : in_ours], theirs[at[2] : in_theirs])
        result += base[in_base : in_base + size]
        at = (in_base + size, in_ours + size, in_theirs + size)
    return result


def _agreements(
    base: list[str], ours: list[str], theirs: list[str]
) -> list[tuple[int, int, int, int]]:
    """Where both sides kept lines of the base: begin in each text, and how many; the end last."""
    from difflib import SequenceMatcher

    found: list[tuple[int, int, int, int]] = []
    mine = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    others = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    one = other = 0
    while one < len(mine) and other < len(others):
        a, b = mine[one], others[other]
        begin, end = max(a.a, b.a), min(a.a + a.size, b.a + b.size)
        if begin < end:
            found.append((begin, a.b + begin - a.a, b.b + begin - b.a, end - begin))
        if a.a + a.size < b.a + b.size:
            one += 1
        else:
            other += 1
    return [*found, (len(base), len(ours), len(theirs), 0)]


def _chunk(base: list[str], ours: list[str], theirs: list[str]) -> list[str]:
    """Lines that at least one side changed."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    if base:
        # One side only added above or below what the other changed.
        for one, other in ((ours, theirs), (theirs, ours)):
            if one[-len(base) :] == base:
                return [*one[: -len(base)], *other]
            if one[: len(base)] == base:
                return [*other, *one[len(base) :]]
    return _union(ours, theirs)


def _union(ours: list[str], theirs: list[str]) -> list[str]:
    from difflib import SequenceMatcher

    result: list[str] = []
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    for _, one, one_end, other, other_end in matcher.get_opcodes():
        result += ours[one:one_end]
        if ours[one:one_end] != theirs[other:other_end]:
            result += theirs[other:other_end]
    return result
