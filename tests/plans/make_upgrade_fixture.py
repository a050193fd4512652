"""Writes the run with an open gate that `test_upgrade.py` resumes. Run it once for a format, and keep
what it wrote: the point of the file is that later code did not write it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.plans.world import VERIFY, World, auto

FIXTURE = Path(__file__).parent / "fixtures" / "run-with-an-open-gate.jsonl"


def write(root: Path) -> None:
    world = World(root)
    world.plan(
        "1/01", auto("echo one >> log") + VERIFY + auto("echo two >> log"), autonomous="false"
    )
    world.plan("2/01", auto("echo three >> log"))
    world.halted()
    streams = [f"run:{world.id}", *(f"gate:{gate}" for gate in world.open_gates())]
    lines = [
        json.dumps(
            {
                "stream": stream,
                "records": [
                    {name: record[name] for name in ("kind", "body", "at", "actor")}
                    for record in world.workspace.journal.read(stream)
                ],
            },
            sort_keys=True,
        ).replace(str(root), "@ROOT@")
        for stream in streams
    ]
    FIXTURE.parent.mkdir(exist_ok=True)
    FIXTURE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]).resolve())
