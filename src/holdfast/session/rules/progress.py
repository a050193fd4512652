"""The text of `.ccc-progress.md`: written, read, and checked."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.rules import Unparsable
from holdfast.kernel.text import harmless
from holdfast.session.rules.model import (
    DEFAULT_MODE,
    NOT_GIVEN,
    UNKNOWN_ISSUE,
    empty_progress,
    is_issue_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from holdfast.session.rules.model import Blocker, Claim, Progress, StatedDecision

TITLE = "# Session Progress"
ISSUE, SESSION, MODE = "**Issue:** ", "**Session:** ", "**Execution Mode:** exec:"
COMPLETED, CURRENT, REMAINING = "Completed Tasks", "Current Task", "Remaining Tasks"
DECISIONS, BLOCKERS, PROMPT = "Decisions Made", "Blockers", "Continuation Prompt"
SECTIONS = (COMPLETED, CURRENT, REMAINING, DECISIONS, BLOCKERS, PROMPT)
CLAIMS = "Claims"
DONE, DASH = " ✓", " — "
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
    current = progress["current"]
    bodies = {
        COMPLETED: [f"{task}{DONE}" for task in progress["completed"]],
        CURRENT: [f"{current}{DASH}{progress['status'] or NO_STATUS}"] if current else [],
        REMAINING: progress["remaining"],
        DECISIONS: [f"{made['decision']}: {made['rationale']}" for made in progress["decisions"]],
        BLOCKERS: [
            f"{one['blocker']} (unblocked by: {one['until']})" for one in progress["blockers"]
        ],
    }
    for section, bullets in bodies.items():
        lines += ["", f"## {section}", *(f"- {bullet}" for bullet in bullets or [NONE])]
    lines += ["", f"## {PROMPT}", progress["prompt"]]
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
    extra = []
    for name, body in sections:
        if name == CLAIMS:
            continue  # written anew from what the probes said
        if name not in SECTIONS:
            extra.append("\n".join([f"## {name}", *body]).rstrip())
        elif name == PROMPT:
            progress["prompt"] = "\n".join(body).strip("\n")
        else:
            _take(progress, name, list(_bullets(body)))
    progress["extra"] = "\n\n".join(extra)
    return progress


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


def _take(progress: Progress, name: str, bullets: list[str]) -> None:
    if name == COMPLETED:
        progress["completed"] += [_strip_mark(bullet) for bullet in bullets]
    elif name == CURRENT and bullets:
        progress["current"], _, progress["status"] = bullets[0].partition(DASH)
    elif name == REMAINING:
        progress["remaining"] += bullets
    elif name == DECISIONS:
        progress["decisions"] += [decision_of(bullet) for bullet in bullets]
    elif name == BLOCKERS:
        progress["blockers"] += [blocker_of(bullet) for bullet in bullets]


def _strip_mark(bullet: str) -> str:
    """The task of a finished line; the other layout in use marks it with `[x]`."""
    return bullet.removesuffix(DONE.strip()).rstrip().removeprefix("[x] ")


def decision_of(text: str) -> StatedDecision:
    decision, _, rationale = text.strip().removesuffix(":").partition(": ")
    return {
        "decision": decision.strip() or "unnamed",
        "rationale": rationale.strip() or NOT_GIVEN,
    }


def blocker_of(text: str) -> Blocker:
    blocker, found, until = text.partition(" (unblocked by: ")
    return {
        "blocker": blocker.strip() or "unnamed",
        "until": (until.removesuffix(")").strip() if found else "") or NOT_GIVEN,
    }


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


def one_line(text: str) -> str:
    """A value as one line of the file can hold it."""
    return " ".join(text.replace("\0", " ").split())
