"""One hook, from its payload to its answer. It never fails its host.

Whatever goes wrong, the agent goes on (exit 0) and the reason is written down for the next reader;
only the latch is tested before anything can go wrong. The modules that may be loaded here are on a
list, and a test looks at `sys.modules`.
"""

from __future__ import annotations

import os
import sys

from holdfast.kernel import clock, failures, jsontext, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from holdfast.kernel.workspace import Workspace

# More than this is no payload; a hook must not fill the memory of its host.
LARGEST_PAYLOAD = 32 * 1024 * 1024


def command(*arguments: str) -> list[str]:
    """How a client has to start a hook on this machine."""
    import apsw

    here = os.path.dirname(os.path.abspath(__file__))
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(apsw.__file__)))
    return [sys.executable, "-I", "-S", os.path.join(here, "entry.py"), libraries, *arguments]


def run(arguments: list[str]) -> NoReturn:
    answer = respond(arguments)
    if answer:
        try:
            os.write(1, f"{jsontext.dumps(answer)}\n".encode())
        except OSError:
            pass
    # Without the interpreter's long goodbye: what must be durable is, and nothing is buffered.
    os._exit(0)


def respond(arguments: list[str]) -> dict[str, Any]:
    """What to print for a hook, if anything. Never raises."""
    is_client = arguments[:1] not in (["note"], ["beat"])
    answer: dict[str, Any] = {}
    workspace: Workspace | None = None
    stopped: latch.Latch | None = None
    session = ""
    try:
        payload = _payload()
        session = str(payload.get("session_id") or "")
        workspace = discover(_folder(payload))
        stopped = latch.read(workspace)
        if stopped is not None and not is_client:
            answer["stopped"] = stopped["reason"]
        answer.update(_obey(arguments, payload, workspace))
    except Exception as error:
        message = error.message if isinstance(error, HoldfastError) else _described(error)
        if not is_client:
            answer["failed"] = message
        if workspace is None:
            workspace = _workspace_or_none()
        if workspace is not None:
            failures.note(workspace, " ".join(arguments[:2]), message, clock.now())
    if workspace is not None and stopped is not None and is_client:
        # Also when the hook itself failed: a stop holds without the journal.
        answer = _stopping(answer, stopped, _turn(workspace, arguments, session))
    return answer


def _turn(workspace: Workspace, arguments: list[str], session: str) -> str:
    """What is left of a session's last turn: `begins` now, `goes on`, or nothing."""
    from holdfast.kernel import last_turn

    event = arguments[1] if len(arguments) > 1 else ""
    if event == "Stop" and last_turn.take(workspace, session, now=clock.now()):
        return "begins"
    if event == "PreCompact" and last_turn.is_open(workspace, now=clock.now()):
        return "goes on"
    return ""


def _stopping(answer: dict[str, Any], stopped: latch.Latch, turn: str) -> dict[str, Any]:
    """What the hook would have said, and on top of it that the agent has to stop; at once, or after
    the one turn that a budget leaves it to checkpoint in."""
    from holdfast.emergency import words
    from holdfast.kernel import last_turn

    text = words(stopped)
    if turn == "begins":
        return {"decision": "block", "reason": f"{text}\n{last_turn.WORDS}"}
    specific = answer.get("hookSpecificOutput")
    if specific is not None:
        specific["additionalContext"] = f"{text}\n\n{specific.get('additionalContext', '')}"
    if turn == "goes on":
        return {**answer, "systemMessage": f"{text}\n{last_turn.WORDS}"}
    answer.pop("decision", None)
    return {**answer, "continue": False, "stopReason": text, "systemMessage": text}


def _reminding(answer: dict[str, Any], reminder: str) -> dict[str, Any]:
    """What the hook says, and below it what the agent has forgotten."""
    if not reminder:
        return answer
    specific = answer.get("hookSpecificOutput")
    if specific is not None:
        specific["additionalContext"] = f"{specific.get('additionalContext', '')}\n\n{reminder}"
    return {**answer, "systemMessage": reminder}


def _folder(payload: dict[str, Any]) -> str | None:
    """Where the client says it is; by itself it may have started us elsewhere."""
    folder = payload.get("cwd")
    return folder if isinstance(folder, str) and os.path.isdir(folder) else None


def _workspace_or_none() -> Workspace | None:
    try:
        return discover()
    except HoldfastError:
        return None


def _obey(arguments: list[str], payload: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    if arguments == ["note"]:
        return _note(payload, workspace)
    if arguments[:1] == ["beat"]:
        from holdfast.hooks.beat import beat

        return beat(arguments[1:], payload, workspace, clock.now())
    if len(arguments) == 2 and arguments[0] == "claude":
        from holdfast.fleet.activity import saw
        from holdfast.hooks.claude import handle

        now = clock.now()
        answer = handle(arguments[1], payload, workspace, now)
        return _reminding(answer, saw(workspace, str(payload.get("session_id") or ""), now))
    raise HoldfastError(f"There is no hook {' '.join(arguments)!r}.", kind="unknown_hook")


def _note(payload: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    from holdfast.protocols.note import stream_of
    from holdfast.writing import actor, writer_of

    by = str(payload.get("by") or actor())
    outcome = writer_of(workspace).execute(
        stream_of(str(payload.get("name") or "default")),
        {"add": str(payload.get("text") or ""), "by": by},
        actor=by,
        now=clock.now(),
        id=str(payload.get("id") or ""),
    )
    return {"id": outcome["id"], "queued": bool(outcome["queued"])}


def _payload() -> dict[str, Any]:
    chunks, length = [], 0
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
        length += len(chunk)
        if length > LARGEST_PAYLOAD:
            raise HoldfastError(f"The payload is larger than {LARGEST_PAYLOAD >> 20} MB.")
    try:
        value = jsontext.loads(b"".join(chunks).decode())
    except ValueError as error:
        raise HoldfastError(f"The payload is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise HoldfastError("The payload is not a JSON object.")
    return value


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
