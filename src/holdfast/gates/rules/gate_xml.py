"""The protocol's XML: `<task type="checkpoint:...">` and what it holds, with the line of everything."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, TypedDict

from holdfast.gates.rules import content as words
from holdfast.gates.rules.content import ACTION, DECISION, PREFIX, TYPES, VERIFY
from holdfast.gates.rules.xml_tree import TASK, tree
from holdfast.gates.rules.xml_tree import BadXml as BadXml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.gates.rules.content import Content, GateOption
    from holdfast.gates.rules.xml_tree import Element


class XmlText(TypedDict):
    """A text and the line on which it begins."""

    line: int
    text: str


class XmlTask(TypedDict):
    """One `<task>`. `blocking` is what its gate attribute says; AMB-PILOT-14."""

    type: str
    line: int
    column: int
    attributes: dict[str, str]
    blocking: bool
    fields: dict[str, XmlText]
    options: list[GateOption]
    option_lines: list[int]


AUTO = "auto"
LARGEST = 1_000_000
# The elements of each kind: those it must have, and those it may have.
ELEMENTS = {
    AUTO: (("name", "action"), ("verify", "run")),
    VERIFY: (("what-built", "how-to-verify", "resume-signal"), ()),
    DECISION: (("decision", "options"), ("context", "resume-signal")),
    ACTION: (("action", "why-manual", "instructions", "resume-signal"), ()),
}
BLOCKING = "blocking"
OPTION_PARTS = ("name", "pros", "cons")


def parse(text: str, *, first_line: int = 1) -> list[XmlTask]:
    """The tasks of a text, in their order."""
    if len(text) > LARGEST:
        raise BadXml(first_line, f"the XML has more than {LARGEST} characters.")
    whole = tree(text, first_line)
    if whole.text.strip():
        raise BadXml(first_line, "there is text outside of the tasks.")
    tasks = []
    for element in whole.children:
        if element.tag != TASK:
            raise _bad(element, f"<{element.tag}> is no <{TASK}>.")
        task, problems = examine(element)
        if task is None or problems:
            raise problems[0]
        tasks.append(task)
    if not tasks:
        raise BadXml(first_line, "there is no <task>.", hint='<task type="checkpoint:decision">')
    return tasks


def examine(element: Element) -> tuple[XmlTask | None, list[BadXml]]:
    """The task that a `<task>` is, if it has a type, and all that is wrong with it."""
    given = element.attributes.get("type", "")
    type = given.removeprefix(PREFIX)
    known = [AUTO, *(PREFIX + one for one in TYPES)]
    if given not in known:
        what = f"there is no task of the type {given!r}." if given else "the task has no type."
        return None, [_bad(element, what, hint=f"Known are: {', '.join(known)}.")]
    task: XmlTask = {
        "type": type,
        "line": element.line,
        "column": element.column,
        "attributes": element.attributes,
        "blocking": type != AUTO,
        "fields": {},
        "options": [],
        "option_lines": [],
    }
    return task, list(_filled(task, element))


def _filled(task: XmlTask, element: Element) -> Iterator[BadXml]:
    """Take over what an element says; what is wrong with it."""
    given, gate = element.attributes["type"], element.attributes.get("gate", BLOCKING)
    if gate != BLOCKING:
        yield _bad(element, f"there is no gate {gate!r}.", f'It is gate="{BLOCKING}", or absent.')
    must, may = ELEMENTS[task["type"]]
    for child in element.children:
        if child.tag not in must and child.tag not in may and task["type"] != AUTO:
            yield _bad(child, f"<{child.tag}> does not belong into a {given} task.")
        elif child.tag in task["fields"]:
            yield _bad(child, f"there is a second <{child.tag}>.")
        else:
            task["fields"][child.tag] = {"line": child.line, "text": child.text}
            if child.tag == "options":
                yield from _options(task, child)
            elif child.children and (child.tag in must or child.tag in may):
                inner = child.children[0]
                what = f"<{inner.tag}> does not belong into <{child.tag}>."
                yield _bad(inner, what, "Inside a text, write &lt; for <.")
    for tag in must:
        if tag not in task["fields"]:
            yield _bad(element, f"<{tag}> is missing.")
        elif tag != "options" and not task["fields"][tag]["text"].strip():
            yield BadXml(task["fields"][tag]["line"], f"<{tag}> is empty.")


def _bad(element: Element, what: str, hint: str = "") -> BadXml:
    return BadXml(element.line, what, column=element.column, hint=hint)


def _options(task: XmlTask, options: Element) -> Iterator[BadXml]:
    for child in options.children:
        id = child.attributes.get("id", "")
        if child.tag != "option" or not id.strip():
            yield _bad(child, "each option is an <option> with an id.")
            continue
        parts = {part.tag: part.text for part in child.children}
        unknown = [part for part in child.children if part.tag not in OPTION_PARTS]
        missing = [tag for tag in OPTION_PARTS if child.children and tag not in parts]
        if unknown:
            yield _bad(unknown[0], f"<{unknown[0].tag}> does not belong into an option.")
        elif missing:
            yield _bad(child, f"the option {id} lacks {_tags(missing)}.")
        # The short form has only a text; AMB-PILOT-35.
        name = parts.get("name", child.text)
        option: GateOption = {
            "id": id.strip(),
            "name": words.flat(name),
            "pros": words.flat(parts.get("pros", "")),
            "cons": words.flat(parts.get("cons", "")),
        }
        task["options"].append(option)
        task["option_lines"].append(child.line)


def _tags(names: list[str]) -> str:
    return " and ".join(f"<{name}>" for name in names)


def content_of(
    task: XmlTask,
    *,
    url: str = "",
    purpose: str = "",
    cause: str = "",
    checklist: Mapping[str, bool] | None = None,
) -> Content:
    """What a checkpoint task asks."""
    text = {tag: said["text"] for tag, said in task["fields"].items()}
    signal = text.get("resume-signal", "")
    if task["type"] == VERIFY:
        return words.verify(
            text["what-built"], [text["how-to-verify"]], url=url, signal=signal, purpose=purpose
        )
    if task["type"] == DECISION:
        return words.decision(
            text["decision"],
            task["options"],
            context=text.get("context", ""),
            signal=signal,
            purpose=purpose,
        )
    return words.action(
        text["action"],
        [text["instructions"]],
        why=text["why-manual"],
        cause=cause,
        checklist=checklist,
        signal=signal,
    )


def write(content: Content) -> str:
    """The XML of a gate. Control characters, which XML cannot hold, become spaces."""
    lines: list[str] = []

    def element(tag: str, text: str, indent: str = "  ") -> None:
        lines.append(f"{indent}<{tag}>{_text(text)}</{tag}>")

    def points(tag: str, items: list[str], url: str = "") -> None:
        lines.append(f"  <{tag}>")
        if url:
            lines.append(f"    Visit {_text(url)} and verify:")
        lines.extend(f"    {number}. {_text(item)}" for number, item in enumerate(items, 1))
        lines.append(f"  </{tag}>")

    if content["type"] == VERIFY:
        element("what-built", content["title"])
        points("how-to-verify", content["items"], content["url"])
    elif content["type"] == DECISION:
        element("decision", content["title"])
        element("context", content["context"])
        lines.append("  <options>")
        for option in content["options"]:
            lines.append(f'    <option id="{_text(option["id"])}">')
            element("name", option["name"], "      ")
            element("pros", option["pros"], "      ")
            element("cons", option["cons"], "      ")
            lines.append("    </option>")
        lines.append("  </options>")
    else:
        element("action", content["title"])
        element("why-manual", content["why"])
        points("instructions", content["items"])
    element("resume-signal", content["signal"])
    head = f'<task type="{PREFIX}{content["type"]}" gate="{BLOCKING}">'
    return "\n".join([head, *lines, "</task>"])


def _text(text: str) -> str:
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return escape(words.flat(clean))
