"""The name of a gate, and `{{gate.NAME}}`: how a later task reads what a person answered.

A name that the author gave, as in `<task type="checkpoint:decision" name="auth">`, is known in the whole
run. A checkpoint without one is called after its type and its number among those of its type in the
file, such as `decision-1`, and is known in its own plan only.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,47}")
REFERENCE = re.compile(r"\{\{\s*gate\.([^{}\s]*)\s*\}\}")
# Also what would have the variable of a default.
_DEFAULT = re.compile(r"(?:human[-_]verify|decision|human[-_]action)[-_]\d+", re.IGNORECASE)


def default(type: str, number: int) -> str:
    return f"{type}-{number}"


def is_given(name: str) -> bool:
    """Whether an author chose the name: those of the form of a default belong to their own plan."""
    return not _DEFAULT.fullmatch(name)


def variable(name: str) -> str:
    """`HOLDFAST_GATE_AUTH_PROVIDER` for `auth-provider`."""
    return "HOLDFAST_GATE_" + name.upper().replace("-", "_")


def references(text: str) -> list[tuple[str, int]]:
    """The names that a text asks for, each with the number of lines before it."""
    return [(match[1], text.count("\n", 0, match.start())) for match in REFERENCE.finditer(text)]


def quoted_references(command: str) -> list[tuple[str, int]]:
    """Those that stand between quotes of a shell: an answer brings its own quotes, and between others
    they would end, so that it could become a command."""
    found = []
    quote, at = "", 0
    while at < len(command):
        letter = command[at]
        match = REFERENCE.match(command, at) if letter == "{" else None
        if match:
            if quote:
                found.append((match[1], command.count("\n", 0, at)))
            at = match.end()
            continue
        if letter == "\\" and quote != "'":
            at += 1
        elif letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        at += 1
    return found


def fill(text: str, answers: Mapping[str, str], *, quoted: bool) -> str:
    """The text with the answers in it. In a command they are quoted for the shell: an answer is data.
    A name that has no answer stays as it is written."""

    def answer(match: re.Match[str]) -> str:
        found = answers.get(match[1])
        if found is None:
            return match[0]
        return shlex.quote(found) if quoted else found

    return REFERENCE.sub(answer, text)
