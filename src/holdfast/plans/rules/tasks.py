"""The tasks of a plan file, from its XML: what runs, and what is asked of people in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.budgets.rules import thresholds
from holdfast.budgets.rules.thresholds import nearest
from holdfast.gates.rules import content as gate_content
from holdfast.gates.rules import gate_xml, lint
from holdfast.gates.rules.content import QUESTIONS, VERIFY
from holdfast.gates.rules.gate_xml import AUTO
from holdfast.plans.rules import gate_names
from holdfast.plans.rules.model import CHECKPOINT_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.gates.rules.content import Content
    from holdfast.plans.rules.model import DeclaredPause, Place, Plan, PlanTask

    # Place, code, what is wrong, and what to do instead.
    Tell = Callable[[Place, str, str, str], None]

ATTRIBUTES = {
    AUTO: ("type", "timeout", "needs"),
    CHECKPOINT_KEY: ("type", "gate", "name"),
}
# Elements that others write into a task, and that say nothing about how it runs.
REMARKS = ("files", "done", "context", "notes", "read_first", "acceptance_criteria")
MOST_TASKS = 2000


def read(given: Sequence[gate_xml.XmlTask], tell: Tell) -> list[PlanTask]:
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
        tell(
            place,
            "TOO_LARGE",
            f"there are more than {MOST_TASKS} tasks",
            "Make several plans of it.",
        )
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
    return {
        "key": key,
        "type": AUTO,
        "number": number,
        "name": gate_content.flat(text.get("name", "")),
        "action": text.get("action", "").strip(),
        "verify": text.get("verify", "").strip(),
        "run": text.get("run", "").strip(),
        "timeout": _timeout(xml, tell),
        "needs": _needs(xml, tell),
        "gate": None,
        "gate_name": "",
        "blocking": False,
        "line": xml["line"],
    }


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
    """`needs="gpu=1 memory=8"`: what a machine must have to spare."""
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
    if name is not None and not (gate_names.NAME.fullmatch(name) and gate_names.is_given(name)):
        what = f"{name!r:.60} cannot name a gate"
        instead = "Take a word of letters, digits, - and _, such as auth-provider."
        tell((xml["line"], xml["column"]), "BAD_VALUE", what, instead)
        name = None
    return _pause_task(
        key,
        xml["type"],
        _content(xml),
        name or gate_names.default(xml["type"], number),
        xml["line"],
    )


def _content(xml: gate_xml.XmlTask) -> Content:
    """What it asks, as far as it is there: what is missing has been said."""
    whole = {**xml, "fields": {**xml["fields"]}}
    for tag in gate_xml.ELEMENTS[xml["type"]][0]:
        whole["fields"].setdefault(tag, {"line": xml["line"], "text": ""})  # type: ignore[attr-defined]
    # The six questions are the author's to answer before a manual step stands in a plan at all.
    answered = dict.fromkeys(QUESTIONS, False)
    content = gate_xml.content_of(whole, checklist=answered)  # type: ignore[arg-type]
    if content["type"] == gate_content.ACTION:
        content["cause"] = lint.cause_of(content)
    return content


def of_frontmatter(pause: DeclaredPause, phase: str, plan: str, line: int) -> PlanTask:
    """The checkpoint that only the frontmatter declares: its `what` is what is looked at;
    AMB-PILOT-18."""
    content = gate_content.verify(f"Phase {phase}, Plan {plan}", [pause["what"]])
    return _pause_task(CHECKPOINT_KEY, VERIFY, content, gate_names.default(VERIFY, 1), line)


def at_end(plan: Plan, reason: str, line: int) -> PlanTask:
    """The look at the end of a plan of the kind human-verify whose file asks no person anything."""
    named = f": {plan['title']}" if plan["title"] else ""
    title = f"Phase {plan['phase']}, Plan {plan['plan']}{named}"
    truths = plan["must_haves"].get("truths")
    said = [one for one in truths or [] if isinstance(one, str) and one.strip()]
    # What a truth asks of a person by mistake would keep the gate from being opened.
    items = [one for one in said if not list(lint.steps([(line, one)]))]
    content = gate_content.verify(title, items or [f"It works as the plan says. {reason}"])
    return _pause_task(CHECKPOINT_KEY, VERIFY, content, gate_names.default(VERIFY, 1), line)


def _pause_task(key: str, type: str, content: Content, name: str, line: int) -> PlanTask:
    return {
        "key": key,
        "type": type,
        "number": 0,
        "name": content["title"],
        "action": "",
        "verify": "",
        "run": "",
        "timeout": None,
        "needs": {},
        "gate": content,
        "gate_name": name,
        "blocking": True,
        "line": line,
    }
