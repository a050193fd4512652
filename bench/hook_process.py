"""Hook processes against a bare interpreter, as clients start them: before and after a tool, a stop with
and without an answer, a session's start; a durable record and view; and how long twenty sessions at once
wait for each other."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator

import holdfast
from bench.harness import (
    Contender,
    Plan,
    Process,
    Row,
    environment,
    percentile,
    python,
    repository,
    take_turns,
    timed_row,
)
from holdfast.clients import launcher
from holdfast.hooks import deferred_events
from holdfast.hooks.run import command
from holdfast.kernel import failures
from holdfast.kernel.workspace import discover
from holdfast.session import session_files

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
def timed(lock, *meanwhile):
    start = time.perf_counter()
    acquire(lock, *meanwhile)
    waits.append(time.perf_counter() - start)
WorkspaceLock.acquire = timed
client, event, session, rounds = sys.argv[1:5]
holdfast.session.rules.session.SAME_MOMENT = 0
for number in range(int(rounds)):
    time.sleep(random.uniform(0.5, 1.5))
    respond_to(client, event, {"session_id": session, "cwd": os.getcwd(), "number": number})
print(json.dumps({"waits": waits}))
"""


# A long session's transcript.
LINES, LINE = 1_500, 1_000
# What no launcher in bash can do without: the mark read, a look for the files that could want Python, and the time
# of the event. It decides nothing about the command.
ALONE = """IFS= read -r line <{marks}/codex.$PPID && [ "$line" = "usual $PWD" ] || exit 1
[ -f .git/holdfast/quiet ] && ! [ -e .git/holdfast/latch -o -e .git/holdfast/forward -o -d .git/holdfast/alerts -o \\
  -d .autopilot -o -d .holdfast/lives ] || exit 1
true >.git/holdfast/worktree/seen/codex.bench
exit 0
"""
BASH_ALONE = "bash, the mark and the tests alone"
# What each client starts its hooks with, and what tells them whose session it is.
SHELLS = {"claude": "/bin/sh", "codex": "/bin/bash", "gemini": "/bin/bash"}
SESSIONS_BY = {"claude": "CLAUDE_CODE_SESSION_ID", "gemini": "GEMINI_SESSION_ID"}


def measure(plan: Plan) -> list[Row]:
    os.environ["XDG_DATA_HOME"] = os.path.join(plan.folder, "data")
    try:
        launcher.install()
        rows = [_record(plan), *_tools(plan), *_quiet_stop(plan), *_stops(plan), _start(plan)]
        rows.append(_long_start(plan))
        if launcher.failures():
            raise RuntimeError(f"a hook could not be started: {launcher.failures()[0]}")
        return [*rows, _crowd(plan)]
    finally:
        del os.environ["XDG_DATA_HOME"]


class Hook:
    """A hook as its client starts it: the line of its settings, in its shell, with the payload in a pipe."""

    def __init__(self, client: str, event: str, folder: str, *words: str, **facts: object) -> None:
        self.client, self.folder = client, folder
        self.facts = facts
        self.answer = b""
        if client == "opencode":
            self.words = launcher.command(client, event)
        else:
            made = launcher.line if client == "codex" else launcher.sourced_line
            self.words = [SHELLS[client], "-c", made(client, event, *words)]

    def __call__(self, session: str = "bench") -> float:
        told = {"session_id": session, "cwd": self.folder, **self.facts}
        variable = SESSIONS_BY.get(self.client, "OPENCODE_SESSION_ID")
        taken, self.answer = piped(self.words, self.folder, json.dumps(told), {variable: session})
        return taken


def piped(
    words: list[str], folder: str, payload: str = "", variables: dict[str, str] | None = None
) -> tuple[float, bytes]:
    """The time that a command takes, and what it said."""
    surroundings = {**environment(), **(variables or {})}
    start = time.perf_counter()
    process = subprocess.Popen(
        words, cwd=folder, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(payload.encode())
        process.stdin.close()
    except BrokenPipeError:
        pass  # what is unread is unread
    said = process.stdout.read()
    process.wait()
    taken = time.perf_counter() - start
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}")
    return taken, said


def _begun(plan: Plan, name: str, client: str) -> str:
    """A repository with a journal, in which a session of the client has begun."""
    folder = repository(plan.folder, name)
    with holdfast.open(folder, actor="bench") as workspace:
        workspace.note("There is a journal.")
    Hook(client, "SessionStart", folder, source="startup")()
    return folder


