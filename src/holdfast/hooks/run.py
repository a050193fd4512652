"""One hook, from its payload to its answer. It never fails its host.

Whatever goes wrong, the agent goes on (exit 0) and the reason is written down for the next reader;
only the latch is tested before anything can go wrong. The modules that may be loaded here are on a
list, and a test looks at `sys.modules`.
"""

from __future__ import annotations

import os
import sys

from holdfast import registry
from holdfast.clients.events import caller_of, is_named_twice, note_time
from holdfast.clients.table import CLIENTS, part, safe_id
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.deadline import bound
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import unlink_if_any
from holdfast.kernel.workspace import discover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from holdfast.clients.events import Client, HookEvent, HookOutcome
    from holdfast.kernel.workspace import Workspace

# More than this is no payload; a hook must not fill the memory of its host.
LARGEST_PAYLOAD = 32 * 1024 * 1024
LONGEST_NAME = 80
# Words of processes that hooks start by themselves, without a payload.
STARTED_HERE = ("after-turn", "begin-turn", "end-turn", "tell-", "launcher")
# Of a hook for a program such as git, while its client waits.
MAX_WAIT_SECONDS = 3.0
# Set by the launcher, with its folder; `clients.launcher` has the rest.
LAUNCHER = "_HOLDFAST_LAUNCHER"


def command(*arguments: str) -> list[str]:
    """How a client has to start a hook on this machine."""
    import apsw

    here = os.path.dirname(os.path.abspath(__file__))
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(apsw.__file__)))
    return [sys.executable, "-I", "-S", os.path.join(here, "entry.py"), libraries, *arguments]


def run(arguments: list[str]) -> NoReturn:
    registry.close()
    answer = respond(arguments)
    if LAUNCHER in os.environ:
        from holdfast.clients.launcher import keep_current

        keep_current()
    if answer:
        text = answer if isinstance(answer, str) else canonical_json.dumps(answer)
        try:
            os.write(1, f"{text}\n".encode("utf-8", "replace"))
        except OSError:
            pass
    # Skip interpreter shutdown: everything is synced and flushed.
    os._exit(0)


def respond(arguments: list[str]) -> dict[str, Any] | str:
    """What to print for a hook, if anything. Never raises."""
    payload: dict[str, Any] = {}
    problem = ""
    if arguments[:1] == ["pending"] and len(arguments) == 2:
        from holdfast.hooks.deferred_events import finish_apart

        finish_apart(arguments[1])
        return {}
    if arguments and arguments[0].startswith(STARTED_HERE):
        if arguments[0] == "tell-waiting" and len(arguments) == 3:
            payload = {"cwd": arguments[2]}
        return _own(arguments, payload, problem)  # started by ourselves, without a payload
    try:
        payload = _payload()
    except Exception as error:
        problem = _described(error)
    if arguments[:1] and arguments[0] in CLIENTS:
        return respond_to(arguments[0], " ".join(arguments[1:]), payload, problem=problem)
    if arguments == ["statusline"]:
        from holdfast.hooks.status_line import line

        return line(payload)
    return _own(arguments, payload, problem)


