"""The lines of a checkpoint or of an answer, cut into headings, rules, bullets and what is neither.

A bullet is one line in the file, so that whatever an agent writes into it (a heading, a fence, a
comment) stays inside of it. What is given on several lines is folded: what is indented belongs to the
bullet above it, as in Markdown, and so does a closed code fence right below it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["heading", "rule", "bullet", "comment", "text", "unclosed"]

OPEN, CLOSE = "<!--", "-->"
# How far a line must stand in to belong to the bullet above it.
INDENT = 2
# Control characters as pictures of themselves: no escape sequence of an agent's gets into a file.
_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


class Block:
    """One piece, and the lines that it begins and ends on, counted from 1."""

    __slots__ = ("end", "kind", "level", "line", "text")

    def __init__(self, kind: Kind, text: str, line: int, *, level: int = 0, end: int = 0) -> None:
        self.kind: Kind = kind
        self.text = text
        self.line = line
        self.level = level
        self.end = end or line


def one_line(text: str) -> str:
    """A text as a bullet holds it: one line, single blanks, no control character."""
    return " ".join(text.split()).translate(_PICTURES)


def lines_of(text: str) -> list[str]:
    """The physical lines, without the empty one after the last line end."""
    unified = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unified.removesuffix("\n").split("\n") if unified else []


def is_comment(text: str) -> bool:
    """Nothing but one HTML comment, such as a placeholder of the template."""
    return text.startswith(OPEN) and text.find(CLOSE, len(OPEN)) == len(text) - len(CLOSE)


def cut(lines: list[str], titles: frozenset[str] = frozenset()) -> list[Block]:
    """The blocks of a text. A line that says one of these titles (in lower case) is a heading,
    however it is numbered or set off."""
    return _Cutter(lines, titles).all()


class _Cutter:
    def __init__(self, lines: list[str], titles: frozenset[str]) -> None:
        self.lines = lines
        self.titles = titles
        self.position = 0
        self.blocks: list[Block] = []

    def all(self) -> list[Block]:
        while self.position < len(self.lines):
            stripped = self.lines[self.position].strip()
            self.position += 1
            if stripped:
                self._take(stripped)
        return self.blocks

    def _take(self, stripped: str) -> None:
        number = self.position
        title = self._title(stripped)
        if title:
            self._add("heading", title, number, level=3)
        elif _marker(stripped) is not None:
            text = one_line(self._bullet())
            if text:
                kind: Kind = "comment" if is_comment(text) else "bullet"
                self._add(kind, text, number)
        elif _is_heading(stripped):
            bare = stripped.lstrip("#")
            self._add("heading", one_line(bare), number, level=len(stripped) - len(bare))
        elif is_rule(stripped):
            self._add("rule", stripped, number)
        elif stripped.startswith(OPEN):
            self._comment()
        elif _fence_of(stripped):
            end = self._end_of_fence(self.position, _fence_of(stripped))
            self.position = end or len(self.lines)
            self._add("text" if end else "unclosed", "a code fence", number)
        else:
            self._add("text", one_line(stripped), number)

    def _add(self, kind: Kind, text: str, line: int, *, level: int = 0) -> None:
        self.blocks.append(Block(kind, text, line, level=level, end=self.position))

    def _title(self, stripped: str) -> str:
        """`### Scan Insights`, `2. SCAN INSIGHTS (2-4 bullets):` and `**Scan Insights**`."""
        if not self.titles or stripped.startswith(("- ", "+ ")):
            return ""
        bare = stripped.lstrip("#*_ 0123456789.)").partition("(")[0].rstrip(":*_ ").lower()
        return bare if bare in self.titles else ""

    def _bullet(self) -> str:
        """The whole text of the bullet that begins on the line before this position."""
        first = self.lines[self.position - 1].expandtabs(4)
        margin = _indent(first) + INDENT
        parts = [_marker(first.strip()) or ""]
        fence = _fence_of(parts[0])
        end = self.position
        blank = False
        while self.position < len(self.lines):
            line = self.lines[self.position].expandtabs(4)
            stripped = line.strip()
            if not stripped:
                blank = True
                self.position += 1
                continue
            if _indent(line) >= margin:
                if fence:
                    fence = "" if _closes(stripped, fence) else fence
                    parts.append(stripped)
                else:
                    fence = _fence_of(stripped)
                    _join(parts, stripped)
            elif blank or self._begins_a_block(stripped):
                break
            elif _fence_of(stripped):
                after = self._end_of_fence(self.position + 1, _fence_of(stripped))
                if not after:
                    break
                parts += self.lines[self.position : after]
                self.position = after - 1
            else:
                parts.append(stripped)
            self.position += 1
            end, blank = self.position, False
        self.position = end
        return " ".join(parts)

    def _begins_a_block(self, stripped: str) -> bool:
        return (
            _marker(stripped) is not None
            or _is_heading(stripped)
            or is_rule(stripped)
            or stripped.startswith(OPEN)
            or _is_conflict(stripped)
            or bool(self._title(stripped))
        )

    def _comment(self) -> None:
        """Up to where it is closed; what stands behind it on the same line is text."""
        number = self.position
        start = self.lines[number - 1].index(OPEN) + len(OPEN)
        for position in range(number - 1, len(self.lines)):
            at = self.lines[position].find(CLOSE, start)
            start = 0
            if at >= 0:
                self.position = position + 1
                self._add("comment", "", number)
                behind = self.lines[position][at + len(CLOSE) :].strip()
                if behind:
                    self._add("text", one_line(behind), self.position)
                return
        self.position = len(self.lines)
        self._add("unclosed", "a comment", number)

    def _end_of_fence(self, position: int, fence: str) -> int:
        """The position after the line that closes a fence; 0 when nothing does."""
        for number in range(position, len(self.lines)):
            if _closes(self.lines[number].strip(), fence):
                return number + 1
        return 0


def is_rule(stripped: str) -> bool:
    return len(stripped) >= 3 and not stripped.strip("-")


def _is_conflict(stripped: str) -> bool:
    """A mark that git leaves in a merge; folded into a bullet, it would go unseen."""
    sign = stripped[:7]
    return sign in ("<<<<<<<", "=======", ">>>>>>>", "|||||||") and stripped[7:8] in ("", " ")


def _is_heading(stripped: str) -> bool:
    return stripped.startswith("#") and stripped.lstrip("#")[:1] in ("", " ", "\t")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _marker(stripped: str) -> str | None:
    """What a list item says; None when it is none. `-`, `*`, `+`, `1.` and `1)` begin one."""
    if stripped in ("-", "*", "+"):
        return ""
    sign, blank, text = stripped.partition(" ")
    if not blank:
        return None
    digits = sign[:-1]
    if sign in ("-", "*", "+") or (sign[-1] in ".)" and digits.isascii() and digits.isdigit()):
        return text.strip()
    return None


def _join(parts: list[str], stripped: str) -> None:
    """One more line of a bullet. A list inside of it becomes aspects of the one line; AMB-RFC-17."""
    nested = _marker(stripped)
    if nested is None:
        if not is_comment(stripped):
            parts.append(stripped)
    elif parts[-1] and not parts[-1].endswith((":", ";")):
        parts[-1] += ";"
        parts.append(nested)
    else:
        parts.append(nested)


def _fence_of(stripped: str) -> str:
    """The run of signs that opens a code block, or nothing."""
    for sign in "`~":
        run = stripped[: len(stripped) - len(stripped.lstrip(sign))]
        if len(run) >= 3 and sign not in stripped[len(run) :]:
            return run
    return ""


def _closes(stripped: str, fence: str) -> bool:
    return len(stripped) >= len(fence) and not stripped.strip(fence[0])
