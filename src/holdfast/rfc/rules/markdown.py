"""Cut the lines of a checkpoint or of an answer into headings, rules, bullets and other text.

A bullet is one line in the file, so a heading, a fence or a comment inside it stays inside it. A bullet
that is given on several lines is folded into one: indented lines belong to the bullet above them.

One rule for each line, without the line above it, does not do: of the tests of RFC six fail with that, for folded
bullets (RFC-30), lossless compression (RFC-52), comments of the template (AMB-RFC-22) and the questions' own layout.
"""

from __future__ import annotations

from holdfast.kernel.patterns import compile_later
from holdfast.kernel.text import harmless

OPEN, CLOSE = "<!--", "-->"
FENCES = ("```", "~~~")
# A line that is indented this far belongs to the bullet above it.
INDENT = 2
# The sign of a list item: `-`, `*`, `+`, `1.` or `1)`.
_SIGN = r"[-*+](?: |$)|[0-9]+[.)] "
_ITEM = compile_later(_SIGN)
_HEADING = compile_later(r"(#+)(?: |$)")
# A line that begins a block of its own below a bullet. A conflict mark of git must not disappear inside one.
_BLOCK = compile_later(
    rf"{_SIGN}|#+(?: |$)|---+$|{OPEN}|```|~~~|(?:<{{7}}|={{7}}|>{{7}}|\|{{7}})(?: |$)"
)


class Block:
    """A piece of the text with its first and last line, counted from 1. `kind` is heading, rule, bullet, comment, text or
    unclosed. `level` is that of a heading; of a bullet, how far a line is indented that belongs to it."""

    def __init__(self, kind: str, text: str, line: int, level: int = 0) -> None:
        self.kind = kind
        self.text = text
        self.line = self.end = line
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
    """Return the blocks of a text. A line with one of `titles` (lower case) is a heading, even if it is
    numbered or bold instead of marked with `#`."""
    blocks: list[Block] = []
    in_fence = False
    for number, whole in enumerate(lines, start=1):
        line = whole.expandtabs(4)
        stripped, indent = line.strip(), len(line) - len(line.lstrip())
        last = blocks[-1] if blocks else None
        bullet = last if last and last.kind == "bullet" else None
        title, item = _find_title(stripped, titles), _find_item(stripped)
        if last and last.kind == "unclosed":
            _close_comment(blocks, line, number)
        elif not stripped:
            continue
        elif bullet and indent >= bullet.level:
            is_fence = stripped.startswith(FENCES)
            bullet.text += _join(bullet.text, stripped, is_code=in_fence or is_fence)
            bullet.end = number
            in_fence = in_fence != is_fence
        elif bullet and number == bullet.end + 1 and not (title or _BLOCK.match(stripped)):
            bullet.text += f" {stripped}"
            bullet.end = number
        elif title:
            blocks.append(Block("heading", title, number, 3))
        elif item is not None:
            blocks.append(Block("bullet", item, number, indent + INDENT))
            in_fence = item.startswith(FENCES)
        elif stripped.startswith(OPEN):
            blocks.append(Block("unclosed", "a comment", number))
            _close_comment(blocks, line, number, line.index(OPEN) + len(OPEN))
        elif heading := _HEADING.match(stripped):
            blocks.append(Block("heading", stripped.lstrip("#"), number, len(heading[1])))
        else:
            is_rule = len(stripped) >= 3 and not stripped.strip("-")
            blocks.append(Block("rule" if is_rule else "text", stripped, number))
    for block in blocks:
        block.text = one_line(block.text)
        if block.kind == "bullet" and is_comment(block.text):
            block.kind = "comment"
    return [block for block in blocks if block.text or block.kind != "bullet"]


def _join(before: str, stripped: str, *, is_code: bool) -> str:
    """Return what a line adds to a bullet. A nested list becomes aspects separated by `;`; AMB-RFC-17."""
    nested = None if is_code else _find_item(stripped)
    if nested is None:
        return "" if is_comment(stripped) and not is_code else f" {stripped}"
    needs_mark = before and not before.rstrip().endswith((":", ";"))
    return f"{';' if needs_mark else ''} {nested}"


def _close_comment(blocks: list[Block], line: str, number: int, start: int = 0) -> None:
    """End the comment where this line does; text behind its end is a block of its own."""
    blocks[-1].end = number
    _, close, rest = line[start:].partition(CLOSE)
    if close:
        blocks[-1].kind, blocks[-1].text = "comment", ""
        if rest.strip():
            blocks.append(Block("text", rest, number))


def _find_title(stripped: str, titles: frozenset[str]) -> str:
    """`### Scan Insights`, `2. SCAN INSIGHTS (2-4 bullets):` and `**Scan Insights**`."""
    if not titles or stripped.startswith(("- ", "+ ")):
        return ""
    bare = stripped.lstrip("#*_ 0123456789.)").partition("(")[0].rstrip(":*_ ").lower()
    return bare if bare in titles else ""


def _find_item(stripped: str) -> str | None:
    """Return the text of a list item, None where there is none."""
    sign = _ITEM.match(stripped)
    return stripped[sign.end() :].strip() if sign else None
