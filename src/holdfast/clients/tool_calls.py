"""The calls of tools, by the names that the clients give to tools' arguments.

`call_event` makes an event of a call, and `edit_event` of an edit with the text that it replaces. A patch may
change several files: `read_patch` knows the text that `apply_patch` takes, which is Codex's own format and
which opencode knows as well.

```
*** Begin Patch
*** Update File: parser.py
*** Move to: reader.py
@@ def parse(line):
     blank, minus and plus begin the lines
*** Add File: new.py
+every line has a plus
*** Delete File: old.py
*** End Patch
```
"""

from __future__ import annotations

from holdfast.clients.conversation import (
    LONGEST_OUTPUT,
    LONGEST_TEXT,
    SessionEvent,
    shorten,
    task_of,
)
from holdfast.kernel.canonical_json import list_of, table_of, text_of
from holdfast.kernel.patterns import DOTALL, IGNORECASE, MULTILINE, compile_later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from holdfast.clients.conversation import Change, End, Kind, Replacement, Task

    class PatchedFile(TypedDict):
        """One file of a patch. `origin` is the name that it had before, empty where it was not moved."""

        path: str
        origin: str
        change: Change
        body: str
        exact: list[Replacement]


# What the clients call the same argument.
_FILE = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_FOLDER = ("dir_path", "directory", "workdir", "path")
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString", "content", "file_text", "new_source")
_PATTERN = ("pattern", "query")
_ERRAND = ("prompt", "objective", "query", "description")
_PLAN = ("plan", "plan_filename", "plan_path")
_TASK = ("content", "description", "step")
_EVERYWHERE = ("replace_all", "replaceAll", "allow_multiple")
# How clients tell the model that the person refused its call, and what they said to it.
_REFUSED = compile_later(
    r"(?:\[Operation Cancelled\] Reason: |Error: )?(?:The user (?:doesn't want to (?:proceed|take this action)|"
    r"(?:has )?(?:rejected|denied|declined|refused))|User (?:denied|rejected|did not allow|declined)|"
    r"(?:exec command|patch|tool call|command)? ?(?:rejected|denied) by (?:the )?user)",
    IGNORECASE,
)
# How clients tell it that a hook denied the call; some give the words of the hook alone.
_BLOCKED = compile_later(
    r"(?:Error: )?(?:PreToolUse:[^\n]{1,100}hook error: |Command blocked by PreToolUse hook|Denied by preToolUse hook|"
    r"Stop now, checkpoint: |An alert waits for a person: |Only a person may run `holdfast )"
)
_SAID_TO_IT = compile_later(r"(?:the user said|feedback)[^:\n]{0,40}:\s*(.+)", DOTALL | IGNORECASE)
LONGEST_CALL = 2000
MOST_EDITS = 100
MOST_TASKS = 200


def call_event(kind: Kind, tool: str, args: dict[str, Any], *, id: str, at: str) -> SessionEvent:
    """A call as an event of the kind that the client's table gives for the tool, any but an edit."""
    text, path, tasks = "", "", []
    if kind == "run":
        text = shorten(text_of(args.get("command")), LONGEST_OUTPUT)
        path = first_text(args, *_FOLDER)
    elif kind == "read":
        path = first_text(args, *_FILE)
    elif kind == "search":
        text, path = first_text(args, *_PATTERN)[:1000], first_text(args, *_FOLDER, *_FILE)
    elif kind == "tasks":
        tasks = tasks_of(args.get("todos"))
    elif kind == "agent":
        text = shorten(first_text(args, *_ERRAND) or tool, LONGEST_TEXT)
    elif kind == "plan":
        text = shorten(first_text(args, *_PLAN), LONGEST_TEXT)
    else:
        import json

        said = json.dumps(args, ensure_ascii=False, default=str)
        text = shorten(f"{tool} {said}", LONGEST_CALL)
    return SessionEvent(kind, at=at, id=id, text=text, path=path, tasks=tasks)