def _floors(folder: str) -> dict[str, Contender]:
    return {
        FLOOR: lambda: piped(python("-c", "pass"), folder)[0],
        "sh -c 'exit 0'": lambda: piped(["/bin/sh", "-c", "exit 0"], folder)[0],
        "bash -c 'exit 0'": lambda: piped(["/bin/bash", "-c", "exit 0"], folder)[0],
    }


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
        "hook process: durable record and view", samples, ours=OURS, base=FLOOR, bar=4.0
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


def _tools(plan: Plan) -> list[Row]:
    """Before and after every tool, with nothing to say: no process but the client's own shell."""
    used = {"tool_name": "Bash", "tool_input": {"command": "make test"}}
    names = {"claude": ("PreToolUse", "PostToolUse"), "codex": ("PreToolUse", "PostToolUse")}
    rows = []
    for position, when in enumerate(("before", "after")):
        contenders: dict[str, Contender] = {}
        hooks = {}
        for client, events in names.items():
            folder = _begun(plan, f"{when}-{client}", client)
            paths = {"transcript_path": f"{folder}/{'x' * 60}.jsonl", "permission_mode": "default"}
            hooks[client] = Hook(client, events[position], folder, **paths, **used)
            contenders[client] = hooks[client]
        contenders.update(_floors(plan.folder))
        contenders[BASH_ALONE] = _tests_alone(hooks["codex"], plan.folder)
        samples = take_turns(f"{when} a tool", contenders, plan.rounds(100, 15))
        if any(hook.answer for hook in hooks.values()):
            raise RuntimeError("a hook had something to say")
        for client in names:
            what = f"hook process: {when} {client}'s tool, nothing to say"
            row = timed_row(what, samples, ours=client, base=FLOOR, bar=0.2)
            shell = f"{os.path.basename(SHELLS[client])} -c 'exit 0'"
            # The client starts this shell before any line of ours: no launcher can be below it.
            own = (row.ours / row.base) - float(row.peers[shell])
            row.remark = f"{row.peers[shell]:.2f} of it is {shell} alone; ours is {own:.2f}"
            if client == "codex":
                row.remark += (
                    f"; {row.peers[BASH_ALONE]:.2f} is {BASH_ALONE}, which reads no payload"
                )
            rows.append(row)
    return rows


def _tests_alone(hook: Hook, folder: str) -> Contender:
    """The line of the settings with a file of the tests alone in the launcher's place."""
    path = os.path.join(folder, "alone.sh")
    with open(path, "w", encoding="utf-8") as file:
        marks = os.path.join(launcher.folder_of_user(), launcher.SESSIONS)
        file.write(ALONE.format(marks=launcher.quote(marks)))
    words = [word.replace(launcher.path(), path) for word in hook.words]
    payload = json.dumps({"session_id": "bench", "cwd": hook.folder, **hook.facts})

    def start() -> float:
        taken, _ = piped(words, hook.folder, payload)
        if not os.path.exists(os.path.join(hook.folder, ".git/holdfast/worktree/seen/codex.bench")):
            raise RuntimeError("the tests alone did not come to their end")
        return taken

    return start


def _quiet_stop(plan: Plan) -> list[Row]:
    """A stop with nothing to answer: what the client waits. The capture behind it is not timed, but it
    has to be there."""
    contenders: dict[str, Contender] = {}
    folders = {}
    for client in ("claude", "codex"):
        folder = folders[client] = _begun(plan, f"quiet-{client}", client)
        said = "It works now. " * 40
        stop = Hook(client, "Stop", folder, last_assistant_message=said, stop_hook_active=False)
        contenders[client] = _QuietStop(stop)
    contenders.update(_floors(plan.folder))
    samples = take_turns("a quiet stop", contenders, plan.rounds(60, 10))
    for client, folder in folders.items():
        with holdfast.open(folder) as workspace:
            kinds = {record["kind"] for record in workspace.history(limit=10_000)}
        if "captured" not in kinds:
            raise RuntimeError(f"no stop of {client} was captured")
    return [
        timed_row(
            f"hook process: {client}'s stop with nothing to answer",
            samples,
            ours=client,
            base=FLOOR,
            bar=0.3,
        )
        for client in folders
    ]


class _QuietStop:
    def __init__(self, stop: Hook) -> None:
        self._stop = stop

    def __call__(self) -> float:
        taken = self._stop()
        if self._stop.answer:
            raise RuntimeError(f"the stop was answered with {self._stop.answer!r}")
        deferred_events.finish(discover(self._stop.folder, local=True), 30.0)
        return taken


