"""The ratchet of the lines: how many lines of Python each folder has.

A change that raises a number says in its commit what it removed, or why not. One that lowers a number lowers it here. The
goal for the whole is 78,000.
"""

from __future__ import annotations

import ast
from pathlib import Path

import holdfast

SOURCE = Path(holdfast.__file__).parent
MODULES = "its own modules"
LIMITS = {
    MODULES: 909,
    "answers": 977,
    "away": 1229,
    "budgets": 5125,
    "cli": 3548,
    "clients": 9296,
    "contrib": 3190,
    "estop": 398,
    "fleet": 7680,
    "gates": 3766,
    "git": 2652,
    "hooks": 2627,
    "journal": 5459,
    "kernel": 10311,
    "loop": 4853,
    "maintenance": 4408,
    "mcp": 844,
    "memory": 3053,
    "note": 365,
    "observe": 2526,
    "pack": 1649,
    "people": 597,
    "plans": 7041,
    "processes": 1354,
    "remote": 1822,
    "rfc": 4231,
    "runner": 165,
    "session": 7909,
    "testing": 1939,
    "trackers": 1229,
    "undo": 3072,
    "usage": 734,
    "web": 4015,
}
# How many imports stand inside functions. Wanted are those of the modules that a hook loads, and of optional packages.
INSIDE = 449
# A folder that became smaller by this share is written down again.
SLACK = 0.03


def count_lines() -> dict[str, int]:
    """Return the lines of each folder, and of the modules beside the folders."""
    lines: dict[str, int] = {}
    for path in SOURCE.rglob("*.py"):
        folder, *below = path.relative_to(SOURCE).parts
        name = folder if below else MODULES
        lines[name] = lines.get(name, 0) + len(path.read_text(encoding="utf-8").splitlines())
    return lines


def test_no_folder_grows() -> None:
    lines = count_lines()
    grown = {
        name: (count, LIMITS.get(name))
        for name, count in lines.items()
        if count > LIMITS.get(name, 0)
    }
    assert grown == {}, "lines, and their limit"
    shrunk = {
        name: (lines.get(name, 0), most)
        for name, most in LIMITS.items()
        if lines.get(name, 0) < most * (1 - SLACK)
    }
    assert shrunk == {}, "lower the limits of these"


def count_imports_inside() -> int:
    """Return how many imports stand inside functions."""
    inside: set[tuple[Path, int]] = set()
    for path in SOURCE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                inside |= {
                    (path, one.lineno)
                    for one in ast.walk(function)
                    if isinstance(one, ast.Import | ast.ImportFrom)
                }
    return len(inside)


def test_no_more_imports_stand_inside_functions() -> None:
    assert count_imports_inside() <= INSIDE
