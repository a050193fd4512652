"""`holdfast away` as a person types it in the morning: over 20 workspaces and 200 sessions, against a bare interpreter."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
import uuid

import holdfast
from bench.harness import (
    Contender,
    Plan,
    Process,
    Row,
    environment,
    python,
    repository,
    say,
    take_turns,
    timed_row,
)
from bench.observation import RECORDINGS
from holdfast.clients.discovery import sessions_in
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.maintenance import known_roots
from holdfast.session import observation
from holdfast.session.rules.session import stream_of
from holdfast.usage import spending

WORKSPACES, SESSIONS = 20, 10
OURS, FLOOR = "holdfast away", "python -c pass"
# Of each workspace's sessions, so many are Codex's; the journal knows so many of all.
OF_CODEX, RECORDED = 4, 6
RECORDED_IN = b"/home/dev/tally"


def measure(plan: Plan) -> list[Row]:
    home = os.path.join(plan.folder, "home")
    folders = make_machine(plan.folder, home)
    script = os.path.join(os.path.dirname(sys.executable), "holdfast")
    surroundings = {**environment(), "HOME": home}
    say("away: the first look")
    subprocess.run(
        [script, "away", "--json"],
        cwd=folders[0],
        env=surroundings,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    contenders: dict[str, Contender] = {
        OURS: Process(folders[0], [script, "away", "--since", "24h"], home=home),
        FLOOR: Process(folders[0], python("-c", "pass")),
    }
    samples = take_turns("away", contenders, plan.rounds(40, 10))
    what = f"holdfast away: {WORKSPACES} workspaces, {WORKSPACES * SESSIONS} sessions, p50"
    return [timed_row(what, samples, ours=OURS, base=FLOOR, bar=15.0)]


def make_machine(parent: str, home: str) -> list[str]:
    """Return the folders of workspaces in which clients left sessions, recorded ones with other names."""
    recordings = {client: _recordings(client) for client in ("claude", "codex")}
    before = {name: os.environ.get(name) for name in ("HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")}
    os.environ.update(HOME=home, XDG_STATE_HOME="", XDG_DATA_HOME="")
    try:
        return [_make_workspace(parent, home, number, recordings) for number in range(WORKSPACES)]
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _make_workspace(parent: str, home: str, number: int, recordings: dict[str, list[bytes]]) -> str:
    root = os.path.realpath(repository(parent, f"project-{number:02}"))
    say(f"away: {root}")
    for name in range(30):
        with open(os.path.join(root, f"file-{name}.py"), "w", encoding="utf-8") as file:
            file.write(f"VALUE = {name}\n")
    author = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid")
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    subprocess.run(["git", "-C", root, *author, "commit", "--quiet", "-m", "Begin"], check=True)
    with open(os.path.join(root, "file-0.py"), "a", encoding="utf-8") as file:
        file.write("# changed\n")
    with holdfast.open(root, actor="bench") as workspace:
        workspace.note("begun")
    known_roots.remember(discover(root))
    for one in range(SESSIONS):
        _leave_session(home, root, "codex" if one < OF_CODEX else "claude", one, recordings)
    _record(root)
    return root


def _leave_session(
    home: str, root: str, client: str, one: int, recordings: dict[str, list[bytes]]
) -> None:
    content = recordings[client][one % len(recordings[client])]
    session = str(uuid.uuid4())
    old = content.partition(b'"sessionId":"' if client == "claude" else b'"session_id":"')[2][:36]
    content = content.replace(RECORDED_IN, root.encode()).replace(old, session.encode())
    if client == "claude":
        name = "".join(letter if letter.isalnum() else "-" for letter in root)
        path = os.path.join(home, ".claude", "projects", name, f"{session}.jsonl")
    else:
        day = os.path.join(home, ".codex", "sessions", "2026", "11", "16")
        path = os.path.join(day, f"rollout-2026-11-16T10-00-00-{session}.jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    # Over the night, one after the other.
    at = time.time() - 3600 - one * 3000
    os.utime(path, (at, at))


def _record(root: str) -> None:
    """Let the journal know sessions as hooks do."""
    workspace = discover(root)
    for found in sessions_in(root)[:RECORDED]:
        looked = observation.look_at(workspace, spending.sources_at(found["path"]), now=clock.now())
        if looked is None:
            raise RuntimeError(f"nothing was observed in {found['path']}")
        observation.record(
            workspace, found["session"], looked, None, actor="bench", now=clock.now()
        )
        if workspace.journal.head(stream_of(found["session"])) is None:
            raise RuntimeError("the session is not in the journal")
    workspace.close()


def _recordings(client: str) -> list[bytes]:
    folder = os.path.join(RECORDINGS, client)
    found = []
    for name in sorted(os.listdir(folder)):
        if "long" not in name and "compacted" not in name:
            with gzip.open(os.path.join(folder, name)) as file:
                found.append(file.read())
    return found
