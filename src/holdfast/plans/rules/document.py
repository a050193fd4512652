"""A plan file: frontmatter and tasks, read so that everything wrong with it is found at once."""

from __future__ import annotations

import hashlib
import re

from holdfast.gates.rules import gate_xml
from holdfast.gates.rules.gate_xml import BadXml, Example, tasks_in
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import nearest, one_line, split_words
from holdfast.plans.rules import frontmatter, model, tasks
from holdfast.plans.rules.frontmatter import BadHead, Field
from holdfast.plans.rules.model import Document, Level, Place, Plan, PlanFinding

LARGEST = 1_000_000
FIELDS = split_words(
    "phase plan wave autonomous checkpoint depends_on files_modified must_haves "
    + " ".join(model.TRAITS)
)
# Fields that begin so are the author's own.
OWN = "x-"
MOST_ENTRIES = 1000
LAST_WAVE = 9999
TITLE = 120
_ID = re.compile(r"\w[\w.+-]{0,63}")


def read(text: str, path: str) -> Plan:
    """The plan of a file, if nothing is wrong with it."""
    document = examine(text, path)
    errors = [one for one in document["problems"] if one["level"] == "error"]
    if document["plan"] is not None and not errors:
        return document["plan"]
    first, others = errors[0], len(errors) - 1
    more = f" (and {others} more)" if others else ""
    what = f"{where(first)}: {first['what']}{more}"
    raise Usage(what, hint=first["instead"], kind="bad_plan")


def digest(text: str) -> str:
    """The hash by which an edit is noticed. It does not depend on the kind of line ends."""
    return hashlib.sha256(_unify_lines(text).encode("utf-8", "replace")).hexdigest()


def where(finding: PlanFinding) -> str:
    return f"{finding['path']}:{finding['line']}:{finding['column']}"


def examine(text: str, path: str) -> Document:
    """What a file says, and all problems of the file itself."""
    return _PlanReader(_unify_lines(text), path).document()


def unreadable(
    path: str, code: str, what: str, instead: str = "", place: Place = (1, 1)
) -> Document:
    """The document of a file that could not be read."""
    reader = _PlanReader("", path)
    reader.tell(place, code, what, instead)
    return reader.result(None)


