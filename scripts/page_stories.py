"""Work for pictures of the page: a session, a track, an RFC and runs of plans, made by the commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.budgets.check import Budget
from holdfast.clients.claude import sessions as claude
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from scripts.readme import begun_session

HOLDFAST = [sys.executable, "-m", "holdfast"]
IDENTITY = ["-c", "user.name=docs", "-c", "user.email=docs@holdfast.invalid"]
# The session of the recording that `leave_session` copies.
FOUND = "022bdfed-56c0-4976-b946-1579523829e7"
SESSION, ACTOR = "0f3c9a17-billing", "Secondary-A"
DISCOVER = """\
### User Intent Signals
- Speed of sign-in matters more than a perfect audit trail
- Firm: no new service to look after
- Flexible: how things are named

### Scan Insights
- All handlers share one retry helper
- The session cache is per process, so two workers disagree for up to a minute

### Active Tensions
- Latency of sign-in against the size of the audit log
"""
DESIGN = """\
### Design Reasoning Notes
- DEC-001: the queue won narrowly over a table; flips when p99 exceeds 50 ms
- DEC-002: tokens live 15 minutes, because revocation is not instant

### Decision Interdependencies
- DEC-001 and HR-002 are coupled: no queue, no replay
- SCN-004 assumes DEC-002

### Tricky Sections
- Section 4: "at most once" is exact, and reviewers will read it as "once"
"""
FEEDBACK = """\
### Reviewer Feedback Digest
- The theme is thin failure paths
- Borderline: the name of HR-003
- The reviewers were aligned on everything else

### What Changed This Round
- SCN-014 was added because restarts were untested

### Active Tensions Updated
- Resolved: none
- Intensified: Latency of sign-in against the audit log
- New: the size of the audit log on small machines
"""
PLAN = """\
---
phase: {phase}
plan: {plan}
autonomous: {autonomous}
depends_on: [{needs}]
---

# {title}

{tasks}
"""
TASK = '<task type="auto"><name>{name}</name><action>{name}</action><run>{run}</run></task>'
GATE = """\
<task type="checkpoint:human-verify" gate="blocking">
  <what-built>The checkout page at http://localhost:3000/checkout</what-built>
  <how-to-verify>Visit http://localhost:3000/checkout and pay with the test card</how-to-verify>
  <resume-signal>Type "approved" or describe issues</resume-signal>
