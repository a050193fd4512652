"""`holdfast status` on a workspace of 1,000 records, against a bare interpreter."""

from __future__ import annotations

import os
import sys

import holdfast
from bench.harness import Plan, Process, Row, python, repository, say, take_turns, timed_row

OURS, FLOOR = "holdfast status", "python -c pass"
RECORDS, STREAMS = 1000, 20


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "status")
    say(f"status_command: writing {RECORDS} records")
    with holdfast.open(folder, actor="bench") as workspace:
        for number in range(RECORDS):
            text = f"Step {number}: the parser is done; the renderer is next."
            workspace.note(text, name=f"agent-{number % STREAMS}")
        written = len(workspace.history(limit=RECORDS * 2))
    if written != RECORDS:
        raise RuntimeError(f"{written} records instead of {RECORDS}")
    script = os.path.join(os.path.dirname(sys.executable), "holdfast")
    samples = take_turns(
        "status_command",
        {
            OURS: Process(folder, [script, "status"]),
            FLOOR: Process(folder, python("-c", "pass")),
            "import click": Process(folder, python("-c", "import click")),
        },
        plan.rounds(60, 10),
    )
    return [
        timed_row(
            f"holdfast status on {RECORDS:,} records", samples, ours=OURS, base=FLOOR, bar=5.0
        )
    ]
