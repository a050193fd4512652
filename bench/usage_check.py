"""What a session spent, looked up again after one more answer: a long transcript against a short one."""

from __future__ import annotations

import json
import os
import time
from itertools import count

import holdfast
from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from holdfast.clients.claude import sessions as claude
from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace, discover
from holdfast.usage.spending import measure_session

LONG, SHORT = "100,000 lines", "100 lines"
LINES = {LONG: 100_000, SHORT: 100}
# Most lines of a transcript say nothing about usage: one in five does.
PERIOD = 5
START = clock.parse("2026-11-15T18:00:00Z")


def measure(plan: Plan) -> list[Row]:
    os.environ["CLAUDE_CONFIG_DIR"] = os.path.join(plan.folder, "home")
    contenders: dict[str, Contender] = {}
    sizes = {}
    for name, lines in LINES.items():
        contenders[name], sizes[name] = _transcript(plan.folder, name, lines)
    samples = take_turns("usage_check", contenders, plan.rounds(400, 100))
    row = timed_row(
        "what a session spent, one answer later, p50", samples, ours=LONG, base=SHORT, bar=1.5
    )
    row.remark = (
        f"{sizes[LONG] / 1e6:.0f} MB against {sizes[SHORT] / 1e3:.0f} KB; the first look at the long "
        f"one took {_first_look(plan.folder):.2f} s"
    )
    return [row]


def _transcript(folder: str, name: str, lines: int) -> tuple[Contender, int]:
    """A transcript that grows by one answer before each look."""
    workspace, path, numbers = _prepare(folder, name.replace(" ", "-"), lines)
    measure_session(workspace, now=START)

    def contender() -> float:
        with open(path, "a", encoding="utf-8") as file:
            file.write(_answer(next(numbers)))
        start = time.perf_counter()
        spent = measure_session(workspace, now=START)
        taken = time.perf_counter() - start
        if spent["cost"] is None:
            raise RuntimeError("the cost is not known")
        return taken

    return contender, os.path.getsize(path)


def _first_look(folder: str) -> float:
    workspace, _, _ = _prepare(folder, "first", LINES[LONG])
    start = time.perf_counter()
    measure_session(workspace, now=START)
    return time.perf_counter() - start


def _prepare(folder: str, name: str, lines: int) -> tuple[Workspace, str, count[int]]:
    root = repository(folder, name)
    holdfast.open(root).note("begun")
    path = os.path.join(claude.folder_of(os.path.realpath(root)), "session.jsonl")
    os.makedirs(os.path.dirname(path))
    numbers = count()
    noise = json.dumps({"type": "attachment", "attachment": {"content": "x" * 1500}}) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(lines // PERIOD):
            file.write(noise * (PERIOD - 1) + _answer(next(numbers)))
    return discover(root), path, numbers


def _answer(number: int) -> str:
    usage = {"input_tokens": 12, "output_tokens": 340, "cache_read_input_tokens": 56_000}
    message = {"id": f"msg_{number:024}", "model": "claude-opus-5-5", "usage": usage}
    at = clock.precise(START + number * 1000)
    return json.dumps({"type": "assistant", "timestamp": at, "message": message}) + "\n"