</task>"""


def leave_session(
    root: Path, *, days_ago: int = 1, session: str = FOUND, share: float = 1.0
) -> Path:
    """A session of Claude Code in this folder that was killed in the middle of a turn: its transcript,
    or a share of it."""
    lines = begun_session().splitlines(keepends=True)
    content = b"".join(lines[: round(len(lines) * share)])
    content = content.replace(b"/home/dev/tally", bytes(root)).replace(
        FOUND.encode(), session.encode()
    )
    day = clock.stamp(clock.now() - days_ago * clock.DAY)[:10].encode()
    content = re.sub(rb'"timestamp":"\d{4}-\d\d-\d\d', b'"timestamp":"' + day, content)
    path = Path(claude.folder_of(str(root))) / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    ended = time.time() - days_ago * 86_400
    os.utime(path, (ended, ended))
    return path


@contextmanager
def stories(root: Path) -> Iterator[Path]:
    """A repository with work in every state; a run goes on in it while this is open."""
    root.mkdir()
    _git(root, "init", "--quiet", "--initial-branch=cia-42-billing")
    (root / "billing.py").write_text("def total(lines):\n    return sum(lines)\n")
    (root / ".gitignore").write_text(".ccc-*\n.autopilot/\n.ohrfc/\nplans/\nconductor/\n")
    _git(root, "add", ".")
    _git(root, *IDENTITY, "commit", "--quiet", "-m", "Billing")
    _session(root)
    _track(root)
    _rfc(root)
    running = _runs(root)
    _spent(root)
    try:
        yield root
    finally:
        running.terminate()
        running.wait()


def _session(root: Path) -> None:
    def checkpoint(*words: str) -> None:
        _holdfast(root, "checkpoint", "--session", SESSION, "--skip-git", *words)

    checkpoint("--issue", "CIA-42", "--title", "Invoices with tax", "--task", "Round per line", "--reason", "session-split",
               "--done", "Read the tax rules", "--remaining", "Credit notes", "--remaining", "Docs",
               "--decision", "round per line: the law wants it, and the sum of rounded lines is what people check")  # fmt: skip
    (root / "billing.py").write_text(
        "from decimal import Decimal\n\nTAX = Decimal('0.2')\n\n\ndef total(lines):\n"
        "    return sum(rounded(line * (1 + TAX)) for line in lines)\n"
    )
    checkpoint("--task", "Write rounded()", "--done", "Round per line", "--reason", "context-threshold",
               "--decision", "Decimal, not float: 0.1 + 0.2 is a support ticket",
               "--claim", "the module is there", "file:billing.py")  # fmt: skip
    (root / "billing.py").write_text(
        (root / "billing.py").read_text()
        + "\n\ndef rounded(amount):\n    return amount.quantize(Decimal('0.01'))\n"
    )
    (root / "test_billing.py").write_text("from billing import total\n\n\ndef test_total():\n    assert total([]) == 0\n")  # fmt: skip
    checkpoint("--task", "Credit notes", "--status", "half done", "--done", "Write rounded()", "--remaining", "Docs",
               "--blocker", "The ledger has no test account (unblocked by: a key from finance)",
               "--file", "billing.py", "--next", "make total() take negative lines, and test it with a credit note",
               "--claim", "it imports", "run:python3 -c 'import billing'")  # fmt: skip


def _track(root: Path) -> None:
    folder = root / "conductor" / "tracks" / "team-penalty"
    folder.mkdir(parents=True)
    tasks = [
        "Read the rules",
        "Penalty of one player",
        "Penalty of a team",
        "Show it on the board",
        "Docs",
    ]
    (folder / "plan.md").write_text("# Plan\n\n" + "".join(f"- [ ] Task {n}: {name}\n" for n, name in enumerate(tasks, 1)))  # fmt: skip

    def loop(*words: str) -> None:
        _holdfast(root, "loop", *words, "--track", "team-penalty")

    loop("start", "PLAN")
    loop(
        "pass",
        "--output",
        "conductor/tracks/team-penalty/plan.md",
        "--notes",
        "Five tasks; the board comes last",
    )
    loop("start", "EVALUATE_PLAN")
    loop("pass", "--notes", "Clear, small, in order")
    loop("start", "EXECUTE", "--tasks-total", "5")
    for number in (1, 2, 3):
        loop("task-done", f"Task {number}")


def _rfc(root: Path) -> None:
    _holdfast(root, "rfc", "init", "auth-model", "--title", "How sessions are kept")
    for group, answers, name in (
        ("discover", DISCOVER, "discover-design"),
        ("design", DESIGN, "design-gate-a"),
    ):
        _holdfast(root, "rfc", "write", group, given=answers)
        _holdfast(root, "rfc", "transition", name)
    _holdfast(root, "rfc", "write", "gate-b", given=FEEDBACK)


def _spent(root: Path) -> None:
    """Checks of the last two hours."""
    workspace = discover(str(root))
    now = clock.now()
    for number in range(30):
        at = now - (30 - number) * 4 * clock.MINUTE
        cost = 0.42 * number + (number % 4) * 0.2
        Budget(workspace, actor=ACTOR).check(
            {
                "cost": cost,
                "context": 8 + number * 0.9,
                "errors": number // 20,
                "estimated": 12.0,
                "actual": cost,
            },
            session="billing",
            now=at,
        )
    workspace.close()


def _runs(root: Path) -> subprocess.Popen[bytes]:
    """One that waits for a person, and one that goes on."""
    done = TASK.format(name="Migrate", run="echo migrated 42 rows")
    _plan(root, "checkout", 2, "01", "Checkout page", done + GATE, autonomous=False)
    _holdfast(root, "plan", "run", "plans/checkout", allowed=(0, 8))  # fmt: skip
    sleeping = TASK.format(
        name="Index the catalogue", run="echo reading; echo 1200 products; sleep 600"
    )
    failing = done + TASK.format(name="Write the index", run="echo the index is written")
    _plan(root, "search", 3, "01", "Schema for search", failing)
    _plan(root, "search", 3, "02", "Tokenizer", done)
    _plan(root, "search", 3, "03", "Index", sleeping + done, needs="01, 02")
    _plan(root, "search", 3, "04", "Ranking", done + failing, needs="02")
    _plan(root, "search", 3, "05", "Results page", done + GATE, needs="03, 04", autonomous=False)
    running = subprocess.Popen(
        [*HOLDFAST, "plan", "run", "plans/search", "--again", "--json"],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOLDFAST_ACTOR": ACTOR},
    )
    for _ in range(200):  # until three plans are done and the fourth is at work
        shown = subprocess.run(
            [*HOLDFAST, "plan", "show", "--tasks"], cwd=root, capture_output=True, text=True
        ).stdout
        if "running" in shown and shown.count("done") >= 5:
            break
        time.sleep(0.1)
    return running


def _plan(root: Path, folder: str, phase: int, plan: str, title: str, tasks: str, *, needs: str = "", autonomous: bool = True) -> None:  # fmt: skip
    path = root / "plans" / folder / f"{plan}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    wanted = ", ".join(f'"{one}"' for one in needs.split(", ") if one)
    path.write_text(
        PLAN.format(phase=phase, plan=plan, title=title, tasks=tasks, needs=wanted, autonomous=str(autonomous).lower())
    )  # fmt: skip


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True)


def _holdfast(root: Path, *words: str, given: str = "", allowed: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run(
        [*HOLDFAST, *words],
        cwd=root,
        input=given,
        capture_output=True,
        text=True,
        env={**os.environ, "HOLDFAST_ACTOR": ACTOR},
    )
    if done.returncode not in allowed:
        raise SystemExit(f"holdfast {' '.join(words)}: {done.stdout}{done.stderr}")
