"""checkpoint.md as it is read: what it says, what is wrong with it, and on which line."""

from __future__ import annotations

from holdfast.rfc.rules.blocks import cut, lines_of
from holdfast.rfc.rules.document import HASH_LENGTH, MISSING, RULE, UNKNOWN, artifact_state
from holdfast.rfc.rules.words import (
    LARGEST_COUNT,
    REVIEW,
    STRICTNESS,
    heading_of,
    key_of,
    order_of,
    round_of,
    sections_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.rfc.rules.blocks import Block
    from holdfast.rfc.rules.words import Artifacts, Extra, Group, Meta

    class Document(TypedDict):
        """What a checkpoint says."""

        id: str
        version: int
        strictness: str
        meta: Meta
        groups: list[Group]
        extra: list[Extra]

    class Problem(TypedDict):
        """What is wrong on a line; `fatal` when the text cannot be taken in without losing some,
        `own` when it is only not the protocol's: such headings and lines stay."""

        line: int
        message: str
        fatal: bool
        own: bool


META_KEYS = ("checkpoint_version", "last_phase", "strictness", "artifact_state")
LONGEST_NUMBER = 12


class Parsed:
    """A checkpoint that was read: what it says, what is wrong with it, and where things stand."""

    def __init__(self, text: str) -> None:
        self.lines = lines_of(text)
        self.problems: list[Problem] = []
        self.id = ""
        self.meta: dict[str, tuple[int, str]] = {}
        self.meta_extra: list[str] = []
        self.meta_line = 0
        self.groups: list[Group] = []
        self.extra: list[Extra] = []
        # Group: its first line and how many it has. Section and bullets: their lines.
        self.spans: dict[str, tuple[int, int]] = {}
        self.section_lines: dict[tuple[str, str], int] = {}
        self.bullet_lines: dict[tuple[str, str], list[int]] = {}
        self._place = "top"
        self._begun = 0
        self._ruled = False
        blocks = cut(self.lines)
        for block in blocks:
            self._read(block)
        self._close(len(self.lines) + 1)
        self._check_frame(blocks)
        self.document = self._document()

    @property
    def fatal(self) -> str:
        """The first thing that makes the text unusable, with its line."""
        found = [problem for problem in self.problems if problem["fatal"]]
        return f"line {found[0]['line']}: {found[0]['message']}" if found else ""

    def complain(self, line: int, message: str, *, fatal: bool = True, own: bool = False) -> None:
        fatal = fatal and not own
        self.problems.append({"line": max(line, 1), "message": message, "fatal": fatal, "own": own})

    def _read(self, block: Block) -> None:
        if block.kind == "unclosed":
            self.complain(block.line, f"{block.text} is never closed")
        elif block.kind == "heading" and block.level <= 2:
            self._close(block.line)
            self._begin(block)
        elif block.kind == "rule":
            self._close(block.line)
            self._place, self._ruled = "", True
        elif self._place.startswith("extra"):
            pass  # not ours, and kept line by line
        elif block.kind == "heading":
            self._section(block)
        elif block.kind == "comment":
            self.complain(block.line, "a comment of the template is left", fatal=False)
        elif block.kind == "bullet":
            self._bullet(block)
        else:
            self.complain(block.line, f"text that is no bullet: {block.text:.60}")

    def _begin(self, block: Block) -> None:
        """A new `## ` part, or the title."""
        if block.level == 1:
            word, _, id = block.text.partition(":")
            if self.id or word != "Checkpoint" or not id.strip():
                self.complain(block.line, "the title is `# Checkpoint: <rfc_id>`, once")
            self.id = self.id or id.strip()
            self._place = "top"
            return
        key = key_of(block.text)
        self._begun = block.line
        if block.text.lower() == "meta":
            if self.meta_line:
                self.complain(block.line, f"Meta stands already on line {self.meta_line}")
            self.meta_line, self._place = block.line, "meta"
        elif key:
            if key in self.spans:
                first = self.spans[key][0]
                self.complain(block.line, f"{heading_of(key)} stands already on line {first}")
            if not self._ruled:
                self.complain(block.line, f"there is no `{RULE}` before this group", fatal=False)
            self._ruled = False
            self.spans[key] = (block.line, 0)
            self.groups.append({"key": key, "sections": [], "written": 0})
            self._place = f"group {key}"
        else:
            self.complain(block.line, f"{block.text:.60} is no group of the protocol", own=True)
            self.extra.append({"title": block.text, "lines": []})
            self._place = "extra"

    def _close(self, line: int) -> None:
        """What began ends before this line."""
        if self._place.startswith("group "):
            key = self._place[6:]
            self.spans[key] = (self._begun, line - self._begun)
        elif self._place == "extra":
            kept = self.lines[self._begun : line - 1]
            while kept and not kept[-1].strip():
                kept.pop()
            while kept and not kept[0].strip():
                kept.pop(0)
            self.extra[-1]["lines"] = kept

    def _section(self, block: Block) -> None:
        if not self._place.startswith("group ") or block.level != 3:
            self.complain(block.line, f"{block.text:.60} is in no group")
            return
        key, group = self._place[6:], self.groups[-1]
        known = {title.lower(): title for title in sections_of(key)}
        title = known.get(block.text.lower(), block.text)
        if (key, title) in self.section_lines:
            first = self.section_lines[key, title]
            self.complain(block.line, f"{title} stands already on line {first}")
        if title not in known.values():
            what = f"{title:.60} is no section of {heading_of(key)}"
            self.complain(block.line, what, own=True)
        group["sections"].append({"title": title, "bullets": []})
        self.section_lines[key, title] = block.line
        self.bullet_lines[key, title] = []

    def _bullet(self, block: Block) -> None:
        if block.end > block.line:
            self.complain(block.line, "a bullet is one line; this one is folded", fatal=False)
        if self._place == "meta":
            name, colon, value = block.text.partition(":")
            if not colon or name in self.meta:
                self.complain(block.line, f"Meta holds `name: value`, each once: {block.text:.60}")
            elif name in META_KEYS:
                self.meta[name] = (block.line, value.strip())
            else:
                self.complain(block.line, f"{name:.60} is no line of Meta", own=True)
                self.meta_extra.append(block.text)
        elif self._place.startswith("group ") and self.groups[-1]["sections"]:
            section = self.groups[-1]["sections"][-1]
            section["bullets"].append(block.text)
            self.bullet_lines[self._place[6:], section["title"]].append(block.line)
        else:
            self.complain(block.line, f"a bullet in no section: {block.text:.60}")

    def _check_frame(self, blocks: list[Block]) -> None:
        """The title, Meta, and the groups in their order."""
        if not self.id:
            self.complain(1, "the first line is not `# Checkpoint: <rfc_id>`")
        elif blocks[0].level != 1:
            self.complain(blocks[0].line, "something stands before the title", fatal=False)
        if not self.meta_line:
            self.complain(1, "there is no `## Meta`")
        before = ""
        for group in self.groups:
            key = group["key"]
            if before and order_of(key) < order_of(before):
                what = f"{heading_of(key)} stands after {heading_of(before)}"
                self.complain(self.spans[key][0], what, fatal=False)
            before = key

    def _document(self) -> Document:
        version, last_phase, strictness = self._version(), self._last_phase(), self._strictness()
        artifacts, number = self._artifacts()
        return {
            "id": self.id,
            "version": version,
            "strictness": strictness,
            "meta": {
                "last_phase": last_phase,
                "artifacts": artifacts,
                "round": number,
                "extra": self.meta_extra,
            },
            "groups": sorted(self.groups, key=lambda group: order_of(group["key"])),
            "extra": self.extra,
        }

    def _meta_value(self, name: str) -> tuple[int, str]:
        if name not in self.meta and self.meta_line:
            self.complain(self.meta_line, f"Meta has no {name}")
        return self.meta.get(name, (0, ""))

    def _version(self) -> int:
        line, value = self._meta_value("checkpoint_version")
        number = _number(value)
        if line and not 1 <= number <= LARGEST_COUNT:
            self.complain(line, f"checkpoint_version is a number from 1 on, not {value!r:.40}")
        return max(number, 0)

    def _strictness(self) -> str:
        line, value = self._meta_value("strictness")
        if line and value.lower() not in STRICTNESS:
            self.complain(line, f"strictness is Light, Standard or Full, not {value!r:.40}")
        return value.lower()

    def _last_phase(self) -> str:
        line, value = self._meta_value("last_phase")
        if line and value not in ("discover", "design", REVIEW) and not round_of(value):
            what = "last_phase is discover, design, gate_b_round_N or review"
            self.complain(line, f"{what}, not {value!r:.40}")
        return value

    def _artifacts(self) -> tuple[Artifacts, int]:
        line, value = self._meta_value("artifact_state")
        found = artifacts_of(value)
        if found is None:
            nothing: Artifacts = {"rfc": "", "evidence": -1, "evidence_digest": ""}
            shape = "rfc.md(<sha256[:8]>), evidence(<N> items), gate_b_round=<N>"
            if line:
                self.complain(line, f"artifact_state is `{shape}`")
            return nothing, 0
        return found


def artifacts_of(value: str) -> tuple[Artifacts, int] | None:
    """What `artifact_state` says, and its round; None when it is not of its form."""
    parts = [part.strip() for part in value.split(",")]
    if len(parts) != 3:
        return None
    rfc = parts[0].removeprefix("rfc.md(").removesuffix(")")
    items = parts[1].removeprefix("evidence(").removesuffix(" items)")
    number = _number(parts[2].removeprefix("gate_b_round="))
    evidence = -1 if items == UNKNOWN else _number(items)
    hexadecimal = len(rfc) == HASH_LENGTH and not rfc.strip("0123456789abcdef")
    meta: Meta = {
        "last_phase": "",
        "artifacts": {
            "rfc": "" if rfc == MISSING else rfc,
            "evidence": evidence,
            "evidence_digest": "",
        },
        "round": number,
        "extra": [],
    }
    valid = (hexadecimal or rfc == MISSING) and (evidence >= 0 or items == UNKNOWN) and number >= 0
    return (meta["artifacts"], number) if valid and artifact_state(meta) == value else None


def _number(text: str) -> int:
    """A whole number from 0 on; -1 when it is none."""
    plain = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return int(text) if plain else -1
