"""What a compressor must not lose: which bullets are still there in other words."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.rfc.rules.words import Section

# A bullet counts as kept when a third of what distinguishes it is together in one of the new ones.
KEPT_SHARE = 3
STEM = 5
_WITHOUT_BLANKS = 0x2E80  # from here on, scripts that set no blanks between words


def vanished(before: Sequence[Section], after: Sequence[Section]) -> list[str]:
    """The bullets of which nothing is left in their section, in their own words."""
    now = {section["title"]: section["bullets"] for section in after}
    gone: list[str] = []
    for section in before:
        bullets = section["bullets"]
        for bullet in bullets:
            others = [one for one in bullets if one != bullet]
            if not _is_kept(bullet, others, now.get(section["title"], [])):
                gone.append(bullet)
    return gone


def _is_kept(bullet: str, others: Sequence[str], now: Sequence[str]) -> bool:
    if any(_holds(one, bullet) for one in now):
        return True
    # What stands there as it was says what it said before, and nothing for another.
    changed = [one for one in now if one not in others]
    for words in (_stems, _words):
        own = words(bullet).difference(*map(words, others))
        if own:
            return any(len(own & words(one)) * KEPT_SHARE >= len(own) for one in changed)
    # Nothing distinguishes it: then all of it has to be together.
    every = _words(bullet)
    return bool(every) and any(every <= _words(one) for one in changed)


def _holds(text: str, bullet: str) -> bool:
    """Whether a bullet stands in a text word by word; `number 1` is not in `number 10`."""
    words = _split(bullet)
    if not words:
        return bullet in text
    return f" {' '.join(words)} " in f" {' '.join(_split(text))} "


def _split(text: str) -> list[str]:
    return "".join(letter if letter.isalnum() else " " for letter in text.casefold()).split()


def _words(text: str) -> set[str]:
    return set(_split(text))


def _stems(text: str) -> set[str]:
    """The beginnings of the longer words, the numbers, and pairs of letters in other scripts."""
    stems: set[str] = set()
    for word in _split(text):
        if ord(max(word)) >= _WITHOUT_BLANKS:
            stems.update(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        elif not word.isalpha():
            stems.add(word)
        elif len(word) > 3:
            stems.add(word[:STEM])
    return stems
