"""The tasks of a plan file, from its XML, and the checkpoint that its frontmatter declares."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.budgets.rules import thresholds
from holdfast.gates.rules import content as gate_content
from holdfast.gates.rules import gate_xml, lint
from holdfast.gates.rules.content import QUESTIONS, TYPES, VERIFY, Content
from holdfast.gates.rules.gate_xml import AUTO
from holdfast.kernel.blank import blank
from holdfast.kernel.text import nearest, one_line, plural
from holdfast.plans.rules import model
from holdfast.plans.rules.frontmatter import Field
from holdfast.plans.rules.model import CHECKPOINT_KEY, DeclaredPause, Place, Plan, PlanTask, Tell

ATTRIBUTES = {
    AUTO: ("type", "timeout", "needs"),
    CHECKPOINT_KEY: ("type", "gate", "name"),
}
# Elements that others write into a task, and that say nothing about how it runs.
REMARKS = ("files", "done", "context", "notes", "read_first", "acceptance_criteria")
MOST_TASKS = 2000
PARTS = ("type", "after_task", "what")


def read_pause(
    field: Field, tasks: Sequence[PlanTask], broken: int, tell: Tell
) -> DeclaredPause | None:
    """Read the field `checkpoint`. `broken` tasks could not be read, and may have been auto tasks."""
    if field.value is None:
        return None
    if isinstance(field.value, str):
        return _read_named(field, tasks, tell)
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
    what = said if isinstance(said, str) else ""
    pause: DeclaredPause = {"type": type, "after_task": number, "what": what}
    if any(task["gate"] for task in tasks):
        _check_agreement(field, pause, tasks, tell)
    elif type != VERIFY:
        what = f"a {type} needs its task"
        instead = f'Write <task type="checkpoint:{type}"> where the plan is to wait.'
        tell(field.place, "CHECKPOINT", what, instead)
        return None
    elif not pause["what"].strip():
        what = "checkpoint does not say what to look at"
        tell(field.place, "MISSING_FIELD", what, 'what: "..."')
    return pause


def find_position(pause: DeclaredPause, tasks: Sequence[PlanTask]) -> int:
    """The position of a pause among the tasks; at their end if its number is wrong."""
    number = pause["after_task"]
    return next((at for at, one in enumerate(tasks, 1) if one["number"] == number > 0), len(tasks))


def _read_named(field: Field, tasks: Sequence[PlanTask], tell: Tell) -> DeclaredPause | None:
    """`checkpoint: human-verify` names a checkpoint among the tasks."""
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
        many = plural(last, "auto task")
        what = f"after_task is {int(text)}, and the plan has {many}"
        tell(given.place, "AFTER_TASK", what, "It counts the auto tasks, from 1.")
        return 0
    return int(text)


def _check_agreement(
    field: Field, pause: DeclaredPause, tasks: Sequence[PlanTask], tell: Tell
) -> None:
    """A checkpoint that stands in both places must be the same one, in the same place."""
    asked = [(task["type"], _before(tasks, at)) for at, task in enumerate(tasks) if task["gate"]]
    if not pause["after_task"] or (pause["type"], pause["after_task"]) in asked:
        return
    stands = ", ".join(f"{type} after task {number}" for type, number in asked[:5])
    what = f"the frontmatter says {pause['type']} after task {pause['after_task']}, the tasks say {stands}"
    tell(field.place, "CHECKPOINT", what, "Let both say the same.")


def _before(tasks: Sequence[PlanTask], at: int) -> int:
    """How many auto tasks come before a position."""
    return max((one["number"] for one in tasks[:at]), default=0)


def read_tasks(given: Sequence[gate_xml.XmlTask], tell: Tell) -> list[PlanTask]:
    """The tasks of a file, in its order."""
    tasks: list[PlanTask] = []
    counted: dict[str, int] = {}
    for position, xml in enumerate(given[:MOST_TASKS], 1):
        place = (xml["line"], xml["column"])
        counted[xml["type"]] = counted.get(xml["type"], 0) + 1
        _attributes(xml, place, tell)
        if xml["type"] == AUTO:
            tasks.append(_auto(xml, str(position), counted[AUTO], tell))
        else:
            tasks.append(_checkpoint(xml, str(position), counted[xml["type"]], tell))
    if len(given) > MOST_TASKS:
        place = (given[MOST_TASKS]["line"], given[MOST_TASKS]["column"])
        what = f"there are more than {MOST_TASKS} tasks"
        tell(place, "TOO_LARGE", what, "Make several plans of it.")
    return tasks


def _attributes(xml: gate_xml.XmlTask, place: Place, tell: Tell) -> None:
    known = ATTRIBUTES[AUTO if xml["type"] == AUTO else CHECKPOINT_KEY]
    for name in xml["attributes"]:
        if name not in known:
            tell(place, "UNKNOWN_FIELD", f"a task has no {name}=", nearest(name, known))


def _auto(xml: gate_xml.XmlTask, key: str, number: int, tell: Tell) -> PlanTask:
    text = {tag: said["text"] for tag, said in xml["fields"].items()}
    must, may = gate_xml.ELEMENTS[AUTO]
    for tag, said in xml["fields"].items():
        place = (said["line"], 1)
        if tag in may and not said["text"].strip():
            tell(place, "EMPTY", f"<{tag}> is empty", "Fill it, or take it out.")
        elif tag not in must and tag not in may and tag not in REMARKS:
            tell(place, "UNKNOWN_FIELD", f"a task has no <{tag}>", nearest(tag, (*must, *may)))
    texts = {tag: text.get(tag, "").strip() for tag in ("action", "verify", "run")}
    timeout, needs = _timeout(xml, tell), _needs(xml, tell)
    texts["name"] = one_line(text.get("name", ""))
    limits = {"timeout": timeout, "needs": needs, "line": xml["line"]}
    return blank(PlanTask, key=key, type=AUTO, number=number, **limits, **texts)


def _timeout(xml: gate_xml.XmlTask, tell: Tell) -> int | None:
    given = xml["attributes"].get("timeout")
    if given is None:
        return None
    try:
        duration = thresholds.duration(given)
        if duration <= 0:
            raise ValueError("must be more than nothing")
    except ValueError as problem:
        tell((xml["line"], xml["column"]), "BAD_VALUE", f"timeout= {problem}", 'timeout="30min"')
        return None
    return duration


def _needs(xml: gate_xml.XmlTask, tell: Tell) -> dict[str, float]:
    """`needs="gpu=1 memory=8"`: resources that a machine must have free."""
    found: dict[str, float] = {}
    for part in xml["attributes"].get("needs", "").replace(",", " ").split():
        name, _, amount = part.partition("=")
        try:
            if not name.isidentifier() or name in found:
                raise ValueError
            found[name] = thresholds.money(amount or "1")
        except ValueError:
            what = f"needs= holds words such as gpu=1, not {part!r:.40}"
            tell((xml["line"], xml["column"]), "BAD_VALUE", what, 'needs="gpu=1 memory=8"')
    return found


def _checkpoint(xml: gate_xml.XmlTask, key: str, number: int, tell: Tell) -> PlanTask:
    name = xml["attributes"].get("name")
    if name is not None and not (model.NAME.fullmatch(name) and model.is_given(name)):
        what = f"{name!r:.60} cannot name a gate"
        instead = "Take a word of letters, digits, - and _, such as auth-provider."
        tell((xml["line"], xml["column"]), "BAD_VALUE", what, instead)
        name = None
    shown = name or f"{xml['type']}-{number}"
    return _pause_task(key, xml["type"], _content(xml), shown, xml["line"])


def _content(xml: gate_xml.XmlTask) -> Content:
    """What a checkpoint asks. Missing elements have been reported, and are empty here."""
    whole = {**xml, "fields": {**xml["fields"]}}
    for tag in gate_xml.ELEMENTS[xml["type"]][0]:
        whole["fields"].setdefault(tag, {"line": xml["line"], "text": ""})  # type: ignore[attr-defined]
    # The six questions are the author's to answer before a manual step stands in a plan at all.
    answered = dict.fromkeys(QUESTIONS, False)
    content = gate_xml.content_of(whole, checklist=answered)  # type: ignore[arg-type]
    if content["type"] == gate_content.ACTION:
        content["cause"] = lint.cause_of(content)
    return content


def checkpoint_of_frontmatter(pause: DeclaredPause, phase: str, plan: str, line: int) -> PlanTask:
    """The checkpoint that only the frontmatter declares; its `what` is what the person looks at;
    AMB-PILOT-18."""
    content = gate_content.verify(f"Phase {phase}, Plan {plan}", [pause["what"]])
    return _pause_task(CHECKPOINT_KEY, VERIFY, content, f"{VERIFY}-1", line)


def checkpoint_at_end(plan: Plan, reason: str, line: int) -> PlanTask:
    """The checkpoint at the end of a human-verify plan whose file has none."""
    named = f": {plan['title']}" if plan["title"] else ""
    title = f"Phase {plan['phase']}, Plan {plan['plan']}{named}"
    truths = plan["must_haves"].get("truths")
    said = [one for one in truths or [] if isinstance(one, str) and one.strip()]
    # What a truth asks of a person by mistake would keep the gate from being opened.
    items = [one for one in said if not list(lint.steps([(line, one)]))]
    content = gate_content.verify(title, items or [f"It works as the plan says. {reason}"])
    return _pause_task(CHECKPOINT_KEY, VERIFY, content, f"{VERIFY}-1", line)


def _pause_task(key: str, type: str, content: Content, name: str, line: int) -> PlanTask:
    named = {"name": content["title"], "gate": content, "gate_name": name}
    return blank(PlanTask, key=key, type=type, blocking=True, line=line, **named)
