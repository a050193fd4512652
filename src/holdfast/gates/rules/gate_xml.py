"""The protocol's XML: `<task type="checkpoint:...">` in a Markdown text, with the line and column of
everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TypedDict
from xml.parsers import expat

from holdfast.gates.rules import content as contents
from holdfast.kernel.blank import blank
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import one_line

TASK = "task"
# After so many broken tasks in one text the others are not looked at.
MOST_PROBLEMS = 50
_ESCAPES = "Inside a text, write &lt; for < and &amp; for &."


class BadXml(Usage):
    """XML that is no task of the protocol, and where it goes wrong."""

    def __init__(self, line: int, what: str, *, column: int = 1, hint: str = "") -> None:
        super().__init__(f"Line {line}: {what}", hint=hint, kind="bad_xml")
        self.line = line
        self.column = column
        self.what = what


class Example(BadXml):
    """A task in a code fence, which is not run; an author may have meant it."""


@dataclass
class Element:
    """One element: its own text, its children, and where its tag begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    column: int
    text: str = ""
    children: list[Element] = field(default_factory=list)


class _Closed(Exception):
    """The task that was asked for has been read."""


class _Reading:
    """One pass of expat over a task whose first letter stands at a line and a column."""

    def __init__(self, line: int, column: int) -> None:
        self.root = Element("", {}, line, column)
        self.end = 0
        self._line, self._column = line, column
        self._open = [self.root]
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._close
        self._parser.CharacterDataHandler = self._characters
        self._parser.buffer_text = True

    def _place(self, line: int, column: int) -> tuple[int, int]:
        return line + self._line - 1, column + (self._column if line == 1 else 1)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        place = self._place(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)
        element = Element(tag, attributes, *place)
        if tag == TASK and len(self._open) > 1:
            raise self._unclosed(f" before the <{TASK}> of line {element.line}")
        self._open[-1].children.append(element)
        self._open.append(element)

    def _close(self, tag: str) -> None:
        self._open.pop()
        if len(self._open) == 1:
            self.end = self._parser.CurrentByteIndex
            raise _Closed

    def _characters(self, data: str) -> None:
        self._open[-1].text += data

    def _unclosed(self, where: str = "") -> BadXml:
        last = self._open[-1]
        what = f"<{last.tag}> is not closed{where}."
        return BadXml(last.line, what, column=last.column, hint=f"Close it with </{last.tag}>.")

    def read(self, content: bytes) -> Element:
        try:
            self._parser.Parse(content, True)
        except _Closed:
            pass
        except expat.ExpatError as error:
            raise self._problem(error) from None
        return self.root.children[0]

    def _problem(self, error: expat.ExpatError) -> BadXml:
        line, column = self._place(error.lineno, error.offset)
        codes = expat.errors.codes
        name, last = expat.ErrorString(error.code), self._open[-1]
        if error.code == codes[expat.errors.XML_ERROR_NO_ELEMENTS] and last.tag:
            return self._unclosed()
        if error.code == codes[expat.errors.XML_ERROR_TAG_MISMATCH] and last is not self.root:
            name = f"this does not close <{last.tag}> of line {last.line}"
            return BadXml(line, f"not XML: {name}.", column=column, hint=f"</{last.tag}>")
        return BadXml(line, f"not XML: {name}.", column=column, hint=_ESCAPES)


_MARK = re.compile(
    r"(?P<comment><!--)|^[ \t]*(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)$|(?P<task><task(?=[\s/>]))",
    re.MULTILINE,
)


def tasks_in(text: str, *, fenced: bool = False) -> Iterator[Element | BadXml]:
    """Every `<task>` of a Markdown text, or what is wrong with it; all of them, in their order.

    What stands in a comment or between backticks is prose. A task in a code fence is an example: the
    first of each fence is named, because an author may have meant it. With `fenced`, it is a task."""
    reader = _Cursor(text)
    position, fence, problems, told = 0, "", 0, False
    while mark := _MARK.search(text, position):
        position = mark.end()
        reader.go_to(mark.start())
        if mark["fence"]:
            fence, told = _fence_after(mark, fence), False
        elif reader.in_code:
            continue
        elif mark["comment"]:
            end = -1 if fence else text.find("-->", position)
            if end < 0 and not fence:
                line, column = reader.place
                yield BadXml(line, "the comment is not closed.", column=column, hint="Write -->.")
                return
            position = end + len("-->") if end >= 0 else position
        elif fence and not fenced:
            if not told:
                line, column = reader.place
                instead = "Take it out of the fence, if it is to run."
                what = "a task in a code fence does not run."
                yield Example(line, what, column=column, hint=instead)
            told = True
        else:
            found, position = _task_at(text, mark.start(), reader.place)
            yield found
            problems += isinstance(found, BadXml)
            if problems >= MOST_PROBLEMS:
                return