def _start(plan: Plan) -> Row:
    """A session's start that is given what the last one left."""
    folder = repository(plan.folder, "start")
    subprocess.run(
        [
            *python("-m", "holdfast", "checkpoint", "--session", "before"),
            "--next",
            "keep the quotes",
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    start = Hook("claude", "SessionStart", folder, source="startup")
    numbers = itertools.count()

    def begin() -> float:
        taken = start(f"bench-{next(numbers)}")
        if b"keep the quotes" not in start.answer:
            raise RuntimeError(f"the start was answered with {start.answer!r}")
        return taken

    contenders: dict[str, Contender] = {OURS: begin, **_floors(plan.folder)}
    samples = take_turns("session start", contenders, plan.rounds(60, 10))
    what = "hook process: session start with a pack"
    return timed_row(what, samples, ours=OURS, base=FLOOR, bar=4.0)


def _long_start(plan: Plan) -> Row:
    """A session that goes on after a compaction, with a transcript of a day's work behind it. All but its
    last lines were read when its turns ended."""
    folder = repository(plan.folder, "long")
    transcript = os.path.join(folder, ".git", "long.jsonl")
    with open(transcript, "w", encoding="utf-8") as file:
        file.writelines(_line(number, folder) for number in range(LINES))
    facts = {"transcript_path": transcript}
    Hook("claude", "SessionStart", folder, source="startup", **facts)("long")
    stop = Hook("claude", "Stop", folder, **facts)
    stop("long")
    workspace = discover(folder, local=True)
    deferred_events.finish(workspace, 30.0)
    start = Hook("claude", "SessionStart", folder, source="compact", **facts)
    slot = session_files.folder_of(workspace, "long")
    numbers = itertools.count(LINES)

    def begin() -> float:
        with open(transcript, "a", encoding="utf-8") as file:
            file.writelines(_line(next(numbers), folder) for _ in range(4))
        if os.path.exists(f"{slot}/start-compact"):
            os.unlink(f"{slot}/start-compact")  # otherwise two starts of one moment
        taken = start("long")
        if b"Mend the reader, part" not in start.answer:
            raise RuntimeError(f"the start was answered with {start.answer!r}")
        return taken

    contenders: dict[str, Contender] = {OURS: begin, **_floors(plan.folder)}
    samples = take_turns("a long session's start", contenders, plan.rounds(40, 8))
    what = f"hook process: start of a session with {LINES:,} lines, 2 MB, after a compaction"
    return timed_row(what, samples, ours=OURS, base=FLOOR, bar=4.0)


def _line(number: int, folder: str) -> str:
    """A line of Claude Code's: a person asks, then the agent edits a file and reads what came of it."""
    at = f"2026-11-17T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"
    if number % 100 == 0:
        content: object = f"Mend the reader, part {number // 100}."
    elif number % 2:
        used = {"file_path": f"{folder}/reader.py", "old_string": "a" * LINE, "new_string": "b"}
        content = [{"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": used}]
    else:
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1}"}
        content = [{**result, "content": "x" * LINE}]
    role = "assistant" if number % 2 else "user"
    message = {"role": role, "content": content, "id": f"msg_{number}"}
    facts = {"type": role, "message": message, "timestamp": at, "cwd": folder}
    return json.dumps({**facts, "sessionId": "long", "uuid": f"line-{number}"}) + "\n"


def _stops(plan: Plan) -> list[Row]:
    """A stop in the middle of a loop: captured, counted, and answered with the prompt."""
    contenders: dict[str, Contender] = {}
    folders = {}
    for client, event in STOPS.items():
        folder = folders[client] = repository(plan.folder, f"stop-{client}")
        contenders[client] = _Stop(Hook(client, event, folder), folder)
    contenders.update(_floors(plan.folder))
    samples = take_turns("client stops", contenders, plan.rounds(60, 10))
    for client, folder in folders.items():
        with holdfast.open(folder) as workspace:
            captures = [r for r in workspace.history(limit=10_000) if r["kind"] == "captured"]
        if len(captures) < len(samples[client]):
            raise RuntimeError(f"{len(captures)} captures for {len(samples[client])} stops")
    return [
        timed_row(
            f"hook process: {client}'s answered stop", samples, ours=client, base=FLOOR, bar=4.0
        )
        for client in STOPS
    ]


class _Stop:
    """Each at another task, as a loop that goes on: the same again would leave no record."""

    def __init__(self, stop: Hook, folder: str) -> None:
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
