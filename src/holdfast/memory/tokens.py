"""The words of a text and of a question. Pure.

A word is a run of letters and digits. A mixed-case word gives its parts, too, so that `readFile` answers to "read
file". Words that say nothing are left out, of the question and of the index alike: what stands next to each other is
counted in words that say something.
"""

from __future__ import annotations

import re

from holdfast.kernel.text import split_words

WORD = re.compile(r"[^\W_]+")
_MIXED = re.compile(r"[a-z0-9]+[A-Z][A-Za-z0-9]*|[A-Z]+[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# What a commit's subject begins with, as questions often are subjects.
_PREFIX = re.compile(
    r"^(?:feat|fix|chore|docs|tests?|refactor|style|perf|ci|build|wip|revert)(?:\([^)]*\))?!?:\s*",
    re.IGNORECASE,
)
STOP_WORDS = frozenset(
    split_words(
        "a also an and are as at be but by can could did do does for from had has have how i if in into is it its me "
        "more my no not of on one or our should so that the their then there these this to us use used using via was "
        "we were what when where which who why will with would you your"
    )
)
# A longer question has room for no more words; its rarest ones count.
MOST_WORDS = 40
LONGEST_QUESTION = 10_000


def split(text: str) -> list[str]:
    """Return the words of a text in their order, in lower case, without those that say nothing."""
    spread = _MIXED.sub(_with_parts, text)
    return [word for word in WORD.findall(spread.lower()) if word not in STOP_WORDS]


def _with_parts(match: re.Match[str]) -> str:
    return f"{match[0]} {' '.join(part for part in _PART.findall(match[0]) if len(part) > 1)}"


def read_question(question: str) -> list[str]:
    """Return the words that a question looks for, each once; those that say nothing only where there are no
    others."""
    text = _PREFIX.sub("", question[:LONGEST_QUESTION].strip())
    found = split(text) or WORD.findall(text.lower())
    return list(dict.fromkeys(found))
