"""Text of others as a terminal may show it: what could move its cursor is only pictured."""

from __future__ import annotations

UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def safe(text: str) -> str:
    """Text from agents is data: no escape sequence of theirs reaches the terminal."""
    return "".join(
        letter if letter in "\n\t" or (letter.isprintable() or letter == " ") else _shown(letter)
        for letter in text
    )


def _shown(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)  # a picture of the control character
    return UNKNOWN


# Marks that show letters in an order that is not theirs, and blanks that take no room. The joiners U+200C
# and U+200D stay: Persian and emoji need them.
_UNSEEN = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x2060, 0xFEFF)
# Those, and escape and its like.
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *_UNSEEN), 0xFFFD),
}


def harmless(text: str) -> str:
    """A document that is safe to show with `cat`. Every letter of every language stays."""
    text = text.translate(_CONTROLS)
    if "\r" not in text:
        return text
    ends = text.replace("\r\n", "\0")  # a return alone would write over its own line
    return ends.replace("\r", "\N{SYMBOL FOR CARRIAGE RETURN}").replace("\0", "\r\n")


# JSON escapes the first 32 by itself.
_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x20}


def harmless_json(text: str) -> str:
    """The same for a JSON text: its control characters are escaped, so that it means what it meant."""
    return text if text.isascii() and "\x7f" not in text else text.translate(_ESCAPES)


def without_nul(text: str) -> str:
    """A text for a store that has no place for NUL: PostgreSQL, files that shells read."""
    return text.replace("\0", UNKNOWN)


def one_line(text: str, most: int = 0) -> str:
    """A text on one line, with single spaces. A text of several lines could look like a part of what
    surrounds it. Of one with more than `most` characters the beginning stays; 0 is no limit."""
    line = " ".join(text.split())
    return line if not most or len(line) <= most else line[: most - 1] + "…"


def width(text: str) -> int:
    """How many columns a text takes; some letters take two, and some none."""
    return len(text) if text.isascii() else sum(letter_width(letter) for letter in text)


def letter_width(letter: str) -> int:
    if letter.isascii():
        return 1
    from unicodedata import combining, east_asian_width

    if combining(letter):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def shortened(text: str, columns: int) -> str:
    """The beginning of a text that fits into so many columns."""
    if width(text) <= columns:
        return text
    kept, taken = "", 1
    for letter in text:
        taken += letter_width(letter)
        if taken > columns:
            break
        kept += letter
    return f"{kept.rstrip()}…" if columns > 0 else ""


def plural(count: int, one: str, many: str = "") -> str:
    """A number of things: `1 hook`, `2 hooks`."""
    return f"{count} {one if count == 1 else many or one + 's'}"
