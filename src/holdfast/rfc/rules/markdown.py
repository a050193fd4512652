"""Cut the lines of a checkpoint or of an answer into headings, rules, bullets and other text.

A bullet is one line in the file, so a heading, a fence or a comment inside it stays inside it. A bullet
that is given on several lines is folded into one: indented lines belong to the bullet above them.
"""

from __future__ import annotations

from holdfast.kernel.text import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["heading", "rule", "bullet", "comment", "text", "unclosed"]

OPEN, CLOSE = "<!--", "-->"
FENCES = ("```", "~~~")
# A line that is indented this far belongs to the bullet above it.
INDENT = 2


class Block:
    """A piece of the text with its first and last line, counted from 1."""

    __slots__ = ("end", "kind", "level", "line", "text")

    def __init__(self, kind: Kind, text: str, line: int, end: int, level: int = 0) -> None:
        self.kind: Kind = kind
        self.text = text
        self.line = line
        self.end = end
        self.level = level


def one_line(text: str) -> str:
    """A text as a bullet holds it: one line, single spaces, no control characters."""
    return harmless(" ".join(text.split()))


def lines_of(text: str) -> list[str]:
    """The physical lines, without the empty one after the last line end."""
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unified.removesuffix("\n").split("\n") if unified else []


def is_comment(text: str) -> bool:
    """Whether a text is exactly one HTML comment, such as a placeholder of the template."""
    return text.startswith(OPEN) and text.find(CLOSE, len(OPEN)) == len(text) - len(CLOSE)


def cut(lines: list[str], titles: frozenset[str] = frozenset()) -> list[Block]:
    """The blocks of a text. A line with one of `titles` (lower case) is a heading, even if it is
    numbered or bold instead of marked with `#`."""
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        first = at + 1
        title = _title(stripped, titles)
        if not stripped:
            at += 1
        elif title:
            at += 1
            blocks.append(Block("heading", title, first, at, 3))
        elif _item(stripped) is not None:
            folded, at = _fold(lines, at, titles)
            text = one_line(folded)
            if text:
                blocks.append(Block("comment" if is_comment(text) else "bullet", text, first, at))
        elif stripped.startswith(OPEN):
            found, at = _comment(lines, at)
            blocks += found
        else:
            at += 1
            kind, level = _kind(stripped)
            text = one_line(stripped.lstrip("#") if kind == "heading" else stripped)
            blocks.append(Block(kind, text, first, at, level))
    return blocks


def _kind(stripped: str) -> tuple[Kind, int]:
    level = len(stripped) - len(stripped.lstrip("#"))
    if level and stripped[level : level + 1] in ("", " ", "\t"):
        return "heading", level
    is_rule = len(stripped) >= 3 and not stripped.strip("-")
    return ("rule" if is_rule else "text"), 0


def _title(stripped: str, titles: frozenset[str]) -> str:
    """`### Scan Insights`, `2. SCAN INSIGHTS (2-4 bullets):` and `**Scan Insights**`."""
    if not titles or stripped.startswith(("- ", "+ ")):
        return ""
    bare = stripped.lstrip("#*_ 0123456789.)").partition("(")[0].rstrip(":*_ ").lower()
    return bare if bare in titles else ""


def _item(stripped: str) -> str | None:
    """The text of a list item (`-`, `*`, `+`, `1.`, `1)`), or None."""
    sign, space, text = stripped.partition(" ")
    if sign in ("-", "*", "+"):
        return text.strip()
    digits = sign[:-1]
    numbered = space and sign[-1] in ".)" and digits.isascii() and digits.isdigit()
    return text.strip() if numbered else None


def _fold(lines: list[str], at: int, titles: frozenset[str]) -> tuple[str, int]:
    """The whole text of the bullet on this line, and the position behind it."""
    first = lines[at].expandtabs(4)
    margin = _indent(first) + INDENT
    parts = [_item(first.strip()) or ""]
    in_fence = parts[0].startswith(FENCES)
    end = at + 1
    for number in range(at + 1, len(lines)):
        line = lines[number].expandtabs(4)
        stripped = line.strip()
        if not stripped:
            continue
        if _indent(line) >= margin:
            if stripped.startswith(FENCES):
                in_fence = not in_fence
                parts.append(stripped)
            elif in_fence:
                parts.append(stripped)
            else:
                _join(parts, stripped)
        elif number > end or _begins_block(stripped, titles):
            break
        else:
            parts.append(stripped)
        end = number + 1
    return " ".join(parts), end


def _join(parts: list[str], stripped: str) -> None:
    """Add a line to a bullet. A nested list becomes aspects separated by `;`; AMB-RFC-17."""
    nested = _item(stripped)
    if nested is not None and parts[-1] and not parts[-1].endswith((":", ";")):
        parts[-1] += ";"
    if nested is not None or not is_comment(stripped):
        parts.append(stripped if nested is None else nested)


def _begins_block(stripped: str, titles: frozenset[str]) -> bool:
    # A conflict mark of git must not disappear inside a bullet.
    conflict = stripped[:7] in ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
    return (
        _item(stripped) is not None
        or _kind(stripped)[0] != "text"
        or stripped.startswith((OPEN, *FENCES))
        or (conflict and stripped[7:8] in ("", " "))
        or bool(_title(stripped, titles))
    )


def _comment(lines: list[str], at: int) -> tuple[list[Block], int]:
    """A comment up to its end; text behind the end on the same line is a block of its own."""
    start = lines[at].index(OPEN) + len(OPEN)
    for number in range(at, len(lines)):
        close = lines[number].find(CLOSE, start)
        start = 0
        if close >= 0:
            found = [Block("comment", "", at + 1, number + 1)]
            rest = lines[number][close + len(CLOSE) :].strip()
            if rest:
                found.append(Block("text", one_line(rest), number + 1, number + 1))
            return found, number + 1
    return [Block("unclosed", "a comment", at + 1, len(lines))], len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
