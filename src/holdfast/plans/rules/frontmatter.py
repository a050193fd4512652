"""The head of a plan file: YAML between two lines of `---`, every scalar as it is spelled.

`plan: 06` stays `06` (AMB-PILOT-36): nothing in it becomes a number, a date or a truth value unless its
field is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from holdfast.gates.rules.gate_xml import place_of
from holdfast.kernel.text import nearest
from holdfast.plans.rules.model import Place, Tell
from holdfast.plans.rules.waves import is_outside

FENCE = "---"
LARGEST = 64 * 1024
DEEPEST = 12


class BadHead(Exception):
    """A head that cannot be read, and where."""

    def __init__(self, place: Place, code: str, what: str, instead: str = "") -> None:
        super().__init__(what)
        self.place = place
        self.code = code
        self.what = what
        self.instead = instead


@dataclass
class Field:
    """A value of the head with its place: a text, a list of fields, or fields by name; None is null."""

    place: Place
    value: str | list[Field] | dict[str, Field] | None

    def as_data(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, list):
            return [one.as_data() for one in self.value]
        if isinstance(self.value, dict):
            return {name: one.as_data() for name, one in self.value.items()}
        return self.value


class _Loader(yaml.BaseLoader):
    """A loader without anchors, which can make a small text large, and with limited nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        place = (event.start_mark.line, event.start_mark.column)
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            instead = "Write the value out in both places."
            raise BadHead(place, "NOT_YAML", "anchors and aliases do not belong here", instead)
        if self.depth >= DEEPEST:
            raise BadHead(place, "NOT_YAML", f"it is nested deeper than {DEEPEST} levels")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


def split(text: str) -> tuple[str, int, str]:
    """The YAML of the head, its first line, and the rest, in which the line numbers stay the same."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines[first].rstrip() != FENCE:
        instead = f"Begin the file with {FENCE}, phase: 1, plan: 01, {FENCE}, a line each."
        raise BadHead((first + 1, 1), "NO_FRONTMATTER", "there is no frontmatter", instead)
    last = next(
        (number for number in range(first + 1, len(lines)) if lines[number].rstrip() == FENCE), 0
    )
    if not last:
        what, instead = "the frontmatter is not closed", f"Write {FENCE} on the line behind it."
        raise BadHead((first + 1, 1), "NO_FRONTMATTER", what, instead)
    head = "\n".join(lines[first + 1 : last])
    if len(head) > LARGEST:
        what = f"the frontmatter has more than {LARGEST} characters"
        raise BadHead((first + 1, 1), "TOO_LARGE", what)
    return head, first + 2, "\n" * (last + 1) + "\n".join(lines[last + 1 :])


def read(head: str, first_line: int) -> tuple[dict[str, Field], list[BadHead]]:
    """The fields of a head, and the problems of names that stand there twice."""
    try:
        node = yaml.compose(head, Loader=_Loader)
    except BadHead as problem:
        line, column = problem.place
        problem.place = (line + first_line, column + 1)
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + first_line, mark.column + 1) if mark else (first_line, 1)
        what = " ".join((error.problem or error.context or "it cannot be read").split())
        raise BadHead(place, "NOT_YAML", f"not YAML: {what:.160}") from None
    except yaml.reader.ReaderError as error:
        line, column = place_of(head, error.position)
        place = (line + first_line - 1, column)
        what = f"YAML does not allow the character U+{error.character:04X}"
        raise BadHead(place, "NOT_YAML", what, "Take it out.") from None
    twice: list[BadHead] = []
    field = _field(node, first_line, twice) if node is not None else None
    if field is None or not isinstance(field.value, dict):
        place = field.place if field else (first_line, 1)
        instead = "phase: 1 and plan: 01, a line each."
        raise BadHead(place, "NOT_YAML", "the frontmatter has no fields", instead)
    return field.value, twice


def _field(node: yaml.Node, first_line: int, twice: list[BadHead]) -> Field:
    place = (node.start_mark.line + first_line, node.start_mark.column + 1)
    if isinstance(node, yaml.SequenceNode):
        return Field(place, [_field(one, first_line, twice) for one in node.value])
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Field] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else ""
            at = (key.start_mark.line + first_line, key.start_mark.column + 1)
            if not name:
                twice.append(BadHead(at, "NOT_YAML", "the name of a field must be a word"))
            elif name in fields:
                what = f"{name} stands there twice"
                twice.append(BadHead(at, "TWICE", what, "Keep one of them."))
            else:
                fields[name] = _field(value, first_line, twice)
                # Where a field is talked about, its name is what people look for.
                fields[name].place = at
        return Field(place, fields)
    assert isinstance(node, yaml.ScalarNode)
    if node.style is None and node.value in ("", "~", "null", "Null", "NULL"):
        return Field(place, None)
    return Field(place, node.value)


# What a plan promises

ARTIFACTS = "artifacts"
MUST_HAVES = ("truths", ARTIFACTS, "key_links")
MUST_HAVES_FORM = "must_haves: {truths: [...], artifacts: [...], key_links: [...]}"


def read_must_haves(field: Field, own: str, tell: Tell) -> dict[str, Any]:
    """What the plan promises; `tell` gets every problem. A name that begins with `own` is the
    author's."""
    if not isinstance(field.value, dict):
        tell(field.place, "BAD_VALUE", "must_haves must be a table", MUST_HAVES_FORM)
        return {}
    for name, each in field.value.items():
        if name.startswith(own):
            continue
        if name not in MUST_HAVES:
            what = f"there is no {name!r:.60} in must_haves"
            tell(each.place, "UNKNOWN_FIELD", what, nearest(name, MUST_HAVES))
        elif each.value is not None and not isinstance(each.value, list):
            what = f"{name} must be a list, not {each.as_data()!r:.40}"
            tell(each.place, "BAD_VALUE", what, MUST_HAVES_FORM)
        elif name == ARTIFACTS:
            for artifact in each.value or []:
                _check_artifact(artifact, tell)
    found: dict[str, Any] = field.as_data()
    return found


def _check_artifact(artifact: Field, tell: Tell) -> None:
    given = artifact.value
    path = given.get("path") if isinstance(given, dict) else artifact
    if path is None or not isinstance(path.value, str) or not path.value.strip():
        what = "an artifact is the path of a file, or has one"
        tell(artifact.place, "BAD_VALUE", what, "artifacts: [src/a.py, {path: src/b.py}]")
    elif is_outside(path.value):
        what = f"the artifact {path.value!r:.80} is not below the project"
        tell(path.place, "OUTSIDE", what, "Name files from the project's top.")
