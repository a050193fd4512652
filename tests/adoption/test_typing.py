"""What a person types for the main path of each protocol, beside doing it by hand from its document."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.adoption import folders
from tests.adoption.folders import ENGINE, PROGRESS, TRACK, put
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.rfc.world import DESIGN

holdfast = command_line.holdfast
PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
HEAD = "| protocol | what | by hand | with Holdfast |\n|---|---|---|---|\n"


class MainPath(NamedTuple):
    """The same result twice: what is typed by hand, in commands and texts, and with Holdfast. `given` is a
    text that both need."""

    protocol: str
    what: str
    by_hand: tuple[str, ...]
    ours: tuple[str, ...]
    given: str = ""


NOW = "2026-01-15T14:30:00Z"
PATHS = (
    MainPath(
        "CCC",
        "a task is done, and the session is captured",
        (
            f"**Session:** {NOW}",
            "- Write the parser ✓",
            "- Write the docs — not started",
            "Resume CIA-401. Current task: task 3 of 3. Key files: src/dates.py.",
            "Next action: write docs/dates.md.",
            "git add src/dates.py",
            'git commit -m "wip(CIA-401): checkpoint — task 3 of 3: Write the docs"',
        ),
        ('holdfast checkpoint --done "Write the parser" --next "write docs/dates.md"',),
    ),
    MainPath(
        "FLEET",
        "a heartbeat, with its backup and its check",
        (
            "cp agent_checkpoints/secondary_a.json agent_checkpoints/backups/secondary_a_$(date +%Y%m%d_%H%M%S).json",
            f'"last_checkpoint": "{NOW}",',
            '"next_checkpoint_expected": "2026-01-15T14:45:00Z",',
            '"current_step": "Writing Acceptance Criteria",',
            '"files_modified": ["a.py"],',
            "jq . agent_checkpoints/secondary_a.json",
        ),
        ('holdfast agent beat Secondary-A --step "Writing Acceptance Criteria"',),
    ),
    MainPath(
        "LOOP",
        "a task is done",
        (
            'while ! mkdir "$track_dir/.metadata.lock" 2>/dev/null; do sleep 0.1; done',
            'jq \'.loop_state.checkpoints.EXECUTE |= (.progress.tasks_completed = 3 | .progress.last_task = "1.3" '
            f'| .progress.last_commit = "def5678" | .last_updated = "{NOW}")\' metadata.json > t',
            "mv t metadata.json",
            'rmdir "$track_dir/.metadata.lock"',
        ),
        ("holdfast loop task-done 1.3 --commit def5678",),
    ),
    MainPath(
        "PILOT",
        "a person is asked to look at what was built",
        (
            '<task type="checkpoint:human-verify" gate="blocking">',
            "<what-built>Dashboard at http://localhost:3000</what-built>",
            "<how-to-verify>1. Cards show data</how-to-verify>",
            '<resume-signal>Type "approved" or describe issues</resume-signal>',
            "</task>",
        ),
        (
            'holdfast gate verify --built "Dashboard at http://localhost:3000" --how "Cards show data"',
        ),
    ),
    MainPath(
        "RFC",
        "the boundary from DESIGN to GATE-A; the answers, which both need, are not counted",
        (
            "- checkpoint_version: 4",
            "- last_phase: design",
            "- artifact_state: rfc.md(0838f10e), evidence(2 items), gate_b_round=0",
            "sha256sum .ohrfc/RFC-001/rfc.md",
            '"current_phase": "gate_a",',
            '"checkpoint_version": 4',
        ),
        ("holdfast rfc transition design-gate-a --from -",),
        DESIGN,
    ),
)


def table() -> str:
    """Return the table of the page."""
    rows = (
        f"| {one.protocol} | {one.what} | {_count(one.by_hand)} | {_count(one.ours)} |"
        for one in PATHS
    )
    return HEAD + "\n".join(rows) + "\n"


def _count(lines: tuple[str, ...]) -> str:
    noun = "line" if len(lines) == 1 else "lines"
    return f"{len(lines)} {noun}, {sum(map(len, lines))} characters"


def _prepare(name: str, holdfast: Holdfast) -> None:
    makers: dict[str, Callable[[], object]] = {
        "CCC": lambda: (put(".ccc-progress.md", PROGRESS), put(".ccc-state.json", ENGINE)),
        "FLEET": lambda: holdfast("agent", "start", "Secondary-A", "--feature", "feature_02"),
        "LOOP": lambda: put("conductor/tracks/team-penalty/metadata.json", TRACK),
        "PILOT": lambda: None,
        "RFC": folders.put_rfc,
    }
    makers[name]()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.protocol)
def test_the_main_path_is_less_work_than_by_hand(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, path: MainPath
) -> None:
    _prepare(path.protocol, holdfast)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.given.encode()), "utf-8"))
    for line in path.ours:
        assert holdfast(*shlex.split(line)[1:]).code in (0, 8)
    assert len(path.ours) <= len(path.by_hand)
    assert sum(map(len, path.ours)) < sum(map(len, path.by_hand))


def test_the_page_has_the_table() -> None:
    assert table() in PAGE.read_text("utf-8")
