"""`checkpoint:` of the frontmatter: where a plan waits, in agreement with its tasks.

`after_task` counts the auto tasks from 1 (PILOT-77, AMB-PILOT-39). A checkpoint that stands both here
and among the tasks is one and the same; one that stands only here asks its `what` (AMB-PILOT-18).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from holdfast.budgets.rules.thresholds import nearest
from holdfast.gates.rules.content import TYPES, VERIFY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.plans.rules.frontmatter import Field
    from holdfast.plans.rules.model import DeclaredPause, Place, PlanTask


class Tell(Protocol):
    def __call__(self, place: Place, code: str, what: str, instead: str = ...) -> None: ...


PARTS = ("type", "after_task", "what")


def read(field: Field, tasks: Sequence[PlanTask], broken: int, tell: Tell) -> DeclaredPause | None:
    """What the field says. `broken` tasks could not be read, and may have been auto tasks."""
    if field.value is None:
        return None
    if isinstance(field.value, str):
        return _named(field, tasks, tell)
    if not isinstance(field.value, dict):
        what = "checkpoint must be null or a table"
        tell(field.place, "BAD_VALUE", what, "checkpoint: {type: human-verify, ...}")
        return None
    parts = field.value
    for name, part in parts.items():
        if name not in PARTS:
            what = f"checkpoint has no field {name!r:.60}"
            tell(part.place, "UNKNOWN_FIELD", what, nearest(name, PARTS))
    type = _type(field, parts.get("type"), tell)
    number = _after_task(field, parts.get("after_task"), tasks, broken, tell)
    said = parts["what"].value if "what" in parts else None
    if not type:
        return None
    pause: DeclaredPause = {
        "type": type,
        "after_task": number,
        "what": said if isinstance(said, str) else "",
    }
    if any(task["gate"] for task in tasks):
        _agree(field, pause, tasks, tell)
    elif type != VERIFY:
        what = f"a {type} needs its task"
        instead = f'Write <task type="checkpoint:{type}"> where the plan is to wait.'
        tell(field.place, "CHECKPOINT", what, instead)
        return None
    elif not pause["what"].strip():
        what = "checkpoint does not say what to look at"
        tell(field.place, "MISSING_FIELD", what, 'what: "..."')
    return pause


def position(pause: DeclaredPause, tasks: Sequence[PlanTask]) -> int:
    """Where a pause stands among the tasks; at their end, when its number is a mistake."""
    number = pause["after_task"]
    return next((at for at, one in enumerate(tasks, 1) if one["number"] == number > 0), len(tasks))


def _named(field: Field, tasks: Sequence[PlanTask], tell: Tell) -> DeclaredPause | None:
    """`checkpoint: human-verify`: the one of that type stands among the tasks."""
    type = _type(field, field, tell)
    for at, task in enumerate(tasks):
        if task["gate"] and task["type"] == type:
            return {"type": type, "after_task": _before(tasks, at), "what": ""}
    if type:
        what = f"there is no {type} among the tasks"
        instead = f"checkpoint: {{type: {type}, after_task: 1, what: ...}}"
        tell(field.place, "CHECKPOINT", what, instead)
    return None


def _type(field: Field, given: Field | None, tell: Tell) -> str:
    if given is None:
        tell(field.place, "MISSING_FIELD", "checkpoint has no type", f"type: {VERIFY}")
        return ""
    if given.value not in TYPES:
        what = f"there is no checkpoint of the type {given.as_data()!r:.60}"
        tell(given.place, "BAD_VALUE", what, nearest(str(given.value), TYPES))
        return ""
    return str(given.value)


def _after_task(
    field: Field, given: Field | None, tasks: Sequence[PlanTask], broken: int, tell: Tell
) -> int:
    """From 1 to the number of auto tasks; AMB-PILOT-18. 0 after a mistake."""
    last = sum(1 for task in tasks if task["gate"] is None)
    if given is None:
        what = "checkpoint has no after_task"
        tell(field.place, "MISSING_FIELD", what, f"after_task: {max(last, 1)}")
        return 0
    text = given.value
    if not (isinstance(text, str) and text.isascii() and text.isdigit()) or len(text) > 9:
        what = f"after_task must be a whole number, not {given.as_data()!r:.40}"
        tell(given.place, "AFTER_TASK", what, f"after_task: {max(last, 1)}")
        return 0
    if not 1 <= int(text) <= last + broken:
        many = f"{last} auto task{'' if last == 1 else 's'}"
        what = f"after_task is {int(text)}, and the plan has {many}"
        tell(given.place, "AFTER_TASK", what, "It counts the auto tasks, from 1.")
        return 0
    return int(text)


def _agree(field: Field, pause: DeclaredPause, tasks: Sequence[PlanTask], tell: Tell) -> None:
    """A checkpoint in both places is the same one, in the same place."""
    asked = [(task["type"], _before(tasks, at)) for at, task in enumerate(tasks) if task["gate"]]
    if not pause["after_task"] or (pause["type"], pause["after_task"]) in asked:
        return
    stands = ", ".join(f"{type} after task {number}" for type, number in asked[:5])
    what = f"the frontmatter says {pause['type']} after task {pause['after_task']}, the tasks say {stands}"
    tell(field.place, "CHECKPOINT", what, "Let both say the same.")


def _before(tasks: Sequence[PlanTask], at: int) -> int:
    """How many auto tasks stand before a position."""
    return max((one["number"] for one in tasks[:at]), default=0)
