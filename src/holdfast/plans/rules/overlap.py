"""Which plans change the same files: by name, by a folder of them, or by a pattern such as `src/*.py`."""

from __future__ import annotations

import posixpath
from fnmatch import fnmatchcase
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.plans.rules.model import Plan

_WILD = "*?["


def is_outside(name: str) -> bool:
    """Whether a name leads out of the project."""
    plain = _normalized(name)
    return plain.startswith(("/", "~", "../")) or plain == ".."


def pairs(plans: Sequence[Plan]) -> Iterator[tuple[Plan, Plan, list[str]]]:
    """Every two plans that change the same, with what both change."""
    owners: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        for name in dict.fromkeys(map(_normalized, plan["files_modified"])):
            owners.setdefault(name, []).append(number)
    shared: dict[tuple[int, int], set[str]] = {}
    for name, theirs in owners.items():
        wider = [one for one in _folders(name) if one in owners]
        if _is_wild(name):
            wider += [one for one in owners if one != name and _meets(name, one)]
        for other in [name, *wider]:
            # The narrower of two names says where they meet.
            met = min(name, other, key=lambda one: (_is_wild(one), -len(one)))
            for first, second in product(theirs, owners[other]):
                if first != second:
                    pair = (min(first, second), max(first, second))
                    shared.setdefault(pair, set()).add(met)
    for first, second in sorted(shared):
        yield plans[first], plans[second], sorted(shared[first, second])


def _meets(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name, or something that another pattern matches as well."""
    if not _is_wild(name):
        return fnmatchcase(name, pattern)
    first, second = _signs(pattern), _signs(name)
    if not (_begins(first, second) and _begins(first[::-1], second[::-1])):
        return False  # most pairs end here, and cheaply
    # The places in the second that can be reached with so much of the first.
    reached = _widened({0}, second)
    for sign in first:
        if sign == "*":
            reached = set(range(min(reached), len(second) + 1))
            continue
        onward = {
            place if second[place] == "*" else place + 1
            for place in reached
            if place < len(second) and (sign == "" or second[place] in ("*", "", sign))
        }
        reached = _widened(onward, second)
        if not reached:
            return False
    return len(second) in reached


def _widened(places: set[int], signs: list[str]) -> set[int]:
    """The same places, and those behind a `*` that stands for nothing."""
    # Two of them never stand side by side.
    return places | {one + 1 for one in places if one < len(signs) and signs[one] == "*"}


def _begins(first: list[str], second: list[str]) -> bool:
    for one, other in zip(first, second, strict=False):
        if "*" in (one, other):
            return True
        if one != other and one and other:
            return False
    return True


def _signs(pattern: str) -> list[str]:
    """The letters of a pattern; an empty text is any one letter, as `?` and, to be sure, every `[...]`."""
    found: list[str] = []
    place = 0
    while place < len(pattern):
        letter = pattern[place]
        end = pattern.find("]", place + 2) if letter == "[" else -1
        if letter == "?" or end > 0:
            found.append("")
        elif letter != "*" or found[-1:] != ["*"]:
            found.append(letter)
        place = end + 1 if end > 0 else place + 1
    return found


def _is_wild(name: str) -> bool:
    return any(letter in name for letter in _WILD)


def _normalized(name: str) -> str:
    return posixpath.normpath(name.strip().replace("\\", "/"))


def _folders(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
    yield "."