def _unify_lines(text: str) -> str:
    """The text with `LF` as line end and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class _PlanReader:
    """Reads one plan file to its end, and reports every problem."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.path = path
        self.body = ""
        self.problems: list[PlanFinding] = []
        self.fields: dict[str, Field] = {}
        self.xml: list[gate_xml.XmlTask] = []
        self.broken = 0

    def tell(
        self, place: Place, code: str, what: str, instead: str = "", level: Level = "error"
    ) -> None:
        found = model.finding(self.path, place, code, what.rstrip("."), instead, level)
        self.problems.append(found)

    def document(self) -> Document:
        if len(self.text) > LARGEST:
            self.tell((1, 1), "TOO_LARGE", f"the file has more than {LARGEST} characters")
            return self.result(None)
        try:
            head, line, self.body = frontmatter.split(self.text)
        except BadHead as problem:
            self._tell_head(problem)
            return self.result(None)
        try:
            self.fields, twice = frontmatter.read(head, line)
        except BadHead as problem:
            self._tell_head(problem)
            twice = []
        for one in twice:
            self._tell_head(one)
        self._find_tasks()
        return self.result(self._plan() if self.fields else None)

    def result(self, plan: Plan | None) -> Document:
        return {
            "path": self.path,
            "text": self.text,
            "plan": plan,
            "tasks": self.xml,
            "places": {name: field.place for name, field in self.fields.items()},
            "problems": sorted(self.problems, key=lambda one: (one["line"], one["column"])),
        }

    def _tell_head(self, problem: BadHead) -> None:
        self.tell(problem.place, problem.code, problem.what, problem.instead)

    def _tell_xml(self, problem: BadXml) -> None:
        column = problem.column if problem.column > 1 else indent(self.lines, problem.line)
        level: Level = "warning" if isinstance(problem, Example) else "error"
        code = "EXAMPLE" if isinstance(problem, Example) else "BAD_XML"
        self.tell((problem.line, column), code, problem.what, problem.hint, level)

    def _find_tasks(self) -> None:
        for found in tasks_in(self.body):
            if isinstance(found, BadXml):
                self._tell_xml(found)
                self.broken += not isinstance(found, Example)
                continue
            task, problems = gate_xml.examine(found)
            for problem in problems:
                self._tell_xml(problem)
            self.broken += task is None
            if task is not None:
                self.xml.append(task)
            if len(self.xml) > tasks.MOST_TASKS:
                break
        if not self.xml and not self.broken:
            what, instead = "there is no <task>", '<task type="auto"> with <name> and <action>'
            self.tell((self.text.count("\n") + 1, 1), "NO_TASK", what, instead)

    def _plan(self) -> Plan | None:
        for name, field in self.fields.items():
            if name not in FIELDS and not name.startswith(OWN):
                instead = f"{nearest(name, FIELDS)} A field of your own begins with {OWN}"
                self.tell(field.place, "UNKNOWN_FIELD", f"there is no field {name!r:.60}", instead)
        phase, plan = self._id("phase"), self._id("plan")
        wave, autonomous = self._wave(), self._truth("autonomous")
        depends_on, files = self._texts("depends_on"), self._texts("files_modified")
        traits = {name: value for name in model.TRAITS if (value := self._truth(name)) is not None}
        read = tasks.read_tasks(self.xml, self._tell_task)
        checkpoint = self.fields.get("checkpoint")
        pause = tasks.read_pause(checkpoint, read, self.broken, self.tell) if checkpoint else None
        promised, haves = self.fields.get("must_haves"), {}
        if promised and promised.value:
            haves = frontmatter.read_must_haves(promised, OWN, self.tell)
        if not phase or not plan:
            return None
        if pause is not None and not any(task["gate"] for task in read):
            line = self.fields["checkpoint"].place[0]
            at = tasks.find_position(pause, read)
            read.insert(at, tasks.checkpoint_of_frontmatter(pause, phase, plan, line))
        found: Plan = {
            "id": f"{phase}/{plan}",
            "title": _title(self.body),
            "path": self.path,
            "digest": digest(self.text),
            "phase": phase,
            "plan": plan,
            "wave": wave,
            "autonomous": autonomous,
            "checkpoint": pause,
            "depends_on": depends_on,
            "files_modified": files,
            "must_haves": haves,
            "traits": traits,
            "tasks": read,
        }
        how = model.kind_of(found)
        if read and not model.has_checkpoint(found) and not how["autonomous"]:
            line = self.fields["plan"].place[0]
            found["tasks"] = [*read, tasks.checkpoint_at_end(found, how["reason"], line)]
        return found

    def _tell_task(self, place: Place, code: str, what: str, instead: str = "") -> None:
        line, column = place
        self.tell((line, column if column > 1 else indent(self.lines, line)), code, what, instead)

    def _id(self, name: str) -> str:
        field = self.fields.get(name)
        if field is None or field.value is None:
            place = field.place if field else (1, 1)
            self.tell(place, "MISSING_FIELD", f"{name} is missing", f"{name}: 01")
            return ""
        if not isinstance(field.value, str) or not _ID.fullmatch(field.value):
            what = f"{field.as_data()!r:.60} cannot be the {name}"
            instead = "Take letters, digits, and . _ + - between them, at most 64."
            self.tell(field.place, "BAD_VALUE", what, instead)
            return ""
        return field.value

    def _wave(self) -> int | None:
        field = self.fields.get("wave")
        if field is None or field.value is None:
            return None
        text = field.value
        if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 9:
            number = int(text)
            if 1 <= number <= LAST_WAVE:
                return number
        what = f"wave must be a whole number from 1 to {LAST_WAVE}, not {field.as_data()!r:.40}"
        self.tell(field.place, "BAD_VALUE", what, "wave: 1, or leave it out.")
        return None

    def _truth(self, name: str) -> bool | None:
        field = self.fields.get(name)
        if field is None or field.value is None:
            return None
        if isinstance(field.value, str) and field.value.lower() in ("true", "false"):
            return field.value.lower() == "true"
        what = f"{name} must be true or false, not {field.as_data()!r:.40}"
        self.tell(field.place, "BAD_VALUE", what, f"{name}: false")
        return None

    def _texts(self, name: str) -> list[str]:
        field = self.fields.get(name)
        if field is None or field.value is None:
            return []
        if not isinstance(field.value, list):
            what = f"{name} must be a list, not {field.as_data()!r:.40}"
            self.tell(field.place, "BAD_VALUE", what, f'{name}: ["..."]')
            return []
        if len(field.value) > MOST_ENTRIES:
            what = f"{name} has more than {MOST_ENTRIES} entries"
            self.tell(field.place, "TOO_LARGE", what)
        found: list[str] = []
        for one in field.value[:MOST_ENTRIES]:
            if not isinstance(one.value, str) or not one.value.strip():
                what = f"{name} holds texts, not {one.as_data()!r:.40}"
                self.tell(one.place, "BAD_VALUE", what)
            elif one.value in found:
                self.tell(one.place, "TWICE", f"{name} names {one.value!r:.60} twice")
            else:
                found.append(one.value)
        return found


def _title(body: str) -> str:
    """The first heading before the tasks."""
    for line in body.partition("<task")[0].split("\n"):
        marks, _, words = line.partition(" ")
        if words.strip() and 1 <= len(marks) <= 6 and set(marks) == {"#"}:
            return one_line(words.strip().rstrip("#"))[:TITLE]
    return ""


def indent(lines: list[str], line: int) -> int:
    """The column of the first letter of a line."""
    content = lines[line - 1] if line <= len(lines) else ""
    return len(content) - len(content.lstrip()) + 1
