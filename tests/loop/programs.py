"""Programs for a run's steps, and the files that name them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.loop.world import World

# Writes down that it began, works, and writes down that it ended: in one file that all share.
WORKER = """
import os, sys, time
log, task, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
def say(word):
    with open(log, "a") as file:
        file.write(f"{word} {task} {os.getpid()}\\n")
say("begin")
time.sleep(pause)
say("end")
print("worked on", task, flush=True)
"""


def worker(log: Path, pause: float) -> list[str]:
    return [sys.executable, "-S", "-c", WORKER, str(log), "{task}", str(pause)]


def shell(script: str, *words: str) -> list[str]:
    return ["sh", "-c", script, "sh", *words]


WRITE_PLAN = "printf -- '- [ ] 1.1 One\\n- [ ] 1.2 Two\\n' > $LOOP_TRACK_DIR/plan.md; echo planned"
GOOD: dict[str, Any] = {
    "PLAN": {"command": shell(WRITE_PLAN)},
    "EVALUATE_PLAN": {"command": shell("echo fine")},
    "EXECUTE": {"command": shell('echo "did $1"', "{task}")},
    "EVALUATE_EXECUTION": {"command": shell("echo all tests pass")},
    "FIX": {"command": shell("echo fixed")},
}


def write(world: World, steps: dict[str, Any], **top: Any) -> Path:
    """The run's file. JSON texts and lists are TOML too."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in top.items()]
    for step, table in steps.items():
        lines.append(f"[steps.{step}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    path = world.root / "steps.toml"
    path.write_text("\n".join(lines) + "\n")
    world.folder.mkdir(parents=True, exist_ok=True)
    return path


def good(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **{step: {"command": command} for step, command in changes.items()}}
