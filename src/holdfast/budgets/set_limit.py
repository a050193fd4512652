"""Write a limit into the protocol's own file, as a person asks for it. The rest of the file stays as it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TypedDict

from holdfast.budgets.check import Budget
from holdfast.budgets.limits import PROJECT_FILE, parse_project_file
from holdfast.budgets.rules.thresholds import ALL_TYPES, LEVELS, QUANTITIES, STOP, Limits
from holdfast.kernel.errors import HoldfastError, Usage, from_os_error
from holdfast.kernel.text import nearest
from holdfast.kernel.tree_file import TreeFile
from holdfast.people import person as people


@dataclass(frozen=True, kw_only=True)
class SetRequest:
    """The limit of a type at a level, as a person writes the number: `5`, `$5`, `40%`."""

    type: str
    number: str
    level: str = STOP


class SetResult(TypedDict):
    """What the file says now. `lowered` are the levels below that gave way."""

    path: str
    level: str
    type: str
    written: str
    lowered: list[str]


def set_limit(budget: Budget, request: SetRequest, *, now: int) -> SetResult:
    """Write one number into `.autopilot/config.yaml`; only a person at a terminal can."""
    type, level = request.type, request.level
    if type not in ALL_TYPES:
        raise Usage(f"There is no limit of {type!r:.40}.", hint=nearest(type, ALL_TYPES))
    try:
        number = QUANTITIES[type].read(request.number)
    except ValueError as problem:
        raise Usage(f"{type} {problem}.", hint=f"holdfast guard set {type} 5") from None
    file = TreeFile(budget.workspace.root, PROJECT_FILE)
    before = _read(file)
    known = parse_project_file(before)
    below = LEVELS[: LEVELS.index(level)]
    lowered = [one for one in below if known.get(one, {}).get(type, number) > number]
    written = f"{number:g}"
    after = before
    for one in (*lowered, level):
        after = put_number(after, one, type, written)
    expected = {one: {**known.get(one, {})} for one in LEVELS}
    for one in (*lowered, level):
        expected[one][type] = number
    if not _says(after, {one: numbers for one, numbers in expected.items() if numbers}):
        raise HoldfastError(
            f"{PROJECT_FILE} is written in a way that cannot be changed line by line.",
            hint=f"Write it there yourself: thresholds: {{{level}: {{{type}: {written}}}}}",
            kind="bad_config",
        )
    shown = [f"{PROJECT_FILE}: {level}.{type}: {written}"]
    people.require(budget.workspace, f"set {level}.{type}", shown, now=now)
    try:
        file.write(after.encode())
    except OSError as error:
        raise from_os_error(error, f"writing {PROJECT_FILE}") from error
    shows = QUANTITIES[type].show(number)
    return SetResult(path=PROJECT_FILE, level=level, type=type, written=shows, lowered=lowered)


def _says(text: str, limits: Limits) -> bool:
    try:
        return parse_project_file(text) == limits
    except HoldfastError:
        return False


def _read(file: TreeFile) -> str:
    try:
        return file.read().decode("utf-8")
    except FileNotFoundError:
        TreeFile(file.root, os.path.dirname(PROJECT_FILE)).make_folder()
        return ""
    except UnicodeDecodeError:
        raise HoldfastError(f"{PROJECT_FILE} is not UTF-8.", kind="bad_config") from None
    except OSError as error:
        raise from_os_error(error, f"reading {PROJECT_FILE}") from error


def put_number(text: str, level: str, type: str, number: str) -> str:
    """Return YAML with one number of `thresholds` replaced or added; a level may be in braces on its line."""
    lines = text.split("\n")
    first, last, indent = 0, len(lines), ""
    for depth, name in enumerate(("thresholds", level, type)):
        at = _find(lines, first, last, indent, name)
        if at < 0:
            names = ("thresholds", level, type)[depth:]
            added = [f"{indent}{'  ' * more}{one}:" for more, one in enumerate(names)]
            added[-1] += f" {number}"
            while last > first and not lines[last - 1].strip():
                last -= 1
            return "\n".join([*lines[:last], *added, *(lines[last:] or [""])])
        if name == type:
            head = lines[at].partition(":")[0]
            comment = re.search(r"\s+#.*$", lines[at])
            lines[at] = f"{head}: {number}{comment[0] if comment else ''}"
            break
        braces = re.fullmatch(r"([^{#]*\{)([^{}]*)(\}\s*(?:#.*)?)", lines[at])
        if name == level and braces:
            before, inner, after = braces.groups()
            known = re.compile(rf"(?<![\w\"'])[\"']?{type}[\"']?\s*:[^,]*")
            more = f"{inner.rstrip()}, " if inner.strip() else ""
            said = f"{type}: {number}"
            now = known.sub(said, inner) if known.search(inner) else more + said
            lines[at] = f"{before}{now}{after}"
            break
        first = at + 1
        last = next((n for n in range(first, last) if _is_outside(lines[n], lines[at])), last)
        inner = next((line for line in lines[first:last] if _is_entry(line)), "")
        indent = inner[: len(inner) - len(inner.lstrip())] or indent + "  "
    return "\n".join(lines)


def _find(lines: list[str], first: int, last: int, indent: str, name: str) -> int:
    pattern = re.compile(rf"{indent}[\"']?{name}[\"']?\s*:")
    return next((n for n in range(first, last) if pattern.match(lines[n])), -1)


def _is_entry(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _is_outside(line: str, head: str) -> bool:
    """Return whether a line is no part of the table that a line begins."""
    depth = len(head) - len(head.lstrip())
    return _is_entry(line) and len(line) - len(line.lstrip()) <= depth
