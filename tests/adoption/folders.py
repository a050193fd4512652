"""Folders as the users of each document make them by hand, and the shell in which their scripts run."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

PROGRESS = """\
# Session Progress

**Issue:** CIA-401 — Parse dates
**Session:** 2026-02-20T10:00:00Z
**Execution Mode:** exec:tdd

## Completed Tasks
- Read the issue ✓

## Current Task
- Write the parser — half done

## Remaining Tasks
- Write the docs

## Decisions Made
- No regular expressions: too slow

## Blockers
- The key is missing (unblocked by: Ann)

## Continuation Prompt
Resume CIA-401. Current task: task 2 of 3. Key files: src/dates.py.
Next action: finish parse_date.
"""
# What the upstream project keeps in the same file.
LEARNINGS = """
## Learnings
- [2026-02-20 10:00] Months begin with 1
"""
ENGINE = {
    "linearIssue": "CIA-401",
    "phase": "execution",
    "taskIndex": 1,
    "totalTasks": 3,
    "taskIteration": 2,
    "executionMode": "tdd",
    "gatesPassed": [1, 2],
    "awaitingGate": None,
    "checkpointCommentId": "c-1",
    "activeTaskFiles": ["src/dates.py"],
}
TRACK = {
    "version": 3,
    "track_id": "team-penalty",
    "superpower_enhanced": True,
    "loop_state": {
        "current_step": "EXECUTE",
        "step_status": "IN_PROGRESS",
        "step_started_at": "2026-02-13T12:00:00Z",
        "fix_cycle_count": 0,
        "max_fix_cycles": 3,
        "checkpoints": {
            "PLAN": {
                "status": "PASSED",
                "started_at": "2026-02-13T11:00:00Z",
                "completed_at": "2026-02-13T12:00:00Z",
                "agent": "superpowers:writing-plans",
                "output_files": ["plan.md"],
                "notes": "5 tasks",
                "last_updated": "2026-02-13T12:00:00Z",
            },
            "EXECUTE": {
                "status": "IN_PROGRESS",
                "started_at": "2026-02-13T12:00:00Z",
                "completed_at": None,
                "agent": "superpowers:executing-plans",
                "progress": {
                    "tasks_completed": 2,
                    "tasks_total": 5,
                    "last_task": "1.2",
                    "last_commit": "abc1234",
                },
                "output_files": [],
                "notes": "",
                "last_updated": "2026-02-13T12:05:00Z",
                "reviewed_by": "Kim",
            },
        },
    },
    "lead_consultations": [{"lead": "ux", "verdict": "ok"}],
}
ACKNOWLEDGED = {
    "acknowledgments": {
        "cost": {
            "acknowledged_at": "2026-01-29T14:30:00Z",
            "value_at_ack": 26.5,
            "session_id": "session-abc123",
        }
    },
    "last_reset": None,
}
CONFIG = """\
# Ask Kim before you raise these.
thresholds:
  warning: {cost: 10.00, context: 30}
  alert: {cost: 25.00, context: 40}
  stop: {cost: 50.00, context: 50}
"""
ROUTE = """\
---
phase: 3
plan: 06
wave: 1
autonomous: false
checkpoint:
  type: human-verify
  after_task: 1
  what: "Integration tests pass, dashboard functional"
depends_on: []
---

<task type="auto">
  <name>Start dev server</name>
  <action>Run `npm run dev` in background</action>
  <run>true</run>
  <verify>true</verify>
</task>
"""
RFC = """\
# Checkpoint: RFC-001

## Meta
- checkpoint_version: 3
- last_phase: discover
- strictness: Full
- artifact_state: rfc.md({digest}), evidence(2 items), gate_b_round=0

---

## DISCOVER Exit

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


def put(path: str, content: object) -> Path:
    """Write a file by hand; data as JSON."""
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
    place.write_text(text, "utf-8")
    return place


def put_rfc() -> tuple[Path, Path]:
    """Make an RFC of the document: its checkpoint and its state."""
    rfc = put(".ohrfc/RFC-001/rfc.md", "# RFC-001\n")
    put(".ohrfc/RFC-001/evidence.json", {"items": [{"evd_id": "EVD-001"}, {"evd_id": "EVD-002"}]})
    digest = hashlib.sha256(rfc.read_bytes()).hexdigest()[:8]
    checkpoint = put(".ohrfc/RFC-001/checkpoint.md", RFC.format(digest=digest))
    state = {"current_phase": "design", "gate_b_round": 0, "strictness": "Full"}
    return checkpoint, put(".ohrfc/RFC-001/state.json", {**state, "checkpoint_version": 3})


def contents(folder: str = ".") -> dict[str, bytes]:
    """Return what every file says, but git's and Holdfast's own."""
    return {
        str(path): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file() and not {".git", ".holdfast"} & set(path.parts)
    }


def run_script(script: str) -> str:
    """Run a script of a document in bash, with jq."""
    if shutil.which("jq") is None:
        script = f'jq() {{ "{sys.executable}" -c "$SMALL_JQ" "$@"; }}\n{script}'
    done = subprocess.run(
        ["bash", "-euc", script],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "SMALL_JQ": SMALL_JQ},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# For a machine without jq: `jq -r PATH FILE` and `jq 'PATH = NUMBER' FILE`.
SMALL_JQ = """
import json, sys
*_, program, file = sys.argv
document = json.load(open(file))
path, equals, wanted = program.partition(' = ')
*before, last = path.strip('.').split('.')
place = document
for name in before:
    place = place[name]
if equals:
    place[last] = json.loads(wanted)
    print(json.dumps(document, indent=2))
else:
    print(place[last])
"""
