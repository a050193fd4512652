"""The tasks of a plan, which of them are open, and where a step goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from holdfast.loop.rules.checkpoint import count_done, said
from holdfast.loop.rules.model import DONE_TASKS


class TrackTask(TypedDict):
    """One task; `mark` is its box in the plan, or empty where there is none."""

    id: str
    title: str
    mark: str


class UnreadLine(TypedDict):
    """A line of a plan that may be a task; `meant` when it cannot be anything else."""

    line: int
    text: str
    meant: bool


DONE = "x"
_BOX = r"^(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+\[(?P<mark>[ ~xX!])\]\s+(?P<text>.*\S)"
# A box that was mistyped: `[]`, `[ x]`, `-[ ]`, `[x]text`, or an unknown mark.
_ALMOST = r"^\s*(?:[-*+]|\d+[.)])\s*\[\s*(?:[xX]|[^\w\s\[\]])?\s*\](?!\()\s*\S"
# `Task 2.3: title`, `**2.3** title`, `T4 - title`, `AUTH-12: title`.
_NAMED = (
    r"^\**(?:[Tt]ask\s+)?(?P<id>(?:[A-Za-z]{1,10}-?)?\d+(?:\.\d+)*[a-z]?)\**\s*[:.)\]–—-]*\**"
    r"(?:\s+(?P<title>.*))?$"
)


def same_task(one: str, other: str) -> bool:
    """`Task 1.3` and `1.3` are one task."""
    return key_of(one) == key_of(other)


def key_of(task: str) -> str:
    """What two names of one task have in common."""
    words = task.split()
    if len(words) == 1:
        return words[0]
    return " ".join(words[1:] if words and words[0].lower() == "task" else words)


def plain_tasks(ids: Sequence[str]) -> list[TrackTask]:
    """Tasks of a list: names, and no boxes."""
    return [{"id": id, "title": "", "mark": ""} for id in ids]


def tasks_of(plan: str) -> list[TrackTask]:
    """The boxes of a plan, in order. Where any has an id, those without are notes beneath a task."""
    named: list[TrackTask] = []
    unnamed: list[tuple[int, TrackTask]] = []
    for _, line in _lines_outside_code(plan):
        if (box := re.match(_BOX, line)) is None:
            continue
        text = _strip_comments(box["text"])
        mark = box["mark"].lower()
        if name := re.match(_NAMED, text):
            title = (name["title"] or "").strip(" *")
            named.append({"id": name["id"], "title": title, "mark": mark})
        elif text:
            unnamed.append((len(box["indent"]), {"id": text[:80], "title": text, "mark": mark}))
    if named:
        return _number_duplicates(named)
    outermost = min((indent for indent, _ in unnamed), default=0)
    return _number_duplicates([task for indent, task in unnamed if indent == outermost])


def unread(plan: str) -> list[UnreadLine]:
    """The lines of a plan that look like tasks and are none: mistyped boxes, and boxes without an id
    that stand beside those with one."""
    found: list[UnreadLine] = []
    unnamed: list[tuple[int, UnreadLine]] = []
    indents: list[int] = []
    for number, line in _lines_outside_code(plan):
        box = re.match(_BOX, line)
        if box is None:
            if re.match(_ALMOST, line):
                found.append({"line": number, "text": line.strip(), "meant": True})
        elif re.match(_NAMED, _strip_comments(box["text"])):
            indents.append(len(box["indent"]))
        elif _strip_comments(box["text"]) and box["mark"].lower() != DONE:
            meant = re.match(r"\**task\b", box["text"], re.IGNORECASE) is not None
            one: UnreadLine = {"line": number, "text": line.strip(), "meant": meant}
            unnamed.append((len(box["indent"]), one))
    if indents:
        found += [one for indent, one in unnamed if indent <= min(indents)]
    return sorted(found, key=lambda one: one["line"])


def _lines_outside_code(plan: str) -> Iterator[tuple[int, str]]:
    """The lines outside of code, with their numbers."""
    fenced = False
    for number, line in enumerate(plan.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _strip_comments(text: str) -> str:
    return re.sub(r"\s*<!--.*?-->\s*", " ", text).strip()


def _number_duplicates(tasks: list[TrackTask]) -> list[TrackTask]:
    """Two tasks with one id are two tasks."""
    seen: dict[str, int] = {}
    for task in tasks:
        count = seen[task["id"]] = seen.get(task["id"], 0) + 1
        if count > 1:
            task["id"] = f"{task['id']}#{count}"
    return tasks


def remaining(tasks: Sequence[TrackTask], checkpoint: Mapping[str, Any]) -> list[TrackTask]:
    """The tasks that are not done, in the plan's order.

    A task is done when its box says so or it was reported. A file that keeps only `last_task` means
    that it, and all before it, are done; unless its own box is still open. AMB-LOOP-04.
    """
    reported = checkpoint.get(DONE_TASKS)
    done = {key_of(str(task)) for task in reported or []}
    done.update(key_of(task["id"]) for task in tasks if task["mark"] == DONE)
    last = key_of(said(checkpoint, "last_task"))
    position = next((n for n, task in enumerate(tasks) if key_of(task["id"]) == last), None)
    if last and position is not None and last not in done:
        has_boxes = any(task["mark"] for task in tasks)
        if not has_boxes:
            before = tasks[: position + 1] if not reported else [tasks[position]]
            done.update(key_of(task["id"]) for task in before)
    return [task for task in tasks if key_of(task["id"]) not in done]


def count_tasks(tasks: Sequence[TrackTask], checkpoint: Mapping[str, Any]) -> tuple[list[str], int]:
    """The tasks of a plan that are done, and how many there are in all. What is done and no longer in
    the plan still counts."""
    left = remaining(tasks, checkpoint)
    open_ones = {task["id"] for task in left}
    done = [task["id"] for task in tasks if task["id"] not in open_ones]
    known = {key_of(task) for task in done}
    known.update(key_of(str(task)) for task in checkpoint.get(DONE_TASKS) or [])
    return done, len(left) + max(count_done(checkpoint, "tasks_completed") or 0, len(known))
