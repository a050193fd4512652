"""A checkpoint written by hand, against the protocol, line by line, as a compiler would say it."""

from __future__ import annotations

from holdfast.rfc.rules import fields as state_fields
from holdfast.rfc.rules.budget import findings
from holdfast.rfc.rules.parse import Parsed
from holdfast.rfc.rules.words import (
    KEPT_ROUNDS,
    MOST_GROUP_LINES,
    MOST_LINES,
    heading_of,
    round_of,
    sections_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    class Remark(TypedDict):
        """Something about one line of one file."""

        path: str
        line: int
        severity: Literal["error", "warning"]
        message: str


def checkpoint(text: str, path: str, *, id: str = "", lenient: bool = False) -> list[Remark]:
    """What is wrong with a checkpoint.md, by line. Too little is a warning when lenient."""
    read = Parsed(text)
    found: list[Remark] = []

    def add(line: int, message: str, severity: Literal["error", "warning"] = "error") -> None:
        found.append({"path": path, "line": line, "severity": severity, "message": message})

    for problem in read.problems:
        add(problem["line"], problem["message"], "warning" if problem["own"] else "error")
    if id and read.id and read.id != id:
        add(1, f"the title names {read.id:.60}, the folder {id}")
    for group in read.groups:
        key = group["key"]
        first, count = read.spans[key]
        if count > MOST_GROUP_LINES:
            what = f"{heading_of(key)} has {count} lines, {MOST_GROUP_LINES} is the most"
            add(first + MOST_GROUP_LINES, what)
        for finding in findings(key, group["sections"]):
            place = (key, finding["section"])
            bullets = read.bullet_lines.get(place, [])
            line = bullets[finding["bullet"] - 1] if 0 < finding["bullet"] <= len(bullets) else 0
            too_little = finding["kind"] == "under" and lenient
            line = line or read.section_lines.get(place, first)
            add(line, finding["message"], "warning" if too_little else "error")
        _check_sections(read, key, add)
    rounds = sorted(round_of(group["key"]) for group in read.groups if round_of(group["key"]))
    for number in rounds[:-KEPT_ROUNDS]:
        key = next(one["key"] for one in read.groups if round_of(one["key"]) == number)
        add(read.spans[key][0], f"only the last {KEPT_ROUNDS} rounds stay")
    if rounds and read.document["strictness"] == "light":
        add(read.meta["strictness"][0], "Light has no Gate-B, and here is a round of it")
    last = read.document["meta"]["last_phase"]
    if last and not read.fatal and last not in read.spans:
        add(read.meta["last_phase"][0], f"last_phase is {last}, and there is no such group")
    if len(read.lines) > MOST_LINES:
        add(MOST_LINES + 1, f"{len(read.lines)} lines, {MOST_LINES} is the most")
    return sorted(found, key=lambda remark: remark["line"])


def _check_sections(read: Parsed, key: str, add: Any) -> None:
    """Each of them there, and in the protocol's order."""
    lines = [read.section_lines.get((key, title), 0) for title in sections_of(key)]
    for title, line in zip(sections_of(key), lines, strict=True):
        if not line:
            add(read.spans[key][0], f"{heading_of(key)} has no `### {title}`")
    there = [line for line in lines if line]
    for position, line in enumerate(there[1:], start=1):
        if line < there[position - 1]:
            add(line, "this section stands before the one that it should follow")


def state(text: str, path: str, *, id: str = "", version: int = 0) -> list[Remark]:
    """What is wrong with a state.json; `version` is what the checkpoint beside it says."""
    lines = text.split("\n")

    def remark(key: str, message: str) -> Remark:
        line = next((n for n, one in enumerate(lines, 1) if one.lstrip().startswith(f'"{key}"')), 1)
        severity: Literal["error", "warning"] = "error" if key in state_fields.KEYS else "warning"
        return {"path": path, "line": line, "severity": severity, "message": f"{key}: {message}"}

    import json

    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        return [{"path": path, "line": line, "severity": "error", "message": f"not JSON: {error}"}]
    if not isinstance(value, dict):
        return [{"path": path, "line": 1, "severity": "error", "message": "not a JSON object"}]
    found = state_fields.problems(value) + state_fields.shortcomings(value)
    if id and value.get("rfc_id") not in (None, id):
        found.append(("rfc_id", f"is not {id}, the folder's name"))
    said = value.get("checkpoint_version", 0)
    if version and said != version and isinstance(said, int):
        found.append(("checkpoint_version", f"is {said}, and the checkpoint's is {version}"))
    return sorted((remark(*one) for one in found), key=lambda one: one["line"])


def claims_a_checkpoint(text: str) -> bool:
    """Whether a state.json says that a checkpoint was written."""
    try:
        return version_of(state_fields.read(text)) > 0
    except ValueError:
        return False
