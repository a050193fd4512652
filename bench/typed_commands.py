"""What a person types and waits for, and the start of our MCP server, which a client waits for: on a workspace of 1,000
records, against a bare interpreter."""

from __future__ import annotations

import json
import os
import sys

import holdfast
from bench.harness import Plan, Process, Row, python, repository, say, take_turns, timed_row

FLOOR = "python -c pass"
TYPED = {
    "holdfast note": ["note", "The parser is done."],
    "holdfast status": ["status"],
    "holdfast resume": ["resume"],
}
RECORDS, STREAMS = 1000, 20
# What a client asks before its first turn: as Codex and Gemini do, and then nothing more.
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
START: list[dict[str, object]] = [
    {"id": 0, "method": "initialize", "params": CLIENT},
    {"method": "notifications/initialized"},
    *(
        {"id": id, "method": f"{name}/list"}
        for id, name in enumerate(("tools", "resources", "prompts"), 1)
    ),
]
MCP = "holdfast mcp: a client's start"


def measure(plan: Plan) -> list[Row]:
    folder = repository(plan.folder, "typed")
    say(f"typed_commands: writing {RECORDS} records")
    with holdfast.open(folder, actor="bench") as workspace:
        for number in range(RECORDS):
            text = f"Step {number}: the parser is done; the renderer is next."
            workspace.note(text, name=f"agent-{number % STREAMS}")
        written = len(workspace.history(limit=RECORDS * 2))
        workspace.checkpoint(task="The parser", next="Render the table", skip_git=True)
    if written != RECORDS:
        raise RuntimeError(f"{written} records instead of {RECORDS}")
    script = os.path.join(os.path.dirname(sys.executable), "holdfast")
    asked = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in START)
    samples = take_turns(
        "typed_commands",
        {
            **{name: Process(folder, [script, *words]) for name, words in TYPED.items()},
            MCP: Process(folder, python("-P", "-m", "holdfast", "mcp"), asked),
            FLOOR: Process(folder, python("-c", "pass")),
            "import click": Process(folder, python("-c", "import click")),
        },
        plan.rounds(60, 10),
    )
    bars = {**dict.fromkeys(TYPED, 8.0), MCP: 4.0}
    return [timed_row(name, samples, ours=name, base=FLOOR, bar=bar) for name, bar in bars.items()]
