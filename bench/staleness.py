"""How long 10,000 agents have been silent, against merely reading the same files.

`agent list`, `agent check`, `agent watch` and the page look in this way. A process that looks once parses
every file; one that looks again, as the last two do, parses what has changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sized
from statistics import median

from bench.harness import Plan, Row, environment, say, take_turns, timed_row
from holdfast.fleet import scan
from holdfast.fleet.rules.liveness import age_minutes, liveness
from holdfast.kernel import canonical_json, clock

FIRST, AGAIN = "first look", "a later look"
FLOOR, OPENED = "os.open, read, close of each", "open().read() of each"
# What no reader of JSON can be without, and what one takes that keeps what it parsed, as the list of agents does.
PARSED = "the same and the interpreter's JSON parser"
KEPT = "the same, parsed values kept"
AGENTS, SAMPLE = 10_000, 50
NOW = 1_794_770_490_000

# What the protocol's own script does for each agent: jq twice, date once. On a sample, because ten
# thousand would take minutes.
SCRIPT = """
now=$(date -u +%s)
for file in agent_checkpoints/secondary_*.json; do
  agent=$(jq -r .agent_id "$file")
  last=$(jq -r .last_checkpoint "$file")
  age=$(((now - $(date -d "$last" +%s)) / 60))
  if [ $age -gt 60 ]; then word=STALE; elif [ $age -gt 30 ]; then word=WARNING; else word=ACTIVE; fi
  echo "$agent: $word ($age min)"
