"""The tasks of a plan, which of them are open, and where a step goes on."""

from __future__ import annotations

from holdfast.protocols.loop.checkpoint import said
from holdfast.protocols.loop.words import DONE_TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    class Task(TypedDict):
        """One task; `mark` is its box in the plan, or empty where there is none."""

        id: str
        title: str
        mark: str


DONE = "x"
_BOX = r"^(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+\[(?P<mark>[ ~xX!])\]\s+(?P<text>.*\S)"
# `Task 2.3: title`, `**2.3** title`, `T4 - title`, `AUTH-12: title`.
_NAMED = (
    r"^\**(?:[Tt]ask\s+)?(?P<id>(?:[A-Za-z]{1,10}-?)?\d+(?:\.\d+)*[a-z]?)\**\s*[:.)\]–—-]*\**"
    r"(?:\s+(?P<title>.*))?$"
)


def same_task(one: str, other: str) -> bool:
    """`Task 1.3` and `1.3` are one task."""
    return _key(one) == _key(other)


def _key(task: str) -> str:
    words = task.split()
    return " ".join(words[1:] if len(words) > 1 and words[0].lower() == "task" else words)


def plain_tasks(ids: Sequence[str]) -> list[Task]:
    """Tasks of a list: names, and no boxes."""
    return [{"id": id, "title": "", "mark": ""} for id in ids]


def tasks_of(plan: str) -> list[Task]:
    """The boxes of a plan, in order. Where any has an id, those without are notes beneath a task."""
    import re

    named: list[Task] = []
    unnamed: list[tuple[int, Task]] = []
    fenced = False
    for line in plan.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        box = None if fenced else re.match(_BOX, line)
        if box is None:
            continue
        text = re.sub(r"\s*<!--.*?-->\s*", " ", box["text"]).strip()
        mark = box["mark"].lower()
        name = re.match(_NAMED, text)
        if name is not None:
            title = (name["title"] or "").strip(" *")
            named.append({"id": name["id"], "title": title, "mark": mark})
        elif text:
            unnamed.append((len(box["indent"]), {"id": text[:80], "title": text, "mark": mark}))
    if named:
        return _unique(named)
    outermost = min((indent for indent, _ in unnamed), default=0)
    return _unique([task for indent, task in unnamed if indent == outermost])


def _unique(tasks: list[Task]) -> list[Task]:
    """Two tasks with one id are two tasks."""
    seen: dict[str, int] = {}
    for task in tasks:
        count = seen[task["id"]] = seen.get(task["id"], 0) + 1
        if count > 1:
            task["id"] = f"{task['id']}#{count}"
    return tasks


def remaining(tasks: Sequence[Task], checkpoint: Mapping[str, Any]) -> list[Task]:
    """The tasks that are not done, in the plan's order.

    A task is done when its box says so or it was reported. Somebody who keeps only `last_task` means
    that it, and all before it, are done; unless its own box is still open. AMB-LOOP-04.
    """
    reported = checkpoint.get(DONE_TASKS)
    done = {_key(str(task)) for task in reported or []}
    done.update(_key(task["id"]) for task in tasks if task["mark"] == DONE)
    last = _key(said(checkpoint, "last_task"))
    position = next((n for n, task in enumerate(tasks) if _key(task["id"]) == last), None)
    if last and position is not None and last not in done:
        has_boxes = any(task["mark"] for task in tasks)
        if not has_boxes:
            before = tasks[: position + 1] if not reported else [tasks[position]]
            done.update(_key(task["id"]) for task in before)
    return [task for task in tasks if _key(task["id"]) not in done]