def respond_to(
    client_name: str,
    name: str,
    payload: dict[str, Any],
    *,
    problem: str = "",
    may_leave: bool = True,
    project: str | None = None,
    kept_as: str | None = None,
) -> dict[str, Any]:
    """The answer to one event of a client's. Without `may_leave` nothing is left to another process.
    `project` is the folder that the session began in; None asks the environment. `kept_as`: the launcher
    kept the event under this name of the session, and the client went on without an answer."""
    if os.environ.get("_HOLDFAST_COPY"):
        return {}
    named, client_name = client_name, caller_of(client_name, payload, os.environ)
    client: Client = part(client_name, "events")
    event = client.read(name, payload)
    event.session = safe_id(event.session)
    event.is_deferred = kept_as is not None
    outcome: HookOutcome = {}
    now = clock.now()
    if project is None:
        variable = CLIENTS[named].project_variable
        project = os.environ.get(variable, "") if variable else ""
    workspace, around = _places(project, event.folder)
    if workspace is None:
        return {}  # nowhere to work, and nowhere to write down why
    if is_named_twice(named, client_name, workspace.root):
        return {}  # the hook in its own settings does it
    if may_leave:
        bound(MAX_WAIT_SECONDS)  # for what it finishes of others, too
    if event.is_deferred:
        from holdfast.kernel.lock import PATIENCE_SECONDS

        workspace.patience = PATIENCE_SECONDS  # no client waits
    elif event.means == "start":
        from holdfast.kernel.private_folder import take_over_old

        take_over_old(workspace)
        _finish_deferred(workspace, event)
    elif event.means not in ("tool", "nothing", "unknown"):
        _finish_deferred(workspace, event)
    if event.session and event.means not in ("waits", "nothing", "unknown"):
        # The person answered in the client; `session.client_questions` has the file.
        unlink_if_any(f"{workspace.private}/waiting/{event.session}")
        if event.means not in ("end", "compacting", "may compact"):
            # Its work goes on; `session.usage_limits` has the file.
            unlink_if_any(f"{workspace.private}/limits/{event.session}")
    has_marks = LAUNCHER in os.environ
    stopped = latch.read(workspace)
    holder = workspace
    if stopped is None and around is not None:
        stopped, holder = latch.read(around), around
    try:
        if problem:
            raise HoldfastError(problem)
        # A latch denies every tool before anything can go wrong.
        if stopped is None or event.means != "tool":
            outcome = _act(event, client, workspace, now, may_leave)
            if stopped is None:
                stopped, holder = latch.read(workspace), workspace
    except Exception as error:
        if not _note_failure(workspace, f"{client_name} {name}", error, now):
            from holdfast.kernel.text import safe

            lost = f"Holdfast: {event.name} failed, and could not write that down: "
            text = f"{lost}{' '.join(safe(_described(error)).split())}"
            outcome = {"context": text, "tell": text}
    if event.means not in ("nothing", "unknown") and not problem:
        if not event.is_deferred:
            note_time(workspace, client_name, event.name, now)
        if has_marks:
            _leave_marks(
                event, client_name, workspace, now, is_at_home=around is None, key=kept_as or ""
            )
    if (may_leave or event.is_deferred) and event.means != "nothing":
        forward(workspace)
    if stopped is not None:
        from holdfast.hooks.stop import add_stop

        outcome = add_stop(outcome, event, holder, stopped, now)
    if may_leave:
        bound(0)
    # The labels of an answer have to be those that the client gave; its message passed the door.
    permit = outcome.pop("permit", None)
    shown: HookOutcome = _pass_door(outcome, workspace)
    if permit is not None:
        shown = {**shown, "permit": permit}
    return client.answer(event, shown)


def _pass_door(answer: Any, workspace: Workspace) -> Any:
    """The answer as a person or an agent may read it."""
    if not answer:
        return answer
    from holdfast.kernel.door import Door

    return Door(workspace, opens=True).value(answer)


def _finish_deferred(workspace: Workspace, event: HookEvent) -> None:
    """Finish what the launcher kept and no process has finished. A session's start waits for it: what
    the session before left has to be there."""
    try:
        names = os.listdir(f"{workspace.private}/pending")
    except OSError:
        return
    # The lock stays there.
    if all(name.startswith(".") for name in names):
        return
    from holdfast.hooks import deferred_events

    deferred_events.finish(
        workspace, deferred_events.LONGEST_WAIT if event.means == "start" else 0.0
    )


def _leave_marks(
    event: HookEvent, client: str, workspace: Workspace, now: int, *, is_at_home: bool, key: str
) -> None:
    """Let the launcher know whether it needs Python for the next events of this session."""
    from holdfast.hooks import marks

    try:
        if event.means == "start":
            marks.sweep(now)
        # Who waits for an answer is asked about again with the next event, which says that it came.
        if event.means in ("end", "waits") or event.asks or not is_at_home:
            marks.drop(client, event.session, key=key)
        elif event.means == "tool" and not event.looks_after:
            # All else is left by what comes after the tool.
            marks.leave_quiet(workspace)
            marks.leave_spent(workspace, client, event.session, event.transcript, now, key=key)
        elif event.session:
            marks.leave(workspace, client, event.session, now, key=key)
    except Exception as error:
        marks.drop(client, event.session, key=key)
        _note_failure(workspace, f"{client} {event.name}", error, now)


def forward(workspace: Workspace) -> None:
    """Start the forwarder if this workspace uses a server: it brings the server what this hook wrote, and this
    machine what was written there."""
    if not workspace.spools and not os.path.exists(f"{workspace.home}/forward"):
        return
    from holdfast.remote.offline import start_forwarder

    try:
        start_forwarder(workspace)
    except Exception as error:
        _note_failure(workspace, "forwarder", error, clock.now())


def _act(
    event: HookEvent, client: Client, workspace: Workspace, now: int, may_leave: bool
) -> HookOutcome:
    if event.means == "nothing":
        return {}
    if event.means == "unknown":
        who = client.NAME.capitalize()
        raise HoldfastError(f"There is no hook for {who}'s {event.name}.", kind="unknown_hook")
    if event.means == "tool":
        from holdfast.hooks.pre_tool_use import before

        return before(event, client, workspace, now)
    from holdfast.hooks.handlers import act

    return act(event, client, workspace, now, may_leave)


