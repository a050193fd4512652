"""Text of others as a terminal may show it: what could move its cursor is only pictured."""

from __future__ import annotations


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
    return "\N{REPLACEMENT CHARACTER}"
