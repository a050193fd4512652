"""A hook process that makes a durable record and a view, against a bare interpreter."""

from __future__ import annotations

import json
import shutil

import holdfast
from bench.harness import Contender, Plan, Process, Row, python, repository, take_turns, timed_row
from holdfast.hooks.run import command

OURS, FLOOR = "hook", "python -c pass"


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "hook")
    payload = json.dumps({"text": "The parser is done; the renderer is next.", "by": "bench"})
    hook = Process(folder, command("note"), payload)
    contenders: dict[str, Contender] = {
        OURS: lambda: _checked(hook),
        FLOOR: Process(folder, python("-c", "pass")),
        "import click": Process(folder, python("-c", "import click")),
    }
    if shutil.which("node"):
        contenders["node -e 0"] = Process(folder, ["node", "-e", "0"])
    samples = take_turns("hook_process", contenders, plan.rounds(60, 10))
    row = timed_row(
        "hook process: durable record and view", samples, ours=OURS, base=FLOOR, bar=2.5, aim=2.2
    )
    if "node -e 0" not in contenders:
        row.peers["node -e 0"] = "not installed"
    with holdfast.open(folder) as workspace:
        written = len(workspace.history(limit=10_000))
    if written < len(samples[OURS]):
        raise RuntimeError(f"{written} records for {len(samples[OURS])} hooks")
    return [row]


def _checked(hook: Process) -> float:
    taken = hook()
    answer = json.loads(hook.answer)
    if "failed" in answer or answer.get("queued"):
        raise RuntimeError(f"the hook answered {answer}")
    return taken
