"""The protocol's XML: `<task type="checkpoint:...">` and what it holds, with the line of everything.

Read with expat alone: no entities of the document's own, nothing from outside.
"""

from __future__ import annotations

from html import escape
from xml.parsers import expat

from holdfast.kernel.errors import Usage
from holdfast.protocols.pilot import gate_content as words
from holdfast.protocols.pilot.gate_content import ACTION, DECISION, PREFIX, TYPES, VERIFY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypedDict

    from holdfast.protocols.pilot.gate_content import Content, Option

    class Said(TypedDict):
        """A text and the line on which it begins."""

        line: int
        text: str

    class Task(TypedDict):
        """One `<task>`. `blocking` is what its gate attribute says; AMB-PILOT-14."""

        type: str
        line: int
        blocking: bool
        fields: dict[str, Said]
        options: list[Option]
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


class BadXml(Usage):
    """XML that is no task of the protocol, and the line on which it goes wrong."""

    def __init__(self, line: int, what: str, *, hint: str = "") -> None:
        super().__init__(f"Line {line}: {what}", hint=hint, kind="bad_xml")
        self.line = line
        self.what = what


class _Element:
    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.text = ""
        self.children: list[_Element] = []


def parse(text: str, *, first_line: int = 1) -> list[Task]:
    """The tasks of a text, in their order."""
    if len(text) > LARGEST:
        raise BadXml(first_line, f"the XML has more than {LARGEST} characters.")
    tasks = []
    for element in _tree(text, first_line - 1).children:
        if element.tag != "task":
            raise BadXml(element.line, f"<{element.tag}> is no <task>.")
        tasks.append(_task(element))
    if not tasks:
        raise BadXml(first_line, "there is no <task>.", hint='<task type="checkpoint:decision">')
    return tasks


def _tree(text: str, before: int) -> _Element:
    parser = expat.ParserCreate()
    root = _Element("", {}, before + 1)
    open_elements = [root]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, parser.CurrentLineNumber + before)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def characters(data: str) -> None:
        open_elements[-1].text += data

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop() and None
    parser.CharacterDataHandler = characters
    parser.buffer_text = True
    try:
        # Tasks stand side by side in a plan; on the first line, so that the numbers hold. Inside an
        # element there can be no document type, and so no entity of the document's own.
        parser.Parse(f"<tasks>{_undeclared(text)}</tasks>".encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise BadXml(
            error.lineno + before,
            f"not XML: {expat.ErrorString(error.code)}.",
            hint="Inside a text, write &lt; for < and &amp; for &.",
        ) from None
    (tasks,) = root.children
    if tasks.text.strip():
        raise BadXml(tasks.line, "there is text outside of the tasks.")
    return tasks


def _undeclared(text: str) -> str:
    """Without `<?xml ...?>`, which may only stand at the very beginning."""
    if text.lstrip().startswith("<?xml "):
        declaration, _, rest = text.partition("?>")
        return "\n" * declaration.count("\n") + rest
    return text


def _task(element: _Element) -> Task:
    given = element.attributes.get("type", "")
    type = given.removeprefix(PREFIX)
    known = [AUTO, *(PREFIX + one for one in TYPES)]
    if given not in known:
        what = f"there is no task of the type {given!r}." if given else "the task has no type."
        raise BadXml(element.line, what, hint=f"Known are: {', '.join(known)}.")
    gate = element.attributes.get("gate", BLOCKING)
    if gate != BLOCKING:
        raise BadXml(
            element.line, f"there is no gate {gate!r}.", hint=f'It is gate="{BLOCKING}", or absent.'
        )
    task: Task = {
        "type": type,
        "line": element.line,
        "blocking": type != AUTO,
        "fields": {},
        "options": [],
        "option_lines": [],
    }
    must, may = ELEMENTS[type]
    for child in element.children:
        if child.tag not in must and child.tag not in may and type != AUTO:
            raise BadXml(child.line, f"<{child.tag}> does not belong into a {given} task.")
        if child.tag in task["fields"]:
            raise BadXml(child.line, f"there is a second <{child.tag}>.")
        task["fields"][child.tag] = {"line": child.line, "text": child.text}
        if child.tag == "options":
            _take_options(task, child)
    for tag in must:
        if tag not in task["fields"]:
            raise BadXml(element.line, f"<{tag}> is missing.")
        if tag != "options" and not task["fields"][tag]["text"].strip():
            raise BadXml(task["fields"][tag]["line"], f"<{tag}> is empty.")
    return task


def _take_options(task: Task, options: _Element) -> None:
    for child in options.children:
        id = child.attributes.get("id", "")
        if child.tag != "option" or not id.strip():
            raise BadXml(child.line, "each option is an <option> with an id.")
        parts = {part.tag: part.text for part in child.children}
        unknown = [part for part in child.children if part.tag not in ("name", "pros", "cons")]
        if unknown:
            raise BadXml(unknown[0].line, f"<{unknown[0].tag}> does not belong into an option.")
        if child.children and len(parts) < 3:
            missing = [tag for tag in ("name", "pros", "cons") if tag not in parts]
            raise BadXml(child.line, f"the option {id} lacks {_tags(missing)}.")
        # The short form has only a text; AMB-PILOT-35.
        name = parts.get("name", child.text)
        option: Option = {
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
    task: Task,
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
