"""A run that an earlier holdfast left with an open gate is gone on with by this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.journal.interface import Append
from holdfast.kernel.digest import new_id
from tests.plans.world import VERIFY, World, auto

FIXTURES = Path(__file__).parent / "fixtures"


def _restored(world: World, name: str) -> None:
    """The records of the file, as the earlier holdfast left them in the journal."""
    text = (FIXTURES / name).read_text().replace("@ROOT@", str(world.root))
    for line in text.splitlines():
        stored = json.loads(line)
        drafts: Any = [
            {**record, "id": new_id(), "text": json.dumps(record["body"])}
            for record in stored["records"]
        ]
        world.workspace.journal.commit([Append(stored["stream"], drafts, expected=0, state=None)])
        if stored["stream"].startswith("run:"):
            world.id = stored["stream"].partition(":")[2]


def test_a_run_with_an_open_gate_resumes_under_todays_code(world: World) -> None:
    _restored(world, "run-with-an-open-gate.jsonl")
    world.plan(
        "1/01", auto("echo one >> log") + VERIFY + auto("echo two >> log"), autonomous="false"
    )
    world.plan("2/01", auto("echo three >> log"))

    assert world.halted(begin=False).reason == "waiting_for_person"
    (gate,) = world.open_gates()
    world.answer(gate, "approved")

    assert world.run(begin=False)["status"] == "done"
    assert world.noted() == ["two", "three"], "and not what the earlier one did"
