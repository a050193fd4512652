"""Make a session's edits again, on the text that they were made on. Pure.

An edit is made again only where there is no doubt: its old text stands there exactly once, or the edit
replaces every occurrence. Other edits are left out, with the reason.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from holdfast.kernel.patterns import compile_later

if TYPE_CHECKING:
    from holdfast.clients.conversation import Change, Replacement


class SessionEdit(TypedDict):
    """One edit of one file. `path` is seen from the top of the work tree, `origin` is what the
    file was called before. `at` is when, empty where the client does not say."""

    number: int
    at: str
    path: str
    origin: str
    change: Change
    exact: Sequence[Replacement]


class EditProblem(TypedDict):
    """An edit that was not made again. `number` counts the edits of the session."""

    number: int
    at: str
    why: str


class Misfit(Exception):
    """An edit does not fit the text; the message says why."""


NOT_THERE = "its old text is not there"
# `splitlines` would cut at a form feed, too.
_LINE = compile_later(r"[^\n]*\n|[^\n]+")
_UNDOES = compile_later(r"\bgit\s+(checkout|restore|reset|stash)\b([^;&|\n]*)")
_NO_STASH = frozenset(("apply", "drop", "list", "pop", "show"))


def make_again(text: str | None, edit: SessionEdit) -> str | None:
    """The text after an edit; None: there is no file. `Misfit` where it does not fit."""
    if edit["change"] == "deleted":
        return None
    if not edit["exact"] and not edit["origin"]:
        raise Misfit("the transcript does not hold its text")
    for one in edit["exact"]:
        text = _replace(text, one)
    return text


def _replace(text: str | None, one: Replacement) -> str:
    new = unified(one.get("new", ""))
    is_part = one.get("whole_lines", False)
    if "old" not in one and not is_part:
        return new
    if text is None:
        raise Misfit("its file is not there")
    old = unified(one.get("old", ""))
    if is_part:
        return _patch(text, old, new, one.get("after", ""))
    if one.get("with_break") and not old.endswith("\n") and f"{old}\n" in text:
        old += "\n"
    count = text.count(old)
    if not count:
        raise Misfit(NOT_THERE)
    if count > 1 and not one.get("everywhere"):
        raise Misfit(f"its old text is there {count} times")
    return text.replace(old, new)


def _patch(text: str, old: str, new: str, after: str) -> str:
    """Whole lines are replaced: the first such lines behind the line `after`, else the only ones."""
    if text and not text.endswith("\n"):
        text += "\n"
    start = _behind(text, after)
    if not old:
        place = start if start >= 0 else len(text)
        return text[:place] + new + text[place:]
    # With a line break before, a match begins with a line.
    within, wanted = f"\n{text}", f"\n{old}"
    found = within.find(wanted, max(start, 0))
    if found < 0 and start > 0:
        found = within.find(wanted)
    if found < 0:
        raise Misfit(NOT_THERE)
    if start < 0 and within.count(wanted) > 1:
        raise Misfit(f"its old text is there {within.count(wanted)} times")
    return text[:found] + new + text[found + len(old) :]


def _behind(text: str, line: str) -> int:
    """The place behind a line; -1 where there is none such."""
    place = 0
    for one in text.split("\n") if line else ():
        place += len(one) + 1
        if one.strip() == line:
            return place
    return -1


def unified(text: str) -> str:
    """Text with one kind of line break."""
    return text.replace("\r\n", "\n") if "\r\n" in text else text


def holds(text: str | None, edit: SessionEdit) -> bool:
    """Whether a text has everything that an edit put in."""
    new = [unified(one.get("new", "")) for one in edit["exact"]]
    return text is not None and bool(new) and all(part.strip() and part in text for part in new)


def has_most(present: str, base: str | None, final: str | None) -> bool:
    """Whether a text has more than half of the lines that the edits added."""
    before, now = set((base or "").split("\n")), set(present.split("\n"))
    added = [line for line in (final or "").split("\n") if line.strip() and line not in before]
    return 2 * sum(line in now for line in added) > len(added)


def undone_by(command: str, folder: str) -> list[str]:
    """The files and folders whose changes a command of git discards or puts aside."""
    found = []
    for verb, rest in _UNDOES.findall(command):
        words = [word.strip("\"'") for word in rest.split()]
        if verb in ("checkout", "restore"):
            found += [word if word.startswith("/") else f"{folder}/{word}" for word in words]
        elif "--hard" in words or (verb == "stash" and not _NO_STASH.intersection(words)):
            found.append(folder)
    return found


def diff_of(path: str, present: str | None, wanted: str | None) -> str:
    """From one text of a file to another, as `git apply` and `patch -p1` take it; None: no file."""
    lines: list[str] = []
    for line in difflib.unified_diff(
        _LINE.findall(present or ""),
        _LINE.findall(wanted or ""),
        "/dev/null" if present is None else f"a/{path}",
        "/dev/null" if wanted is None else f"b/{path}",
    ):
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)
