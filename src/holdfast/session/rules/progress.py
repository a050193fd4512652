"""The text of `.ccc-progress.md`: written, read, and checked."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import harmless
from holdfast.session.rules.fields import DEFAULT_MODE, IN_SECTIONS, TEXT, UNKNOWN_ISSUE, one_line
from holdfast.session.rules.model import empty_progress, is_issue_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.session.rules.model import Claim, Progress

TITLE = "# Session Progress"
ISSUE, SESSION, MODE = "**Issue:** ", "**Session:** ", "**Execution Mode:** exec:"
SECTIONS = tuple(field.heading for field in IN_SECTIONS if field.is_of_protocol)
CLAIMS = "Claims"
DASH = " — "
NONE = "None"
NO_STATUS = "not started"
# Of what a probe said about a claim that does not hold.
LONGEST_REASON = 120


def write(progress: Progress, at: str, claims: Sequence[Claim] = ()) -> str:
    """The file, in the layout of the protocol: no blank line below a heading, one above it."""
    title = progress["title"] or "untitled"
    lines = [
        TITLE,
        "",
        f"{ISSUE}{progress['issue']}{DASH}{title}",
        f"{SESSION}{at}",
        f"{MODE}{progress['mode']}",
    ]
    values: dict[str, Any] = {**empty_progress(), **progress}
    if progress["current"]:
        values["current"] += f"{DASH}{progress['status'] or NO_STATUS}"
    for field in sorted(IN_SECTIONS, key=lambda field: not field.is_of_protocol):
        value = values[field.name]
        if field.kind == TEXT:
            lines += ["", f"## {field.heading}", value]
        elif value or field.is_of_protocol:
            bullets = field.write_lines(value) or [NONE]
            lines += ["", f"## {field.heading}", *(f"- {bullet}" for bullet in bullets)]
    if claims:
        lines += ["", f"## {CLAIMS}", *(f"- {claim_line(claim)}" for claim in claims)]
    text = harmless("\n".join(lines) + "\n")
    # What others wrote into the file is theirs, letter by letter.
    return f"{text}\n{progress['extra']}\n" if progress["extra"] else text


def parse(text: str) -> Progress:
    """What a file says, ours or another writer's. Missing sections are empty, unknown ones are kept."""
    lines = text.rstrip("\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.rstrip() != TITLE:
        raise Unparsable(f"the first line is not `{TITLE}`")
    progress = empty_progress()
    head, sections = _split(lines)
    for line in head:
        if line.startswith(ISSUE):
            issue, _, title = line[len(ISSUE) :].partition(DASH)
            progress["issue"] = issue.strip() or UNKNOWN_ISSUE
            progress["title"] = title.strip()
        elif line.startswith(MODE):
            progress["mode"] = line[len(MODE) :].strip() or DEFAULT_MODE
    known = {field.heading: field for field in IN_SECTIONS}
    values: dict[str, Any] = {**progress}
    extra = []
    for name, body in sections:
        field = known.get(name)
        if name == CLAIMS:
            continue  # written from what the probes said
        if field is None:
            extra.append("\n".join([f"## {name}", *body]).rstrip())
        elif field.kind == TEXT:
            values[field.name] = "\n".join(body).strip("\n")
        else:
            bullets = list(_bullets(body))
            read = field.read_value(bullets)
            if field.is_list:
                values[field.name] += read
            elif bullets:
                values[field.name] = read
    values["current"], _, values["status"] = values["current"].partition(DASH)
    values["extra"] = "\n\n".join(extra)
    return values  # type: ignore[return-value]


def shortcomings(text: str, *, needs_issue: bool = True) -> list[str]:
    """What the protocol requires of the file and this one lacks; CCC-23.

    Said as warnings only: a checkpoint is never refused for it.
    """
    lines = text.rstrip("\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    found = [] if first.rstrip() == TITLE else [f"the first line is not `{TITLE}`"]
    head, sections = _split(lines)
    fields = [mark for line in head for mark in (ISSUE, SESSION, MODE) if line.startswith(mark)]
    values = {mark: line[len(mark) :] for line in head for mark in fields if line.startswith(mark)}
    for mark in (ISSUE, SESSION, MODE):
        if mark not in values:
            found.append(f"it has no line `{mark.split(' exec')[0].strip()}`")
    if fields != sorted(fields, key=(ISSUE, SESSION, MODE).index):
        found.append("its header lines are out of order")
    issue, _, title = values.get(ISSUE, "").partition(DASH)
    is_named = is_issue_name(issue) and issue != UNKNOWN_ISSUE
    needs_issue = needs_issue or issue != UNKNOWN_ISSUE
    if ISSUE in values and needs_issue and not (is_named and title.strip()):
        found.append("its issue line is not `ID — title`")
    if SESSION in values and not _is_time(values[SESSION].strip()):
        found.append("its session line holds no timestamp")
    names = [name for name, _ in sections if name in SECTIONS]
    found += [f"it has no section `## {name}`" for name in SECTIONS if name not in names]
    found += [f"it has `## {name}` twice" for name in SECTIONS if names.count(name) > 1]
    if names != sorted(names, key=SECTIONS.index):
        found.append("its sections are out of order")
    return found


def _is_time(text: str) -> bool:
    try:
        clock.parse(text)
    except ValueError:
        return False
    return True


def session_of(text: str) -> str:
    """The time in the header of a file."""
    for line in text.split("\n"):
        if line.startswith(SESSION):
            return line[len(SESSION) :].strip()
    return "an unknown time"


def _split(lines: list[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    head: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    in_code = False
    for line in lines:
        if line.startswith(("```", "~~~")):
            in_code = not in_code
        if line.startswith("## ") and not in_code:
            sections.append((line[3:].strip(), []))
        elif sections:
            sections[-1][1].append(line)
        else:
            head.append(line)
    return head, sections


def _bullets(body: list[str]) -> Iterator[str]:
    """Each with the lines that belong to it: an editor may have broken it in two."""
    bullets: list[str] = []
    for line in body:
        if line.startswith(("- ", "* ")):
            bullets.append(line[2:])
        elif bullets and line.strip():
            bullets[-1] += f" {line}"
    for bullet in map(one_line, bullets):
        if bullet and bullet != NONE:
            yield bullet


def claim_line(claim: Claim) -> str:
    """A claim with what its probe said: never more than was seen."""
    word = "verified" if claim["ok"] else "unverified"
    said = [] if claim["exit_code"] is None else [f"exit {claim['exit_code']}"]
    if not claim["ok"] and claim["output"].strip():
        said.append(one_line(claim["output"].strip().split("\n")[-1])[:LONGEST_REASON])
    said.append(claim["at"])
    if claim["commit"]:
        beside = " with uncommitted changes" if claim.get("dirty") else ""
        said.append(f"at {claim['commit'][:12]}{beside}")
    return f"[{word}] {claim['claim']} ({spell(claim['probe'])}: {', '.join(said)})"


def spell(probe: Mapping[str, Any]) -> str:
    """A probe as the command line spells it; on one line."""
    kind, value = next(iter(probe.items()), ("", ""))
    return one_line(kind if value is True else f"{kind}:{value}")