def _places(project: str, folder: str) -> tuple[Workspace | None, Workspace | None]:
    """The workspace that a session belongs to, wherever its agent went since; and, when that is in
    another one now, the other, whose stop holds there as well."""
    now_in = _found(_folder(folder))
    began_in = _found(project) if _is_folder(project) else None
    if began_in is None or now_in is None:
        return began_in or now_in, None
    is_one = began_in.root == now_in.root and began_in.home == now_in.home
    return began_in, None if is_one else now_in


def _found(folder: str | None) -> Workspace | None:
    try:
        return discover(folder, local=True)
    except (HoldfastError, OSError):
        return None


def _folder(named: str) -> str | None:
    """Where the client says it is; by itself it may have started us elsewhere."""
    return named if _is_folder(named) else None


def _is_folder(named: str) -> bool:
    try:
        return bool(named) and os.path.isdir(named)
    except ValueError:  # a null character
        return False


# Our own words: what programs send, not clients


def _own(arguments: list[str], payload: dict[str, Any], problem: str) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    named = payload.get("cwd")
    try:
        workspace = discover(_folder(named if isinstance(named, str) else ""), local=True)
    except HoldfastError as error:
        return {"failed": problem or error.message}
    stopped = latch.read(workspace)
    if stopped is not None:
        answer["stopped"] = stopped["reason"]
    try:
        if problem:
            raise HoldfastError(problem)
        answer.update(_obey(arguments, payload, workspace))
    except Exception as error:
        answer["failed"] = _described(error)
        name = " ".join(arguments[:2])
        if arguments[:1] == ["after-turn"] and len(arguments) > 1:
            name = f"{arguments[1]} AfterTurn"  # named as the client's own events are
        _note_failure(workspace, name, error, clock.now())
    forward(workspace)
    shown: dict[str, Any] = _pass_door(answer, workspace)
    return shown


def _obey(arguments: list[str], payload: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    react = next(registry.load_named("words", arguments[0]), None) if arguments else None
    if react is not None:
        said: dict[str, Any] = react(arguments[1:], payload, workspace, clock.now())
        return said
    if arguments == ["launcher"]:
        from holdfast.clients.launcher import install

        install()
        return {}
    if arguments[:1] == ["after-turn"] and len(arguments) == 4:
        from holdfast.hooks.after_turn import after_turn

        _, client, session, transcript = arguments
        after_turn(workspace, client, session, transcript, clock.now())
        from holdfast.hooks import marks

        marks.leave(workspace, client, session, clock.now())
        return {}
    if arguments[:1] == ["begin-turn"] and len(arguments) == 3:
        from holdfast.hooks.activity import begin_turn
        from holdfast.session import session_files

        _, client, session = arguments
        asked = session_files.read(workspace, session, session_files.ASKED)
        session_files.drop(workspace, session, session_files.ASKED)
        begin_turn(workspace, client, session, str(asked.get("prompt", "")), clock.now())
        return {}
    if arguments[:1] == ["end-turn"] and len(arguments) == 4:
        from holdfast.hooks.activity import end_turn

        _, client, session, means = arguments
        end_turn(workspace, client, session, means, clock.now())
        return {}
    if arguments[:1] == ["tell-waiting"] and len(arguments) in (2, 3):
        from holdfast.hooks.question_notices import tell_waiting

        tell_waiting(workspace, arguments[1])
        return {}
    if arguments[:1] in (["compaction"], ["measure"], ["interrupted"]) and len(arguments) == 1:
        from holdfast.hooks import claude_mod

        return claude_mod.answer(arguments[0], payload, workspace, clock.now())
    raise HoldfastError(f"There is no hook {' '.join(arguments)!r:.80}.", kind="unknown_hook")


def _payload() -> dict[str, Any]:
    chunks, length = [], 0
    while chunk := os.read(0, 1 << 16):
        chunks.append(chunk)
        length += len(chunk)
        if length > LARGEST_PAYLOAD:
            raise HoldfastError(f"The payload is larger than {LARGEST_PAYLOAD >> 20} MB.")
    return understood(b"".join(chunks))


def understood(content: bytes) -> dict[str, Any]:
    """The payload that a client sent; HoldfastError when it is none."""
    try:
        value = canonical_json.loads(content.decode())
    except ValueError as error:
        raise HoldfastError(f"The payload is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise HoldfastError("The payload is not a JSON object.")
    return value


def _note_failure(workspace: Workspace, hook: str, error: Exception, now: int) -> bool:
    from holdfast.kernel import failures

    return failures.note(workspace, hook[:LONGEST_NAME], _described(error), now)


def _described(error: Exception) -> str:
    """In one line; nothing of the payload or the environment is in it but what a message quotes."""
    if isinstance(error, HoldfastError):
        return error.message
    return f"{type(error).__name__}: {error}"
