"""checkpoint.md: the text of a state, and the reader of such a text with the lines of its problems."""

from __future__ import annotations

from itertools import pairwise

from holdfast.kernel.patterns import compile_later
from holdfast.rfc.rules.markdown import cut, lines_of
from holdfast.rfc.rules.model import (
    DESIGN,
    DISCOVER,
    LARGEST_COUNT,
    MOST_GROUP_LINES,
    MOST_LINES,
    NO_ARTIFACTS,
    REVIEW,
    STRICTNESS,
    heading_of,
    in_order,
    key_of,
    order_of,
    round_of,
    sections_of,
    strictness_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from holdfast.rfc.rules.markdown import Block
    from holdfast.rfc.rules.model import Artifacts, Extra, Group, Meta, RfcState

    Level = Literal["fatal", "slip", "own"]

    class Problem(TypedDict):
        """A problem on a line. `fatal`: taking in the text would lose some of it. `slip`: the text can be
        taken in all the same. `own`: the line is not part of the protocol, and stays."""

        line: int
        message: str
        level: Level


RULE = "---"
MISSING, UNKNOWN = "missing", "unknown"
HASH_LENGTH = 8
LONGEST_NUMBER = 12
_COUNT = f"0|[1-9][0-9]{{,{LONGEST_NUMBER - 1}}}"
_ARTIFACTS = compile_later(
    rf"rfc\.md\(({MISSING}|[0-9a-f]{{{HASH_LENGTH}}})\), evidence\(({UNKNOWN}|{_COUNT}) items\), gate_b_round=({_COUNT})"
)
META_FORMS = {
    "checkpoint_version": "a number from 1 on",
    "last_phase": "discover, design, gate_b_round_N or review",
    "strictness": "Light, Standard or Full",
    "artifact_state": "`rfc.md(<sha256[:8]>), evidence(<N> items), gate_b_round=<N>`",
}


# Writing


def write(state: RfcState) -> str:
    """The text of checkpoint.md. Blank lines are left out where the budget requires it."""
    lines = _lines(state, compact=False)
    if len(lines) > MOST_LINES:
        lines = _lines(state, compact=True)
    return "\n".join(lines) + "\n"


def count(state: RfcState) -> int:
    """The fewest physical lines that the checkpoint needs."""
    return len(_lines(state, compact=True))


def group_lines(group: Group, *, compact: bool = True) -> list[str]:
    """The lines of a group from its heading up to the next rule."""
    blank = [] if compact else [""]
    lines = [f"## {heading_of(group['key'])}", *blank]
    for section in group["sections"]:
        lines += [f"### {section['title']}", *(f"- {one}" for one in section["bullets"]), *blank]
    return lines


def _lines(state: RfcState, *, compact: bool) -> list[str]:
    blank = [] if compact else [""]
    meta, fields = state["meta"], state["fields"]
    lines = [
        f"# Checkpoint: {state['id']}",
        *blank,
        "## Meta",
        f"- checkpoint_version: {version_of(fields)}",
        f"- last_phase: {meta['last_phase']}",
        f"- strictness: {strictness_of(fields).capitalize()}",
        f"- artifact_state: {artifact_state(meta['artifacts'], meta['round'])}",
        *(f"- {line}" for line in meta["extra"]),
        *blank,
    ]
    for group in state["groups"]:
        body = group_lines(group, compact=compact)
        if len(body) > MOST_GROUP_LINES:
            body = group_lines(group)
        lines += [RULE, *blank, *body]
    for extra in state["extra"]:
        lines += [RULE, *blank, f"## {extra['title']}", *extra["lines"], *blank]
    while not lines[-1]:
        lines.pop()
    return lines


def artifact_state(artifacts: Artifacts, number: int) -> str:
    """`rfc.md(1a2b3c4d), evidence(4 items), gate_b_round=1`"""
    items = UNKNOWN if artifacts["evidence"] < 0 else artifacts["evidence"]
    return f"rfc.md({artifacts['rfc'] or MISSING}), evidence({items} items), gate_b_round={number}"


# Reading


class Parsed:
    """What a checkpoint says, what is wrong with it, and the lines of its parts."""

    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self.problems: list[Problem] = []
        self.id = ""
        self.groups: list[Group] = []
        self.extra: list[Extra] = []
        # The first line of a group and its number of lines; the lines of sections and bullets.
        self.spans: dict[str, tuple[int, int]] = {}
        self.section_lines: dict[tuple[str, str], int] = {}
        self.bullet_lines: dict[tuple[str, str], list[int]] = {}
        self.meta_lines: dict[str, int] = {}
        self._meta: dict[str, str] = {}
        self._meta_extra: list[str] = []
        self._meta_line = 0
        # The part that is being read: "", "meta", "extra" or the key of a group.
        self._part = ""
        self._part_line = 0
        self._after_rule = False
        blocks = cut(self.lines)
        for block in blocks:
            self._read(block)
        self._end_part(len(self.lines) + 1)
        self._check_frame(blocks)
        self.version = max(_number(self._meta.get("checkpoint_version", "")), 0)
        self.strictness = self._meta.get("strictness", "").lower()
        self.meta = self._read_meta()
        self.groups = in_order(self.groups)

    @property
    def fatal(self) -> str:
        """The first problem that forbids taking in the text, with its line; "" if there is none."""
        found = [one for one in self.problems if one["level"] == "fatal"]
        return f"line {found[0]['line']}: {found[0]['message']}" if found else ""

    def _complain(self, line: int, what: str, level: Level = "fatal") -> None:
        self.problems.append({"line": line, "message": what, "level": level})

    def _read(self, block: Block) -> None:
        if block.kind == "unclosed":
            self._complain(block.line, f"{block.text} is never closed")
        elif block.kind == "heading" and block.level <= 2:
            self._end_part(block.line)
            self._begin_part(block)
        elif block.kind == "rule":
            self._end_part(block.line)
            self._part, self._after_rule = "", True
        elif self._part == "extra":
            pass  # kept line by line
        elif block.kind == "heading":
            self._read_section(block)
        elif block.kind == "comment":
            self._complain(block.line, "a comment of the template is left", "slip")
        elif block.kind == "bullet":
            self._read_bullet(block)
        else:
            self._complain(block.line, f"text that is no bullet: {block.text:.60}")

    def _begin_part(self, block: Block) -> None:
        self._part, self._part_line = "", block.line
        key = key_of(block.text)
        if block.level == 1:
            word, _, id = block.text.partition(":")
            if self.id or word != "Checkpoint" or not id.strip():
                self._complain(block.line, "the title is `# Checkpoint: <rfc_id>`, once")
            self.id = self.id or id.strip()
        elif block.text.lower() == "meta":
            if self._meta_line:
                self._complain(block.line, f"Meta stands already on line {self._meta_line}")
            self._part, self._meta_line = "meta", block.line
        elif key:
            if key in self.spans:
                first = self.spans[key][0]
                self._complain(block.line, f"{heading_of(key)} stands already on line {first}")
            if not self._after_rule:
                self._complain(block.line, f"there is no `{RULE}` before this group", "slip")
            self._part, self._after_rule = key, False
            self.spans[key] = (block.line, 0)
            self.groups.append({"key": key, "sections": [], "written": 0})
        else:
            self._complain(block.line, f"{block.text:.60} is no group of the protocol", "own")
            self._part = "extra"
            self.extra.append({"title": block.text, "lines": []})

    def _end_part(self, line: int) -> None:
        """End the current part before this line."""
        if self._part in self.spans:
            self.spans[self._part] = (self._part_line, line - self._part_line)
        elif self._part == "extra":
            kept = self.lines[self._part_line : line - 1]
            while kept and not kept[-1].strip():
                kept.pop()
            while kept and not kept[0].strip():
                kept.pop(0)
            self.extra[-1]["lines"] = kept

    def _read_section(self, block: Block) -> None:
        key = self._part
        if key not in self.spans or block.level != 3:
            self._complain(block.line, f"{block.text:.60} is in no group")
            return
        known = {title.lower(): title for title in sections_of(key)}
        title = known.get(block.text.lower(), block.text)
        if (key, title) in self.section_lines:
            first = self.section_lines[key, title]
            self._complain(block.line, f"{title} stands already on line {first}")
        if title not in known.values():
            what = f"{title:.60} is no section of {heading_of(key)}"
            self._complain(block.line, what, "own")
        self.groups[-1]["sections"].append({"title": title, "bullets": []})
        self.section_lines[key, title] = block.line
        self.bullet_lines[key, title] = []

    def _read_bullet(self, block: Block) -> None:
        if block.end > block.line:
            self._complain(block.line, "a bullet is one line; this one is folded", "slip")
        if self._part == "meta":
            name, colon, value = block.text.partition(":")
            if not colon or name in self._meta:
                what = f"Meta holds `name: value`, each once: {block.text:.60}"
                self._complain(block.line, what)
            elif name in META_FORMS:
                self._meta[name], self.meta_lines[name] = value.strip(), block.line
            else:
                self._complain(block.line, f"{name:.60} is no line of Meta", "own")
                self._meta_extra.append(block.text)
        elif self._part in self.spans and self.groups[-1]["sections"]:
            section = self.groups[-1]["sections"][-1]
            section["bullets"].append(block.text)
            self.bullet_lines[self._part, section["title"]].append(block.line)
        else:
            self._complain(block.line, f"a bullet in no section: {block.text:.60}")

    def _check_frame(self, blocks: list[Block]) -> None:
        """The title, Meta and its keys, and the order of the groups."""
        if not self.id:
            self._complain(1, "the first line is not `# Checkpoint: <rfc_id>`")
        elif blocks[0].level != 1:
            self._complain(blocks[0].line, "something stands before the title", "slip")
        if not self._meta_line:
            self._complain(1, "there is no `## Meta`")
        for name in META_FORMS:
            if self._meta_line and name not in self._meta:
                self._complain(self._meta_line, f"Meta has no {name}")
        keys = [group["key"] for group in self.groups]
        for before, key in pairwise(keys):
            if order_of(key) < order_of(before):
                what = f"{heading_of(key)} stands after {heading_of(before)}"
                self._complain(self.spans[key][0], what, "slip")

    def _read_meta(self) -> Meta:
        """The values of Meta. A value that is not valid is a problem on its line."""
        last = self._meta.get("last_phase", "")
        found = artifacts_of(self._meta.get("artifact_state", ""))
        valid = {
            "checkpoint_version": 1 <= self.version <= LARGEST_COUNT,
            "strictness": self.strictness in STRICTNESS,
            "last_phase": last in (DISCOVER, DESIGN, REVIEW) or round_of(last) > 0,
            "artifact_state": found is not None,
        }
        said = {**self._meta, "strictness": self.strictness}
        for name, is_valid in valid.items():
            if name in self._meta and not is_valid:
                rest = f", not {said[name]!r:.40}" if name != "artifact_state" else ""
                self._complain(self.meta_lines[name], f"{name} is {META_FORMS[name]}{rest}")
        artifacts, number = found or ({**NO_ARTIFACTS}, 0)
        extra = self._meta_extra
        return {"last_phase": last, "artifacts": artifacts, "round": number, "extra": extra}


def artifacts_of(value: str) -> tuple[Artifacts, int] | None:
    """The artifacts and the round of an `artifact_state`, or None if it has another form."""
    found = _ARTIFACTS.fullmatch(value)
    if found is None:
        return None
    rfc, items, number = found.groups()
    evidence = -1 if items == UNKNOWN else int(items)
    return {"rfc": rfc.replace(MISSING, ""), "evidence": evidence, "evidence_digest": ""}, int(
        number
    )


def _number(text: str) -> int:
    """A whole number from 0 on, or -1."""
    plain = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return int(text) if plain else -1
