"""Claude Code's hooks: the pack at session start, a capture before compaction, at stop and at the end.

What Claude reads is one JSON object on standard output, or nothing.
"""

from __future__ import annotations

import os
import sys

from holdfast import sessions
from holdfast.capture import checkpoint
from holdfast.handoff_files import read_preferences, read_state
from holdfast.kernel import jsontext
from holdfast.kernel.disk import write_synced
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.protocols import session as rules
from holdfast.protocols.session.stop import judge
from holdfast.writing import writer_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from holdfast.capture import Request, Result
    from holdfast.kernel.workspace import Workspace

EVENTS = ("SessionStart", "PreCompact", "Stop", "SessionEnd")
# Claude Code cuts what a hook adds to the context at 10,000 characters.
LONGEST_CONTEXT = 9_500
ACTOR = "claude"


def handle(
    event: str, payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """What to answer; an empty answer lets Claude go on."""
    session = str(payload.get("session_id") or "")
    if event == "SessionStart":
        return _start(workspace, session, str(payload.get("source") or ""), now)
    if event == "PreCompact":
        _capture(workspace, session, "context-threshold", now)
        _snapshot_detached(workspace)
        return {}
    if event == "Stop":
        return _stop(workspace, session, now)
    if event == "SessionEnd":
        return _end(workspace, session, str(payload.get("reason") or ""), now)
    raise HoldfastError(f"There is no hook for Claude's {event}.", kind="unknown_hook")


def _start(workspace: Workspace, session: str, source: str, now: int) -> dict[str, Any]:
    from holdfast.resume import resume

    own = sessions.read_or_new(workspace, session)
    if own["captures"]:
        whose = session
        command = {"do": "resumed", "by": source}
        stream = rules.stream_of(session)
        writer_of(workspace).execute(stream, command, actor=ACTOR, now=now)
    else:
        # Nobody can take anything over without a name; what is here is told all the same.
        whose = _predecessor(workspace, session, now) if session else ""
        if session and not whose and sessions.here(workspace):
            return {}  # others took over what was left here
    try:
        found = resume(workspace, session=whose, budget=LONGEST_CONTEXT, look=False, now=now)
    except NotFound:
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": "SessionStart",
            "additionalContext": found["pack"],
        }
    }


def _predecessor(workspace: Workspace, session: str, now: int) -> str:
    """The session that this one takes over, else the one here that was never ended."""
    old = sessions.predecessor(workspace, session)
    if old is None:
        killed = sessions.unended(workspace)
        return killed["session"] if killed else ""
    taken = sessions.adopt(workspace, old["session"], session, actor=ACTOR, now=now)
    return old["session"] if taken else ""


def _stop(workspace: Workspace, session: str, now: int) -> dict[str, Any]:
    try:
        loop = read_state(workspace)
    except HoldfastError:
        loop = {}
    if loop:
        most = read_preferences(workspace)["max_task_iterations"]
        loop = {"maxTaskIterations": most, **loop}
    counter = _Counter(workspace, session)
    ruling = judge(loop, counter.of(loop.get("taskIndex")))
    result = _capture(workspace, session, "handoff", now, at_gate=ruling["why"] == "gate")
    if not ruling["blocks"]:
        counter.forget()
        return {}
    counter.add(loop.get("taskIndex"))
    return {"decision": "block", "reason": result["prompt"]}


def _end(workspace: Workspace, session: str, reason: str, now: int) -> dict[str, Any]:
    # A payload without an id means the session at work here, whichever that is.
    session = _capture(workspace, session, "session-split", now)["session"]
    writer_of(workspace).execute(
        rules.stream_of(session), {"do": "ended", "reason": reason}, actor=ACTOR, now=now
    )
    _snapshot_detached(workspace)
    return {}


def _capture(
    workspace: Workspace, session: str, reason: str, now: int, *, at_gate: bool = False
) -> Result:
    request: Request = {
        "profile": "automated",
        "reason": reason,
        "session": session,
        "at_gate": at_gate,
    }
    result = checkpoint(workspace, request, actor=ACTOR, now=now)
    # Standard output is the host's: what went wrong is written down instead (AMB-CCC-25).
    from holdfast.kernel import failures

    for step in result["steps"]:
        if step["status"] == "failed":
            failures.note(workspace, "claude", step["message"], now)
    return result


def _snapshot_detached(workspace: Workspace) -> None:
    """A snapshot that outlives this hook: nobody waits for it, and a crash waits for nobody."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, descriptor) for descriptor in (0, 1, 2)]
    words = [sys.executable, "-m", "holdfast", "snapshot", "create", "-C", workspace.root]
    try:
        os.posix_spawn(sys.executable, words, os.environ, file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        return
    finally:
        os.close(nothing)


class _Counter:
    """How often the stop of one task was blocked in a row."""

    def __init__(self, workspace: Workspace, session: str) -> None:
        self._workspace = workspace
        self._session = session
        self._path = os.path.join(workspace.tool_folder, "stops.json")

    def of(self, task: object) -> int:
        try:
            with open(self._path, encoding="utf-8") as file:
                known = jsontext.loads(file.read())
            same = known["session"] == self._session and known["task"] == task
            return int(known["count"]) if same else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def add(self, task: object) -> None:
        value = {"session": self._session, "task": task, "count": self.of(task) + 1}
        self._workspace.prepare_tool_folder()
        write_synced(self._path, jsontext.dumps(value).encode())

    def forget(self) -> None:
        try:
            os.unlink(self._path)
        except OSError:
            return
