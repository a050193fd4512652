"""What the tests of RFCs share: answers to every question, and a workspace to give them in."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli import conftest as command_line

Answer = command_line.Answer
Holdfast = command_line.Holdfast
holdfast = command_line.holdfast
Rfc = Callable[..., Answer]

ID = "auth-model"
FOLDER = Path(".ohrfc") / ID
CHECKPOINT, STATE = FOLDER / "checkpoint.md", FOLDER / "state.json"
PROTOCOL = Path(__file__).parent / "protocol"

DISCOVER = """\
### User Intent Signals
- Speed matters more than completeness
- Firm: no new service
- Flexible: how things are named

### Scan Insights
- All handlers share one retry helper
- The cache is per process

### Active Tensions
- Latency against the audit log
"""
DESIGN = """\
### Design Reasoning Notes
- DEC-001: the queue won narrowly; flips when p99 exceeds 50 ms

### Decision Interdependencies
- DEC-001 and HR-002 are coupled
- SCN-004 assumes DEC-002

### Tricky Sections
- Section 4: "at most once" is exact
"""
FEEDBACK = """\
### Reviewer Feedback Digest
- The theme is thin failure paths
- Borderline: the name of HR-003
- The reviewers were aligned

### What Changed This Round
- SCN-014 was added because restarts were untested

### Active Tensions Updated
- Resolved: none
- Intensified: Latency against the audit log
- New: the size of the audit log
"""
SUMMARY = {
    "result": "FAIL",
    "blocking_reasons": ["There is no way back after a restart"],
    "p0_issues": [],
    "p1_issues": [],
    "p2_issues": [],
    "required_actions": [{"location": "Section 4", "edit": "Add SCN-015"}],
}
TEXTS = {"discover": DISCOVER, "design": DESIGN, "gate-b": FEEDBACK, "review": FEEDBACK}


@pytest.fixture
def rfc(repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch) -> Rfc:
    """`rfc("write", "discover", given=DISCOVER)`: a verb of `holdfast rfc` in a fresh repository."""

    def call(*words: str, given: str | bytes | None = None) -> Answer:
        content = given.encode() if isinstance(given, str) else given or b""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), "utf-8"))
        return holdfast("rfc", *words)

    return call


@pytest.fixture
def begun(rfc: Rfc) -> Rfc:
    """With an RFC `auth-model` of standard strictness."""
    assert rfc("init", ID).code == 0
    return rfc


@pytest.fixture
def failed(begun: Rfc) -> Rfc:
    """With a checkpoint of each phase, after the first round of Gate-B failed."""
    through(begun, "discover", "design", "gate-b")
    return begun


def through(rfc: Rfc, *groups: str) -> None:
    """Write these groups, and make the transition behind each."""
    names = {
        "discover": "discover-design",
        "design": "design-gate-a",
        "gate-b": "gate-b-fail",
        "review": "review-reject",
    }
    for group in groups:
        done(rfc("write", group, given=TEXTS[group]))
        done(rfc("transition", names[group]))
        if group == "gate-b":
            review()


def review(**changes: object) -> None:
    place = FOLDER / ".reviews" / "summary.json"
    place.write_text(json.dumps({**SUMMARY, **changes}), "utf-8")


def done(answer: Answer) -> Answer:
    assert answer.code == 0, answer
    return answer


def fields() -> dict[str, Any]:
    value = json.loads(STATE.read_text("utf-8"))
    assert isinstance(value, dict)
    return value


def set_fields(**changes: object) -> None:
    STATE.write_text(json.dumps({**fields(), **changes}), "utf-8")


def section(title: str, count: int, group: str) -> str:
    """The answers for a group, with so many bullets in one section."""
    lines = TEXTS[group].splitlines()
    begin = lines.index(f"### {title}")
    end = next((n for n in range(begin + 1, len(lines)) if not lines[n].strip()), len(lines))
    bullets = [f"- number {number} is about {title}" for number in range(count)]
    return "\n".join([*lines[: begin + 1], *bullets, *lines[end:]]) + "\n"


def headings() -> list[str]:
    return [line for line in CHECKPOINT.read_text("utf-8").splitlines() if line.startswith("## ")]