done
"""


def measure(plan: Plan) -> list[Row]:
    epic, few = (os.path.join(plan.folder, name) for name in ("epic", "few"))
    say(f"staleness: writing {AGENTS:,} checkpoints")
    size = _write(epic, AGENTS)
    _write(few, SAMPLE)
    folder = os.path.join(epic, "agent_checkpoints")
    _check(epic)
    samples = take_turns(
        "staleness",
        {
            FIRST: lambda: _first_look(epic),
            AGAIN: lambda: _timed(lambda: _ages(epic), AGENTS),
            FLOOR: lambda: _timed(lambda: _read_plainly(folder), size),
            OPENED: lambda: _timed(lambda: _read_by_open(folder), size),
            PARSED: lambda: _timed(lambda: _read_and_parse(folder), size),
            KEPT: lambda: _timed(lambda: _read_and_keep(folder), AGENTS),
        },
        plan.rounds(40, 10),
    )
    again = samples.pop(AGAIN)
    what = f"staleness of {AGENTS:,} agents, {size // AGENTS} bytes each"
    row = timed_row(f"{what}: {FIRST}", samples, ours=FIRST, base=FLOOR, bar=1.3)
    row.peers["the protocol's jq loop, an agent"] = _loop(few, median(samples[FLOOR]) / AGENTS)
    later = timed_row(
        f"{what}: {AGAIN}",
        {AGAIN: again, FLOOR: samples[FLOOR]},
        ours=AGAIN,
        base=FLOOR,
        bar=1.3,
    )
    for each, taken in ((row, samples[FIRST]), (later, again)):
        each.remark = (
            f"{median(taken) / AGENTS * 1e6:.1f} microseconds an agent, files in the cache"
        )
    row.remark += f"; {row.peers[PARSED]:.2f} is the least for a program that parses what it reads"
    return [row, later]


def _first_look(epic: str) -> float:
    """As a new process looks, which has nothing to forget first."""
    scan._remembered.clear()
    return _timed(lambda: _ages(epic), AGENTS)


def _ages(epic: str) -> list[tuple[str, int, str]]:
    found: list[tuple[str, int, str]] = []
    for seen in scan.scan(epic):
        if seen.last_ms is None:
            raise RuntimeError(f"{seen.path}: {seen.problem}")
        age = age_minutes(seen.last_ms, NOW)
        found.append((seen.agent, age, liveness(age, seen.status)))
    return found


def _write(epic: str, count: int) -> int:
    """Checkpoints as agents write them, of the last two hours; how many bytes they are."""
    folder = os.path.join(epic, "agent_checkpoints")
    os.makedirs(folder)
    size = 0
    for number in range(count):
        at = clock.stamp(NOW - number * 7919 % 7200 * 1000)
        content = json.dumps(_checkpoint(number, at), indent=2).encode() + b"\n"
        with open(os.path.join(folder, f"secondary_{number:05d}.json"), "wb") as file:
            size += file.write(content)
    return size


def _checkpoint(number: int, at: str) -> dict[str, object]:
    feature = f"feature_{number:05d}_team_penalty"
    return {
        "agent_id": f"Secondary-{number:05d}",
        "agent_type": "secondary",
        "session_id": f"0f5a7c1e-2f9d-4a7b-8a53-{number:012d}",
        "feature": feature,
        "stage": "S2.P2",
        "phase": "Specification - In Progress",
        "last_checkpoint": at,
        "next_checkpoint_expected": at,
        "status": "IN_PROGRESS",
        "can_resume": True,
        "blockers": [],
        "files_modified": [f"{feature}/spec.md", f"{feature}/checklist.md"],
        "recovery_instructions": "Go on with the acceptance criteria in spec.md, then write the "
        "questions of checklist.md; requirements and integration are done.",
        "current_step": "Writing acceptance criteria in spec.md",
        "completed_steps": [
            "S2.P1 complete",
            "S2.P2: requirements section written",
            "S2.P2: integration section written",
        ],
        "next_steps": ["Acceptance criteria", "Questions of checklist.md", "Move on to S2.P3"],
        "coordination_state": {
            "last_inbox_check": at,
            "unread_messages": 0,
            "last_epic_readme_update": at,
            "last_status_update": at,
        },
    }


def _check(epic: str) -> None:
    """That what is measured is right."""
    for number, (agent, age, called) in enumerate(_ages(epic)):
        expected = number * 7919 % 7200 // 60
        word = "STALE" if expected > 60 else "WARNING" if expected > 30 else "ACTIVE"
        if (agent, age, called) != (f"Secondary-{number:05d}", expected, word):
            raise RuntimeError(f"{agent} is {age} minutes old and {called}, not {expected}")


def _read_plainly(folder: str) -> int:
    size = 0
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        size += len(os.read(descriptor, 1 << 16))
        os.close(descriptor)
    return size


def _read_by_open(folder: str) -> int:
    size = 0
    for entry in os.scandir(folder):
        with open(entry.path, "rb") as file:
            size += len(file.read())
    return size


def _read_and_parse(folder: str) -> int:
    size = 0
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        content = os.read(descriptor, 1 << 16)
        os.close(descriptor)
        canonical_json.loads(content.decode())
        size += len(content)
    return size


def _read_and_keep(folder: str) -> list[object]:
    values: list[object] = []
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        values.append(canonical_json.loads(os.read(descriptor, 1 << 16).decode()))
        os.close(descriptor)
    return values


def _loop(few: str, floor: float) -> float | str:
    """How many times as long the protocol's own script takes for an agent; a sample of them."""
    if shutil.which("jq") is None or shutil.which("bash") is None:
        return "not measured: no jq"
    command = ["bash", "-c", SCRIPT]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=few, env=environment(), capture_output=True, check=True)
    taken = time.perf_counter() - start
    if len(done.stdout.splitlines()) != SAMPLE:
        raise RuntimeError("the protocol's loop did not see all agents")
    return taken / SAMPLE / floor


def _timed(turn: Callable[[], int | Sized], expected: int) -> float:
    """Until the answer is there; a process that ends with it frees nothing."""
    start = time.perf_counter()
    answer = turn()
    taken = time.perf_counter() - start
    found = answer if isinstance(answer, int) else len(answer)
    if found != expected:
        raise RuntimeError(f"{found} instead of {expected}")
    return taken
