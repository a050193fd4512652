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

    def __init__(self, kind: Kind, text: str, line: int, level: int = 0) -> None:
        self.kind: Kind = kind
        self.text = text
        self.line = self.end = line
        self.level = level
        # How far a line is indented that belongs to this bullet.
        self.margin = 0


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
    """Return the blocks of a text. A line with one of `titles` (lower case) is a heading, even if it is
    numbered or bold instead of marked with `#`."""
    blocks: list[Block] = []
    in_fence = False
    for number, whole in enumerate(lines, start=1):
        line = whole.expandtabs(4)
        stripped = line.strip()
        last = blocks[-1] if blocks else None
        indent = len(line) - len(line.lstrip())
        if last is not None and last.kind == "unclosed":
            _close_comment(blocks, line, number)
        elif not stripped:
            continue
        elif last is not None and last.kind == "bullet" and indent >= last.margin:
            is_fence = stripped.startswith(FENCES)
            last.text += _joined(last.text, stripped, in_fence or is_fence)
            last.end = number
            in_fence = in_fence != is_fence
        elif (
            last is not None
            and last.kind == "bullet"
            and number == last.end + 1
            and not _begins_block(stripped, titles)
        ):
            last.text += f" {stripped}"
            last.end = number
        elif title := _title(stripped, titles):
            blocks.append(Block("heading", title, number, 3))
        elif (item := _item(stripped)) is not None:
            blocks.append(Block("bullet", item, number))
            blocks[-1].margin = indent + INDENT
            in_fence = item.startswith(FENCES)
        elif stripped.startswith(OPEN):
            blocks.append(Block("unclosed", "a comment", number))
            _close_comment(blocks, line, number, line.index(OPEN) + len(OPEN))
        else:
            kind, level = _kind(stripped)
            text = one_line(stripped.lstrip("#") if kind == "heading" else stripped)
            blocks.append(Block(kind, text, number, level))
    return [block for block in blocks if block.kind != "bullet" or _is_kept(block)]


def _is_kept(bullet: Block) -> bool:
    """Return whether a bullet says anything; a comment in one is a comment."""
    bullet.text = one_line(bullet.text)
    if is_comment(bullet.text):
        bullet.kind = "comment"
    return bool(bullet.text)


def _joined(before: str, stripped: str, is_code: bool) -> str:
    """Return what a line adds to a bullet. A nested list becomes aspects separated by `;`; AMB-RFC-17."""
    nested = None if is_code else _item(stripped)
    if nested is None:
        return "" if is_comment(stripped) and not is_code else f" {stripped}"
    needs_mark = before and not before.rstrip().endswith((":", ";"))
    return f"{';' if needs_mark else ''} {nested}"


def _close_comment(blocks: list[Block], line: str, number: int, start: int = 0) -> None:
    """End the comment where this line does; text behind its end is a block of its own."""
    close = line.find(CLOSE, start)
    blocks[-1].end = number
    if close < 0:
        return
    blocks[-1].kind, blocks[-1].text = "comment", ""
    rest = line[close + len(CLOSE) :].strip()
    if rest:
        blocks.append(Block("text", one_line(rest), number))


def _kind(stripped: str) -> tuple[Kind, int]:
    level = len(stripped) - len(stripped.lstrip("#"))
    if level and stripped[level : level + 1] in ("", " "):
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