def edit_event(
    args: dict[str, Any],
    *,
    id: str,
    at: str,
    change: Change,
    path: str = "",
    with_break: bool = False,
) -> SessionEvent:
    """An edit of one file. A cell of a notebook has no exact text: its place in the file is not told."""
    edits = [table_of(each) for each in list_of(args.get("edits"))] or [args]
    pairs = [(first_text(each, *_OLD), first_text(each, *_NEW)) for each in edits]
    text = "\n".join(part for pair in pairs[:MOST_EDITS] for part in pair if part)
    exact = [
        replacement_of(old, new, everywhere=_is_everywhere(each), with_break=with_break)
        for each, (old, new) in zip(edits, pairs, strict=True)
    ]
    return SessionEvent(
        "edit",
        at=at,
        id=id,
        path=path or first_text(args, *_FILE),
        text=shorten(text, LONGEST_TEXT),
        change=change,
        exact=() if "notebook_path" in args else exact,
    )


def result_event(
    id: str,
    *,
    at: str,
    text: str,
    failed: bool | None,
    running: bool = False,
    exact: Sequence[Replacement] = (),
) -> SessionEvent:
    """The end of a call, as one of a call that the person refused or a hook denied where the client's answer says so."""
    if failed is not False and _REFUSED.match(text):
        words = _SAID_TO_IT.search(text)
        said = words[1].strip()[:2000] if words else ""
        return SessionEvent("result", at=at, id=id, text=said, end="refused")
    if failed is not False and _BLOCKED.match(text):
        return SessionEvent("result", at=at, id=id, text=text, failed=True, end="blocked")
    end: End = "running" if running else ""
    return SessionEvent("result", at=at, id=id, text=text, failed=failed, exact=exact, end=end)


def replacement_of(old: str, new: str, *, everywhere: bool, with_break: bool) -> Replacement:
    """What an edit says in its own fields; without an old text it gives the whole file."""
    found: Replacement = {"new": new}
    if old:
        found["old"] = old
    if everywhere:
        found["everywhere"] = True
    if with_break and old and not new:
        found["with_break"] = True
    return found


def _is_everywhere(args: dict[str, Any]) -> bool:
    for name in _EVERYWHERE:
        if args.get(name) is True:
            return True
    return args.get("expected_replacements", 1) not in (1, None)


def tasks_of(items: Any) -> list[Task]:
    """A whole task list; each task goes by its position."""
    tasks = enumerate(map(table_of, list_of(items)[:MOST_TASKS]), 1)
    return [task_of(number, first_text(each, *_TASK), each.get("status")) for number, each in tasks]


def first_text(args: dict[str, Any], *names: str) -> str:
    """The first of these fields that holds a text; empty when none does."""
    # A plain loop: a long transcript asks for this tens of thousands of times.
    for name in names:
        text = args.get(name)
        if text and isinstance(text, str):
            return text
    return ""


# Patches

_HEADER = compile_later(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$", MULTILINE)
_MOVED = compile_later(r"^\*\*\* Move to: (.+?)\s*$", MULTILINE)
_CHANGES: dict[str, Change] = {"Update": "edited", "Add": "created", "Delete": "deleted"}
_END = "*** "


def read_patch(text: str) -> list[PatchedFile]:
    """The files that a patch changes; the text between two headers belongs to the first."""
    headers = list(_HEADER.finditer(text))
    found: list[PatchedFile] = []
    for number, header in enumerate(headers):
        end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
        body = text[header.end() : end]
        moved = _MOVED.search(body[:1000]) if header[1] == "Update" else None
        change = _CHANGES[header[1]]
        found.append(
            {
                "path": moved[1] if moved else header[2],
                "origin": header[2] if moved else "",
                "change": "created" if moved else change,
                "body": body,
                "exact": _added(body) if change == "created" else _hunks(body),
            }
        )
    return found


def _added(body: str) -> list[Replacement]:
    lines = [line[1:] for line in body.split("\n") if line.startswith("+")]
    return [{"new": "".join(f"{line}\n" for line in lines)}]


def _hunks(body: str) -> list[Replacement]:
    """The parts of a patch: lines that are replaced, with the lines around them."""
    found: list[Replacement] = []
    after, old, new = "", "", ""
    # The first line is the rest of the header.
    for line in [*body.rstrip("\n").split("\n")[1:], "@@"]:
        if line.startswith("@@"):
            if old != new:
                found.append({"old": old, "new": new, "whole_lines": True, "after": after})
            after, old, new = line[2:].strip(), "", ""
        elif line.startswith(_END):
            continue
        elif line[:1] in ("-", "+"):
            old += f"{line[1:]}\n" if line[0] == "-" else ""
            new += f"{line[1:]}\n" if line[0] == "+" else ""
        elif not line or line.startswith(" "):
            old, new = f"{old}{line[1:]}\n", f"{new}{line[1:]}\n"
    return found
