"""Hook processes against a bare interpreter: a durable record and view, each client's stop, a tool's
permission; and how long twenty sessions at once wait for each other."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import holdfast
from bench.harness import (
    Contender,
    Plan,
    Process,
    Row,
    percentile,
    python,
    repository,
    take_turns,
    timed_row,
)
from holdfast.hooks.run import command
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover

OURS, FLOOR = "hook", "python -c pass"
STOPS = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "opencode": "Stop"}
SESSIONS = 20
# Milliseconds; below this a person takes it for immediate.
NOTICED = 100.0
# A session that stops about once a second, each time with a record, in a process of its own; how long
# it waited for the lock.
SESSION = """
import json, os, random, sys, time
import holdfast.session.rules.session
from holdfast.hooks.run import respond_to
from holdfast.kernel.lock import WorkspaceLock
waits = []
acquire = WorkspaceLock.acquire
def timed(lock):
    start = time.perf_counter()
    acquire(lock)
    waits.append(time.perf_counter() - start)
WorkspaceLock.acquire = timed
client, event, session, rounds = sys.argv[1:5]
holdfast.session.rules.session.SAME_MOMENT = 0
for number in range(int(rounds)):
    time.sleep(random.uniform(0.5, 1.5))
    respond_to(client, event, {"session_id": session, "cwd": os.getcwd(), "number": number})
print(json.dumps({"waits": waits}))
"""


def measure(plan: Plan) -> list[Row]:
    return [_record(plan), *_stops(plan), _tool(plan), _crowd(plan)]


def _record(plan: Plan) -> Row:
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
    return row


def _checked(hook: Process) -> float:
    taken = hook()
    answer = json.loads(hook.answer)
    if "failed" in answer or answer.get("queued"):
        raise RuntimeError(f"the hook answered {answer}")
    return taken


def _stops(plan: Plan) -> list[Row]:
    """A stop in the middle of a loop: captured, counted, and answered with the prompt."""
    contenders: dict[str, Contender] = {}
    folders = {}
    for client, event in STOPS.items():
        folder = folders[client] = repository(plan.folder, f"stop-{client}")
        payload = json.dumps({"session_id": "bench", "cwd": folder, "hook_event_name": event})
        stop = Process(folder, command(client, event), payload)
        contenders[client] = _Stop(stop, folder)
    contenders[FLOOR] = Process(plan.folder, python("-c", "pass"))
    samples = take_turns("client stops", contenders, plan.rounds(60, 10))
    for client, folder in folders.items():
        with holdfast.open(folder) as workspace:
            captures = [r for r in workspace.history(limit=10_000) if r["kind"] == "captured"]
        if len(captures) < len(samples[client]):
            raise RuntimeError(f"{len(captures)} captures for {len(samples[client])} stops")
    return [
        timed_row(f"hook process: {client}'s stop", samples, ours=client, base=FLOOR, bar=2.5)
        for client in STOPS
    ]


class _Stop:
    """Each at another task, as a loop that goes on: the same again would leave no record."""

    def __init__(self, stop: Process, folder: str) -> None:
        self._stop = stop
        self._path = os.path.join(folder, ".ccc-state.json")
        self._numbers: Iterator[int] = itertools.count()

    def __call__(self) -> float:
        state = {"linearIssue": "CIA-7", "phase": "execution", "totalTasks": 1_000_000}
        more = {"taskIndex": next(self._numbers), "maxGlobalIterations": 1_000_000}
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump({**state, **more}, file)
        taken = self._stop()
        if b"Resume CIA-7. Current task: task" not in self._stop.answer:
            raise RuntimeError(f"the stop was answered with {self._stop.answer!r}")
        return taken


def _tool(plan: Plan) -> Row:
    """Before every tool: nothing is opened, and nothing is said."""
    folder = repository(plan.folder, "tool")
    with holdfast.open(folder, actor="bench") as workspace:
        workspace.note("There is a journal.")
    payload = json.dumps(
        {
            "session_id": "bench",
            "cwd": folder,
            "tool_name": "Bash",
            "tool_input": {"command": "make test"},
        }
    )
    contenders: dict[str, Contender] = {
        OURS: Process(folder, command("claude", "PreToolUse"), payload),
        FLOOR: Process(folder, python("-c", "pass")),
    }
    samples = take_turns("before a tool", contenders, plan.rounds(60, 10))
    return timed_row("hook process: before a tool", samples, ours=OURS, base=FLOOR, bar=1.5)


def _crowd(plan: Plan) -> Row:
    folder = repository(plan.folder, "crowd")
    with holdfast.open(folder, actor="bench") as workspace:
        workspace.note("There is a journal.")
    rounds = plan.rounds(20, 5)
    clients = list(STOPS.items())
    started = []
    for number in range(SESSIONS):
        client, event = clients[number % len(clients)]
        words = [sys.executable, "-c", SESSION, client, event, f"session-{number}", str(rounds)]
        started.append(subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE))
    waits: list[float] = []
    for one in started:
        said, _ = one.communicate()
        if one.returncode:
            raise RuntimeError(f"a session ended with {one.returncode}")
        waits += json.loads(said)["waits"]
    failed = failures.read(discover(folder))
    if failed:
        raise RuntimeError(f"{len(failed)} hooks failed: {failed[-1]}")
    row = Row(
        f"{SESSIONS} sessions at once: the longest wait for the lock",
        ours=max(waits) * 1000,
        base=NOTICED,
        base_name="what a person notices",
        unit="ms",
        bar=1.0,
    )
    half, most = (percentile(waits, share) * 1000 for share in (0.5, 0.99))
    row.remark = f"{len(waits)} times taken; p50 {half:.2f} ms, p99 {most:.1f} ms"
    return row
