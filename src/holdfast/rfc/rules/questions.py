"""The questions at each boundary, word by word as in the protocol, and the reader of their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel.errors import Usage
from holdfast.rfc.rules.markdown import cut, lines_of
from holdfast.rfc.rules.model import DESIGN, DISCOVER, heading_of, key_of, sections_of

if TYPE_CHECKING:
    from holdfast.rfc.rules.model import Section

LARGEST_ANSWERS = 4_000_000  # characters
DISCOVER_QUESTIONS = """\
Before proceeding to DESIGN, write checkpoint DISCOVER Exit section:

1. USER INTENT SIGNALS (3-7 bullets):
   - What priorities did the user emphasize beyond formal REQ/DEC entries?
   - Were there moments where the user's tone/emphasis revealed implicit constraints?
   - What was the user flexible about? What were they firm about?

2. SCAN INSIGHTS (2-4 bullets):
   - What codebase patterns will shape design choices but aren't formal evidence?
   - Any surprising discoveries not captured in evidence.json?

3. ACTIVE TENSIONS (1-3 bullets):
   - Where do requirements pull in opposite directions?
   - What's the most fragile assumption carried forward?"""
DESIGN_QUESTIONS = """\
Before proceeding to GATE-A, append checkpoint DESIGN Exit section:

1. DESIGN REASONING NOTES (per major DEC, max 7):
   - What almost made you choose the alternative? How close was the decision?
   - What assumption, if invalidated, would flip this decision?

2. DECISION INTERDEPENDENCIES (2-5 bullets):
   - Which pairs of DECs/HRs are secretly coupled?
   - What downstream implications aren't formally tracked?

3. TRICKY SECTIONS (1-3 bullets):
   - Which section of rfc.md required the most careful wording?
   - What would a naive editor accidentally break?"""
# Below a first line that names the group: a Gate-B round or the rejected review.
FEEDBACK_QUESTIONS = """\

1. REVIEWER FEEDBACK DIGEST (3-5 bullets):
   - What is the META theme across all reviewer findings?
   - Which findings were borderline — could have gone either way?
   - Were reviewers aligned or pulling in different directions?

2. WHAT CHANGED THIS ROUND (1-3 bullets):
   - What was modified in rfc.md and what was the reasoning?
   - Was anything NOT changed despite feedback, and why?

3. ACTIVE TENSIONS UPDATED:
   - Resolved: (which earlier tensions?)
   - Intensified: (which got worse?)
   - New: (from this round's feedback?)"""
# Step 5 of the bootstrap: for thought alone, never written to a file.
ORIENTATION = """\
"Given the checkpoint, current rfc.md, and Gate-B feedback:
 - What is the core issue that caused the gate failure?
 - Which Design Reasoning Notes and Active Tensions are relevant?
 - What is my plan for this revision?"\
"""


def prompt(key: str) -> str:
    """The questions that a group answers."""
    if key == DISCOVER:
        return DISCOVER_QUESTIONS
    if key == DESIGN:
        return DESIGN_QUESTIONS
    heading = f"Before looping back to DESIGN, append checkpoint {heading_of(key)} section:"
    return f"{heading}\n{FEEDBACK_QUESTIONS}"


# Answers


def read(key: str, text: str, *, source: str = "answers") -> list[Section]:
    """Return the sections of a group that a Markdown text answers. Text that belongs to no section is
    refused with its line."""
    if len(text) > LARGEST_ANSWERS:
        raise Usage(
            f"The answers have {len(text)} characters; {LARGEST_ANSWERS} is the most.",
            hint="Signals over transcripts: one line a bullet.",
        )
    titles = {title.lower(): title for title in sections_of(key)}
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    asked = prompt(key).partition("\n")[0]
    skipped, lines = _without_fence(lines_of(text))
    for block in cut(lines, frozenset(titles)):
        where = f"{source}:{block.line + skipped}"
        if block.kind == "heading":
            title = titles.get(block.text.lower(), "")
            group = key_of(block.text)
            if title in found:
                raise _refusal(f"{where}: {title} stands there twice.")
            if group and group != key:
                what = f"this is {heading_of(group)}, and {heading_of(key)} is asked for"
                raise _refusal(f"{where}: {what}.")
            if not title and not group:
                raise _refusal(f"{where}: {block.text:.60} is no section of {heading_of(key)}.")
            current = found.setdefault(title, []) if title else None
        elif block.kind == "bullet":
            if current is None:
                raise _refusal(f"{where}: a bullet in no section: {block.text:.60}")
            current.append(block.text)
        elif block.kind == "unclosed":
            raise _refusal(f"{where}: {block.text} is never closed.")
        elif block.kind == "text" and block.text != asked:
            raise _refusal(f"{where}: text that is no bullet: {block.text:.60}")
    return [{"title": title, "bullets": bullets} for title, bullets in found.items()]


def _without_fence(lines: list[str]) -> tuple[int, list[str]]:
    """The lines without a code fence around all of them, and how many lines were before them."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    first, last = (filled[0], filled[-1]) if filled else (0, 0)
    if last > first and lines[first].startswith("```") and lines[last].strip() == "```":
        return first + 1, lines[first + 1 : last]
    return 0, lines


def _refusal(message: str) -> Usage:
    hint = (
        "`holdfast rfc prompt` shows the sections; each bullet is one line that begins with `- `."
    )
    return Usage(message, hint=hint, kind="bad_answers")
