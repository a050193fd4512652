"""The questions at each boundary, word by word as the protocol asks them."""

from __future__ import annotations

from holdfast.rfc.rules.words import DESIGN, DISCOVER, REVIEW, heading_of, round_of

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
# After the first line, which names the group: a round of Gate-B, or the rejected review.
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
# Step 5 of the bootstrap: to be answered in thought, and written nowhere.
ORIENTATION = """\
"Given the checkpoint, current rfc.md, and Gate-B feedback:
 - What is the core issue that caused the gate failure?
 - Which Design Reasoning Notes and Active Tensions are relevant?
 - What is my plan for this revision?"\
"""


def prompt(key: str) -> str:
    """The questions whose answers make a group."""
    if key == DISCOVER:
        return DISCOVER_QUESTIONS
    if key == DESIGN:
        return DESIGN_QUESTIONS
    assert key == REVIEW or round_of(key)
    heading = f"Before looping back to DESIGN, append checkpoint {heading_of(key)} section:"
    return f"{heading}\n{FEEDBACK_QUESTIONS}"
