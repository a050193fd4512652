"""Claude Code's http hooks: the same answers as its command hooks get, without a process for the cheap.

What looks at small files only is answered by a thread. Everything that writes or may take long (a
capture, a look at the budget) runs in the very process that a command hook is: it changes its folder,
leaves children behind and takes as long as it takes, and no other hook waits for it.
docs/adr/0026-hooks-over-http.md says which events a client should send here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from holdfast.hooks import claude
from holdfast.hooks.run import PROJECT_VARIABLES, command, respond_to, understood
from holdfast.hooks.watching import EVERY, LOOKED
from holdfast.kernel import alerts, clock, failures, jsontext, slot
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound
from holdfast.kernel.workspace import Workspace, discover
from holdfast.web.agent_keys import Home, Keys

# Claude Code asks for these by a command only.
_COMMANDS_ONLY = ("SessionStart", "Setup")
EVENTS = frozenset(claude.EVENTS) - frozenset(_COMMANDS_ONLY)
MOST_THREADS = 8
MOST_PROCESSES = 20
# No client waits longer than 20 s for a hook of ours; a capture that goes on is worth more than that.
PATIENCE_SECONDS = 60.0
# What the server was itself started with is of no client that asks it.
_OF_A_CLIENT = frozenset(PROJECT_VARIABLES.values())


class Hooks:
    """The hooks of all workspaces of one server."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._threads = ThreadPoolExecutor(MOST_THREADS, "holdfast-hook")
        self._processes = ThreadPoolExecutor(MOST_PROCESSES, "holdfast-hook-process")
        self._running: set[subprocess.Popen[bytes]] = set()

    async def answer(self, token: str, event: str, body: bytes, problem: str = "") -> str:
        """What the client is to read, as JSON. `problem` says why the body is no payload."""
        if event not in EVENTS:
            raise NotFound(
                f"There is no http hook {event!r:.60}.",
                hint="SessionStart is a command hook; the others bear Claude Code's names.",
            )
        loop = asyncio.get_running_loop()
        place, answer, payload = await loop.run_in_executor(
            self._threads, self._attempted, token, event, body, problem
        )
        if payload is None:
            return answer
        return await loop.run_in_executor(self._processes, self._alone, place, event, payload)

    def _attempted(
        self, token: str, event: str, body: bytes, problem: str
    ) -> tuple[Home, str, bytes | None]:
        """In one thread, and so with one change of threads: who it is, and the answer to the cheap."""
        place = self._keys.admit(token)
        return place, *attempted(place, event, body, problem)

    def _alone(self, place: Home, event: str, payload: bytes) -> str:
        with subprocess.Popen(
            command(claude.NAME, event),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=place.root,
            env={name: value for name, value in os.environ.items() if name not in _OF_A_CLIENT},
            # Ctrl+C in the server's terminal is not for a capture that is under way.
            start_new_session=True,
        ) as process:
            self._running.add(process)
            try:
                said, _ = process.communicate(payload, PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                _end(process)
                raise HoldfastError(
                    f"The hook {event} took more than {PATIENCE_SECONDS:.0f} s.", kind="too_slow"
                ) from None
            finally:
                self._running.discard(process)
        return said.decode("utf-8", "replace").strip() or "{}"

    def close(self) -> None:
        """Hooks that are still at work had their time, and end."""
        self._processes.shutdown(wait=False, cancel_futures=True)
        for process in [*self._running]:
            _end(process)
        self._processes.shutdown(wait=True)
        self._threads.shutdown(wait=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def attempted(place: Home, event: str, body: bytes, problem: str) -> tuple[str, bytes | None]:
    """The answer, or the payload for a process that gives it."""
    payload: dict[str, Any] = {}
    try:
        payload = {} if problem else understood(body)
    except HoldfastError as error:
        problem = error.message
    workspace = _workspace(payload, place)
    if problem or is_cheap(event, payload, workspace):
        answer = respond_to(
            claude.NAME, event, payload, problem=problem, may_leave=False, project=""
        )
        return jsontext.dumps(answer), None
    return "", jsontext.dumps(payload).encode("utf-8", "replace")


def _workspace(payload: dict[str, Any], place: Home) -> Workspace:
    """Where the client says that it is, or the workspace's top; never another workspace."""
    named = payload.get("cwd")
    try:
        inside = isinstance(named, str) and os.path.isabs(named) and os.path.isdir(named)
    except ValueError:  # a null character
        inside = False
    if not inside:
        payload["cwd"] = named = place.root
    try:
        workspace = discover(str(named), local=True)
    except HoldfastError:
        workspace = None
    if workspace is None or workspace.home != place.home:
        raise NotAllowed(
            "This token is another workspace's.",
            hint=f"Each workspace has its own: {os.path.basename(place.root)} is this one's.",
            kind="other_workspace",
        )
    return workspace


def is_cheap(name: str, payload: dict[str, Any], workspace: Workspace) -> bool:
    """Whether an answer needs a look at small files, and nothing else."""
    event = claude.read(name, payload)
    if event.means == "nothing":
        return True
    if event.means == "tool":
        return not event.looks_after and not alerts.read(workspace, event.session)
    if event.means == "used":
        looked = slot.seen_at(workspace, event.session, LOOKED)
        return looked is not None and 0 <= clock.now() - looked < EVERY
    return False


def note(place: Home, event: str, reason: str) -> None:
    """A hook that failed here is named to the next reader, as a command hook's failure is."""
    workspace = discover(place.root, local=True)
    failures.note(workspace, f"{claude.NAME} {event} over http", reason, clock.now())
