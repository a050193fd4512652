"""A long text within a room, with the headings and points of all of it. Pure."""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later
from holdfast.observe.model import size_of

# What is kept of a long text, from all points to headings and numbers alone.
_POINTS = [
    compile_later(rf"\s{{0,3}}(?:{signs})")
    for signs in (r"#+ |\d+[.)] |\*\*|[-*•] ", r"#+ |\d+[.)] |\*\*", r"#+ |\d+[.)] ")
]
# A point of which less would stand there says little.
SHORTEST_POINT, LONGEST_POINT = 48, 160
GAP = "…"


def outline(text: str, most: int) -> str:
    """Return a text whole, or its beginning, the headings and points of the rest, and its end. What is left out
    in between is marked."""
    whole = found = text.strip()
    room = most
    while len(found) > most or size_of(found) > most + 40:
        found = _outline(whole, room)
        room = room * 4 // 5
    return found


def _outline(text: str, most: int) -> str:
    tail = text[-(most // 8) :]
    tail = tail.partition("\n")[2].strip() or tail.partition(" ")[2]
    begun, rest = text[: most // 3], text[most // 3 : -len(tail) or None]
    lines = _without_code(rest.split("\n")[1:], is_code=begun.count("```") % 2 > 0)
    room = most // 2
    for pattern in _POINTS:
        points = [line.strip() for line in lines if pattern.match(line)]
        if room >= len(points) * SHORTEST_POINT:
            break
    width = min(LONGEST_POINT, max(SHORTEST_POINT // 2, room // max(1, len(points))) - 1)
    kept = [_first_words(line, width) for line in points[: room // (width + 1)]]
    head = _first_words(text, most - sum(len(line) + 1 for line in kept) - len(tail) - 10)
    told = [line for line in kept if line not in head]
    if head.count("```") % 2:
        told.insert(0, "```")
    return "\n".join([head, *told, GAP, tail])


def _first_words(line: str, most: int) -> str:
    if len(line) <= most:
        return line
    words = line[: most - 2].rpartition(" ")[0].rstrip()
    return f"{words if len(words) > most // 2 else line[: most - 2]} {GAP}"


def _without_code(lines: list[str], *, is_code: bool) -> list[str]:
    """The lines outside of fences; `is_code` where they begin in one."""
    kept = []
    for line in lines:
        is_code ^= line.lstrip().startswith("```")
        if not is_code:
            kept.append(line)
    return kept