class _Cursor:
    """A place in a text that only moves forward, so that a long text is counted once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at, self._line, self._line_start, self._ticks = 0, 1, 0, 0

    def go_to(self, at: int) -> None:
        lines = self._text.count("\n", self._at, at)
        if lines:
            self._line += lines
            self._line_start = self._text.rfind("\n", self._at, at) + 1
            self._ticks = 0
        self._ticks += self._text.count("`", max(self._at, self._line_start), at)
        self._at = at

    @property
    def place(self) -> tuple[int, int]:
        return self._line, self._at - self._line_start + 1

    @property
    def in_code(self) -> bool:
        """Whether it is between backticks of its line."""
        return self._ticks % 2 == 1


def _fence_after(mark: re.Match[str], fence: str) -> str:
    """The fence that is open behind one: it is closed by one as long, with nothing behind it."""
    ticks = mark["fence"]
    if not fence:
        return ticks
    return "" if ticks.startswith(fence) and not mark["info"].strip() else fence


def place_of(text: str, at: int) -> tuple[int, int]:
    """The line and the column of a position."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _task_at(text: str, start: int, place: tuple[int, int]) -> tuple[Element | BadXml, int]:
    """The task that begins there, and the position behind it."""
    closed = text.find(f"</{TASK}>", start)
    # The first closing tag is nearly always its own; behind it all the rest, if that stands in a CDATA.
    ends = [len(text)] if closed < 0 else [closed + len(f"</{TASK}>"), len(text)]
    for end in ends:
        reading = _Reading(*place)
        content = text[start:end].encode("utf-8", "replace")
        try:
            element = reading.read(content)
        except BadXml as problem:
            found = problem
        else:
            closing = len(content[: reading.end].decode("utf-8", "replace"))
            return element, text.find(">", start + closing) + 1
    return found, start + len(TASK)


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
    options: list[contents.GateOption]
    option_lines: list[int]


AUTO = "auto"
LARGEST = 1_000_000
# The elements of each kind: those it must have, and those it may have.
ELEMENTS = {
    AUTO: (("name", "action"), ("verify", "run")),
    contents.VERIFY: (("what-built", "how-to-verify", "resume-signal"), ()),
    contents.DECISION: (("decision", "options"), ("context", "resume-signal")),
    contents.ACTION: (("action", "why-manual", "instructions", "resume-signal"), ()),
}
BLOCKING = "blocking"
OPTION_PARTS = ("name", "pros", "cons")


def parse(text: str) -> list[XmlTask]:
    """The tasks of a text, in their order."""
    if len(text) > LARGEST:
        raise BadXml(1, f"the XML has more than {LARGEST} characters.")
    tasks = []
    for found in tasks_in(text, fenced=True):
        if isinstance(found, BadXml):
            raise found
        task, problems = examine(found)
        if task is None or problems:
            raise problems[0]
        tasks.append(task)
    if not tasks:
        raise BadXml(1, "there is no <task>.", hint='<task type="checkpoint:decision">')
    return tasks


def examine(element: Element) -> tuple[XmlTask | None, list[BadXml]]:
    """The task that a `<task>` is, if it has a type, and all that is wrong with it."""
    given = element.attributes.get("type", "")
    type = given.removeprefix(contents.PREFIX)
    known = [AUTO, *(contents.PREFIX + one for one in contents.TYPES)]
    if given not in known:
        what = f"there is no task of the type {given!r}." if given else "the task has no type."
        return None, [_bad(element, what, hint=f"Known are: {', '.join(known)}.")]
    place = {"line": element.line, "column": element.column}
    attributes, blocking = element.attributes, type != AUTO
    task = blank(XmlTask, type=type, **place, attributes=attributes, blocking=blocking)
    return task, list(_fill(task, element))


def _fill(task: XmlTask, element: Element) -> Iterator[BadXml]:
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
            lacking = " and ".join(f"<{tag}>" for tag in missing)
            yield _bad(child, f"the option {id} lacks {lacking}.")
        # The short form has only a text; AMB-PILOT-35.
        said = {tag: one_line(parts.get(tag, "")) for tag in OPTION_PARTS}
        said["name"] = said["name"] if "name" in parts else one_line(child.text)
        task["options"].append({"id": id.strip(), **said})  # type: ignore[typeddict-item]
        task["option_lines"].append(child.line)


def content_of(
    task: XmlTask,
    *,
    url: str = "",
    purpose: str = "",
    cause: str = "",
    checklist: Mapping[str, bool] | None = None,
) -> contents.Content:
    """What a checkpoint task asks."""
    text = {tag: said["text"] for tag, said in task["fields"].items()}
    signal = text.get("resume-signal", "")
    if task["type"] == contents.VERIFY:
        built, how = text["what-built"], [text["how-to-verify"]]
        return contents.verify(built, how, url=url, signal=signal, purpose=purpose)
    if task["type"] == contents.DECISION:
        about = {"context": text.get("context", ""), "signal": signal, "purpose": purpose}
        return contents.decision(text["decision"], task["options"], **about)
    why, steps = text["why-manual"], [text["instructions"]]
    answers = {"cause": cause, "checklist": checklist, "signal": signal}
    return contents.action(text["action"], steps, why=why, **answers)  # type: ignore[arg-type]


def write(content: contents.Content) -> str:
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

    if content["type"] == contents.VERIFY:
        element("what-built", content["title"])
        points("how-to-verify", content["items"], content["url"])
    elif content["type"] == contents.DECISION:
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
    head = f'<task type="{contents.PREFIX}{content["type"]}" gate="{BLOCKING}">'
    return "\n".join([head, *lines, "</task>"])


def _text(text: str) -> str:
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return escape(one_line(clean))
