"""Check the files of an RFC, or any checkpoint, against the protocol, line by line."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.kernel.errors import NotFound, from_os_error
from holdfast.kernel.views.files import Unreadable, file_at, read_file, text_of
from holdfast.rfc.reader import Reader
from holdfast.rfc.rules import state_file
from holdfast.rfc.rules.budget import findings
from holdfast.rfc.rules.document import Parsed
from holdfast.rfc.rules.model import (
    CHECKPOINT_FILE,
    KEPT_ROUNDS,
    MOST_GROUP_LINES,
    MOST_LINES,
    STATE_FILE,
    heading_of,
    path_of,
    round_of,
    sections_of,
    version_of,
)

if TYPE_CHECKING:
    from holdfast.kernel.tree_file import TreeFile
    from holdfast.kernel.workspace import Workspace

Severity = Literal["error", "warning"]


class Remark(TypedDict):
    """A remark about one line of a file."""

    path: str
    line: int
    severity: Severity
    message: str


class _Remarks(list[Remark]):
    """The remarks about one file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def add(self, line: int, message: str, severity: Severity = "error") -> None:
        self.append({"path": self.path, "line": line, "severity": severity, "message": message})


def lint(workspace: Workspace, target: str = "", *, lenient: bool = False) -> list[Remark]:
    """Check a file, or both files of the RFC with this id. Too few bullets are a warning if lenient."""
    if target and (os.sep in target or os.path.isfile(target)):
        text, found = _read(target, target)
        if text is None and not found:
            raise NotFound(f"There is no file {target}.")
        if text is None:
            return found
        is_state = target.endswith(STATE_FILE)
        return (
            lint_state(text, target) if is_state else lint_checkpoint(text, target, lenient=lenient)
        )
    with Reader(workspace) as reader:
        id = reader.find(target)
    path, state_path = path_of(id, CHECKPOINT_FILE), path_of(id, STATE_FILE)
    text, found = _read(file_at(workspace, path), path)
    state, in_state = _read(file_at(workspace, state_path), state_path)
    version = 0
    if text is not None:
        version = Parsed(text).version
        found = lint_checkpoint(text, path, id=id, lenient=lenient)
    elif not found and state is not None and _claims_a_checkpoint(state):
        found.add(1, "is missing")
    if state is not None:
        in_state = lint_state(state, state_path, id=id, version=version)
    elif not in_state:
        in_state.add(1, "is missing")
    return [*found, *in_state]


def _read(place: TreeFile | str, path: str) -> tuple[str | None, _Remarks]:
    found = _Remarks(path)
    try:
        return text_of(read_file(place)[1]), found
    except FileNotFoundError:
        pass
    except Unreadable as problem:
        found.add(1, f"is {problem}")
    except OSError as error:
        raise from_os_error(error, f"reading {path}") from error
    return None, found


def lint_checkpoint(text: str, path: str, *, id: str = "", lenient: bool = False) -> _Remarks:
    """The remarks about a checkpoint.md in the order of its lines."""
    read = Parsed(text)
    found = _Remarks(path)
    for problem in read.problems:
        found.add(
            problem["line"], problem["message"], "warning" if problem["level"] == "own" else "error"
        )
    if id and read.id and read.id != id:
        found.add(1, f"the title names {read.id:.60}, the folder {id}")
    for key in read.spans:
        _lint_group(read, key, found, lenient)
    rounds = sorted((key for key in read.spans if round_of(key)), key=round_of)
    for key in rounds[:-KEPT_ROUNDS]:
        found.add(read.spans[key][0], f"only the last {KEPT_ROUNDS} rounds stay")
    if rounds and read.strictness == "light":
        found.add(read.meta_lines["strictness"], "Light has no Gate-B, and here is a round of it")
    last = read.meta["last_phase"]
    if last and not read.fatal and last not in read.spans:
        what = f"last_phase is {last}, and there is no such group"
        found.add(read.meta_lines["last_phase"], what)
    if len(read.lines) > MOST_LINES:
        found.add(MOST_LINES + 1, f"{len(read.lines)} lines, {MOST_LINES} is the most")
    found.sort(key=lambda remark: remark["line"])
    return found


def _lint_group(read: Parsed, key: str, found: _Remarks, lenient: bool) -> None:
    """The limits of a group, and its sections: complete and in order."""
    first, count = read.spans[key]
    if count > MOST_GROUP_LINES:
        what = f"{heading_of(key)} has {count} lines, {MOST_GROUP_LINES} is the most"
        found.add(first + MOST_GROUP_LINES, what)
    group = next(group for group in read.groups if group["key"] == key)
    for finding in findings(key, group["sections"]):
        place = (key, finding["section"])
        bullet = finding["bullet"]
        line = read.bullet_lines[place][bullet - 1] if bullet else read.section_lines[place]
        too_few = finding["kind"] == "under" and lenient
        found.add(line, finding["message"], "warning" if too_few else "error")
    before = 0
    for title in sections_of(key):
        line = read.section_lines.get((key, title), 0)
        if not line:
            found.add(first, f"{heading_of(key)} has no `### {title}`")
        elif line < before:
            found.add(line, "this section stands before the one that it should follow")
        before = line or before


def lint_state(text: str, path: str, *, id: str = "", version: int = 0) -> _Remarks:
    """The remarks about a state.json. `version` is the version of its checkpoint."""
    found = _Remarks(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        found.add(getattr(error, "lineno", 1), f"not JSON: {error}")
        return found
    if not isinstance(value, dict):
        found.add(1, "not a JSON object")
        return found
    problems = state_file.problems(value) + state_file.shortcomings(value)
    if id and value.get("rfc_id") not in (None, id):
        problems.append(("rfc_id", f"is not {id}, the folder's name"))
    said = value.get("checkpoint_version", 0)
    if version and said != version and isinstance(said, int):
        problems.append(("checkpoint_version", f"is {said}, and the checkpoint's is {version}"))
    lines = [line.lstrip() for line in text.split("\n")]
    for key, message in problems:
        at = next((n for n, line in enumerate(lines, 1) if line.startswith(f'"{key}"')), 1)
        found.add(at, f"{key}: {message}", "error" if key in state_file.KEYS else "warning")
    found.sort(key=lambda remark: remark["line"])
    return found


def _claims_a_checkpoint(text: str) -> bool:
    """Whether a state.json says that a checkpoint was written."""
    try:
        return version_of(state_file.read(text)) > 0
    except ValueError:
        return False
