"""A heartbeat of one agent as a process, against a bare interpreter."""

from __future__ import annotations

import json
import os
import sys

import holdfast
from bench.harness import Plan, Process, Row, python, repository, take_turns, timed_row
from holdfast.hooks.run import command

SENT, TYPED, FLOOR = "beat, as a hook sends it", "holdfast agent beat", "python -c pass"
AGENT = "Secondary-A"


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "beat")
    with holdfast.open(folder, actor="bench") as workspace:
        workspace.agent(AGENT, feature="feature_02_team_penalty").__enter__()
    script = os.path.join(os.path.dirname(sys.executable), "holdfast")
    payload = json.dumps({"step": "Writing the acceptance criteria"})
    sent = Process(folder, command("beat", AGENT), payload)
    samples = take_turns(
        "beat_process",
        {
            SENT: lambda: _checked(sent),
            TYPED: Process(folder, [script, "agent", "beat", AGENT, "--step", "The checklist"]),
            FLOOR: Process(folder, python("-c", "pass")),
        },
        plan.rounds(60, 10),
    )
    with holdfast.open(folder) as workspace:
        beats = [r for r in workspace.history(limit=10_000) if r["kind"] == "beat"]
    if len(beats) < len(samples[SENT]) + len(samples[TYPED]):
        raise RuntimeError(f"{len(beats)} heartbeats in the journal, fewer than were sent")
    return [
        timed_row(f"a heartbeat: {name}", samples, ours=name, base=FLOOR, bar=bar)
        for name, bar in ((SENT, 4.0), (TYPED, 8.0))
    ]


def _checked(sent: Process) -> float:
    taken = sent()
    answer = json.loads(sent.answer)
    if "failed" in answer:
        raise RuntimeError(f"the hook answered {answer}")
    return taken
