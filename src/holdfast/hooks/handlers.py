"""What is done about each meaning, for every client.

Everything heavy is imported where it is needed: a hook that has nothing to do loads nothing.
"""

from __future__ import annotations

import os
import time

from holdfast import registry
from holdfast.clients.table import capability
from holdfast.hooks.activity import find_hold, look, remind, tell_prompted
from holdfast.kernel import clock
from holdfast.people.page_open import is_open
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.clients.events import Client, HookEvent, HookOutcome
    from holdfast.clients.usage.model import UsageLimit
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.checkpoint import Request, Result

# A client that may or may not compact is captured so often.
MAY_COMPACT_EVERY = 10 * clock.MINUTE
# Claude Code gives all hooks at a session's end 1.5 s together, Codex 1 s.
LONGEST_END = 0.7
_POLL = 0.005
LONGEST_PROMPT = 400


def act(
    event: HookEvent, client: Client, workspace: Workspace, now: int, may_leave: bool
) -> HookOutcome:
    if event.means in ("start", "stop", "compacting", "end"):
        session_files.remember_transcript(workspace, event.session, event.transcript)
    if event.means == "start":
        from holdfast.hooks.session_start import start

        outcome = start(event, client, workspace, now)
        _tell_of_resets(workspace, now)
        return outcome
    if event.means == "waits":
        wait_for_person(event, client, workspace, now)
        return _answer_elsewhere(event, client, workspace, now) if may_leave else {}
    if event.means == "prompt":
        _tell_of_resets(workspace, now)
        return _refreshed(_prompt(event, client, workspace, now), event, client, workspace, now)
    if event.means == "used":
        outcome = _asked(event, workspace, _reminded({}, look(event.session, workspace, now)))
        outcome = _reminded(outcome, _of_others(event, workspace, now))
        return _refreshed(outcome, event, client, workspace, now)
    if event.means == "stop":
        return _stop(event, client, workspace, now)
    if event.means == "end":
        _end_turn(event, client, workspace, now)
        _finish(lambda: _end(event, client, workspace, now), event, client, workspace, may_leave)
        _observe_later(event, client, workspace)
        return {}
    return _compacting(event, client, workspace, now)


def wait_for_person(event: HookEvent, client: Client, workspace: Workspace, now: int) -> None:
    """Keep what the client asks its person, and let a process tell the person elsewhere."""
    from holdfast.hooks.run import command

    if not event.session:
        return
    if event.is_limit:
        from holdfast.usage import usage_limits

        limit: UsageLimit = {"says": event.asks, "at": now, "resets_at": 0}
        is_news = usage_limits.keep(workspace, client.NAME, event.session, limit)
    else:
        from holdfast.kernel.redact import Redactor
        from holdfast.session import client_questions

        asked = {"client": client.NAME, "session": event.session, "event": event.name}
        event.asks = Redactor().text(event.asks)
        is_news = client_questions.note(workspace, **asked, asks=event.asks, now=now)
    if is_news:
        _leave(workspace, command("tell-waiting", event.session))


def _answer_elsewhere(
    event: HookEvent, client: Client, workspace: Workspace, now: int
) -> HookOutcome:
    """Return what a person answered elsewhere while this hook waited. Without a page nobody does, and no feature is
    loaded."""
    if not is_open(workspace):
        return {}
    for ask in registry.load_named("hooks", "asks"):
        outcome: HookOutcome = ask(event, client, workspace, now)
        if outcome:
            return outcome
    return {}


def _tell_of_resets(workspace: Workspace, now: int) -> None:
    """See to it that people are told when a usage limit ends. Most worktrees have no session at one."""
    if not os.path.isdir(os.path.join(workspace.private, "limits")):
        return
    from holdfast.hooks.question_notices import wake_tellers
    from holdfast.usage.usage_limits import list_limited

    wake_tellers(workspace, list_limited(workspace, now))


def _prompt(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    from holdfast.hooks import stop

    stop.prompted(workspace, event.session, event.prompt)
    _begin_turn(event, client, workspace, now)
    outcome = _asked(event, workspace, _reminded({}, look(event.session, workspace, now, every=0)))
    outcome = _reminded(outcome, _of_others(event, workspace, now))
    outcome = _reminded(outcome, tell_prompted(workspace, event.session, event.prompt, now))
    return _reminded(outcome, find_hold(workspace, event.session))


def _begin_turn(event: HookEvent, client: Client, workspace: Workspace, now: int) -> None:
    """Let the features see the prompt in a process that the client does not wait for."""
    from holdfast.hooks import activity

    if not event.session:
        return
    if event.is_deferred:
        activity.begin_turn(workspace, client.NAME, event.session, event.prompt, now)
        return
    from holdfast.hooks.run import command
    from holdfast.kernel.redact import Redactor

    activity.tell("asking", workspace)
    asked = {"prompt": Redactor().text(event.prompt)[:LONGEST_PROMPT]}
    session_files.keep(workspace, event.session, session_files.ASKED, asked)
    _leave(workspace, command("begin-turn", client.NAME, event.session))


def _end_turn(event: HookEvent, client: Client, workspace: Workspace, now: int) -> None:
    """Let the features see the end of a turn, or of the session, in the same way."""
    from holdfast.hooks import activity

    if event.session and event.is_deferred:
        activity.end_turn(workspace, client.NAME, event.session, event.means, now)
    elif event.session:
        from holdfast.hooks.run import command

        _leave(workspace, command("end-turn", client.NAME, event.session, event.means))


def _of_others(event: HookEvent, workspace: Workspace, now: int) -> str:
    """What another session in this worktree did to a file that this one edited."""
    if not os.path.exists(os.path.join(workspace.private, "shared", "tell")):
        return ""
    from holdfast.hooks.shared_worktree import unread

    return unread(workspace, event.session, now)


def _reminded(outcome: HookOutcome, reminder: str) -> HookOutcome:
    """What a hook says, and below it what the agent has forgotten."""
    if not reminder:
        return outcome
    context, told = outcome.get("context", ""), outcome.get("tell", "")
    return {
        **outcome,
        "context": f"{context}\n\n{reminder}" if context else reminder,
        "tell": f"{told}\n{reminder}" if told else reminder,
    }


def _refreshed(
    outcome: HookOutcome, event: HookEvent, client: Client, workspace: Workspace, now: int
) -> HookOutcome:
    """What a hook says, behind the pack where no start has brought it: the client was silent after a
    compaction, or when the session began."""
    if _is_silent(client) and session_files.read(workspace, event.session, session_files.COMPACTED):
        session_files.drop(workspace, event.session, session_files.COMPACTED)
        event.source = "compact"
    elif _begins_unnoticed(event, client, workspace, now):
        session_files.remember_transcript(workspace, event.session, event.transcript)
        event.source = "startup"
    else:
        return outcome
    from holdfast.hooks.session_start import start

    return _reminded(start(event, client, workspace, now), outcome.get("context", ""))


def _begins_unnoticed(event: HookEvent, client: Client, workspace: Workspace, now: int) -> bool:
    """Whether this is the first event of a session without a start, and its answer can carry the pack.
    Claude Code runs no hook at a start when its home cannot be written."""
    if not event.session or session_files.has_started(workspace, event.session):
        return False
    if not client.answer(event, {"context": "the pack"}):
        return False  # a later event brings it
    try:
        session_files.keep(workspace, event.session, session_files.UNNOTICED, {"at": now})
    except OSError:
        return False  # it would come again with each event
    return True


def _is_silent(client: Client) -> bool:
    return bool(capability(client.NAME, "silent compaction"))


def _compacting(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    if event.means == "may compact" and not session_files.is_due(
        workspace, event.session, "captured", MAY_COMPACT_EVERY, now
    ):
        return {}
    from holdfast.session.checkpoint import checkpoint

    request = automated(event.session, "context-threshold")
    result = checkpoint(workspace, request, actor=client.NAME, now=now)
    note_failures(workspace, client, result, now)
    _observe_later(event, client, workspace)
    if event.means == "compacting":
        if event.session and _is_silent(client):
            session_files.keep(workspace, event.session, session_files.COMPACTED, {"at": now})
        _snapshot(workspace)
    return _reminded({}, remind("turn", workspace, event.session, now))


def _stop(event: HookEvent, client: Client, workspace: Workspace, now: int) -> HookOutcome:
    from holdfast.hooks import stop
    from holdfast.session.checkpoint import checkpoint

    ruling, loop = stop.ruling_of(workspace, event.session)
    if not ruling["blocks"]:
        _end_turn(event, client, workspace, now)
    request = automated(event.session, "handoff", at_gate=ruling["why"] == "gate")
    result = checkpoint(workspace, request, actor=client.NAME, now=now)
    note_failures(workspace, client, result, now)
    outcome: HookOutcome = {}
    if ruling["blocks"]:
        stop.count(workspace, event.session, loop.get("taskIndex"), result["prompt"])
        outcome["prompt"] = result["prompt"]
    elif ruling["why"] != "enough":
        stop.forget(workspace, event.session)
        outcome = _asked_before_stop(event, workspace)
    _observe_later(event, client, workspace)
    return _reminded(outcome, remind("turn", workspace, event.session, now))


def _observe_later(event: HookEvent, client: Client, workspace: Workspace) -> None:
    """Leave the reading of the transcript, the look at the work tree and the budget's check to
    another process: the client does not wait for it."""
    from holdfast.hooks.run import command

    if event.session and event.is_deferred:
        from holdfast.hooks.after_turn import after_turn

        after_turn(workspace, client.NAME, event.session, event.transcript, clock.now())
    elif event.session:
        _leave(workspace, command("after-turn", client.NAME, event.session, event.transcript))


ASK = (
    "Holdfast: the context is {percent} % full. What you did is recorded; state what cannot be seen "
    "from outside, in at most 2,000 characters, one point a line: "
    '`holdfast checkpoint --skip-git --handover "Findings: WHAT, because WHY'
    "\nDead ends: WHAT, given up because WHY\nWanted: WHAT the person wants, with their rules"
    '\nNot done: WHAT is left, the next step first"`.'
)


def _asked(event: HookEvent, workspace: Workspace, outcome: HookOutcome) -> HookOutcome:
    """Ask once for what cannot be observed, when the context has become so full."""
    ask = session_files.read(workspace, event.session, "ask") if event.session else {}
    if "percent" not in ask or ask.get("asked"):
        return outcome
    session_files.keep(workspace, event.session, "ask", {**ask, "asked": 1})
    return _reminded(outcome, ASK.format(percent=ask.get("percent")))


def _asked_before_stop(event: HookEvent, workspace: Workspace) -> HookOutcome:
    """Ask a second and last time before the agent stops, unless it has stated something since."""
    ask = session_files.read(workspace, event.session, "ask") if event.session else {}
    if "percent" not in ask or ask.get("asked", 0) > 1:
        return {}
    session_files.keep(workspace, event.session, "ask", {**ask, "asked": 2})
    from holdfast.session import sessions

    stated = sessions.read_or_new(workspace, event.session).get("stated")
    if (stated["at"] if stated else "") != ask.get("stated"):
        return {}
    return {"prompt": ASK.format(percent=ask.get("percent"))}


def _end(event: HookEvent, client: Client, workspace: Workspace, now: int) -> None:
    from holdfast.kernel.streams import open_writer
    from holdfast.session.checkpoint import checkpoint
    from holdfast.session.rules import session as rules

    request = automated(event.session, "session-split")
    result = checkpoint(workspace, request, actor=client.NAME, now=now)
    note_failures(workspace, client, result, now)
    # A payload without an id means the session at work here, whichever that is.
    session = result["session"]
    command = {"do": "ended", "reason": event.source}
    # Later than the capture: what is left in the inbox is taken in by its time.
    after = now + 1
    open_writer(workspace).execute(rules.stream_of(session), command, actor=client.NAME, now=after)
    session_files.end(workspace, session)
    if os.path.isdir(os.path.join(workspace.private, "shared")):
        from holdfast.hooks import shared_worktree

        shared_worktree.end(workspace, session, now)
    _snapshot(workspace)


def _snapshot(workspace: Workspace) -> None:
    from holdfast.processes.relaunch import command

    _leave(workspace, command("snapshot", "create"))


def automated(session: str, reason: str, *, at_gate: bool = False) -> Request:
    """The request for the automated profile of a checkpoint."""
    return {
        "profile": "automated",
        "reason": reason,
        "session": session,
        "at_gate": at_gate,
        "by_hook": True,
    }


def note_failures(workspace: Workspace, client: Client, result: Result, now: int) -> None:
    """Write down which steps failed: standard output is the host's (AMB-CCC-25)."""
    for step in result["steps"]:
        if step["status"] == "failed":
            from holdfast.kernel import failures
            from holdfast.kernel.errors import HoldfastError

            if not failures.note(workspace, client.NAME, step["message"], now):
                raise HoldfastError(step["message"])  # so that the failure is recorded


# What outlives a hook


def _finish(
    work: Callable[[], None],
    event: HookEvent,
    client: Client,
    workspace: Workspace,
    may_leave: bool,
) -> None:
    """Do it, within the client's patience; what takes longer is finished by a process that the client
    does not know."""
    if not may_leave:
        work()
        return
    process = os.fork()
    if process == 0:
        _work_alone(work, event, client, workspace)
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended and status:
            from holdfast.kernel.errors import HoldfastError

            raise HoldfastError("The session's end could not be kept.")
        if ended:
            return
        time.sleep(_POLL)


def _work_alone(
    work: Callable[[], None], event: HookEvent, client: Client, workspace: Workspace
) -> None:
    """In a session of its own: a client that ends kills its own group of processes, and waits for
    every process that holds its pipes."""
    is_noted = True
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        from holdfast.kernel.deadline import bound
        from holdfast.kernel.lock import PATIENCE_SECONDS

        workspace.patience = PATIENCE_SECONDS  # the client does not wait any more
        bound(0)
        work()
        from holdfast.hooks.run import forward

        forward(workspace)
    except Exception as error:
        from holdfast.kernel import failures

        described = f"{type(error).__name__}: {error}"
        message = str(getattr(error, "message", "") or described)
        is_noted = failures.note(workspace, f"{client.NAME} {event.name}", message, clock.now())
    finally:
        os._exit(0 if is_noted else 1)


def _leave(workspace: Workspace, command: list[str]) -> None:
    """Start a command of ours that outlives this hook: no process waits for it."""
    from holdfast.processes.relaunch import leave

    # Where the client says that it works; by itself it may have started us elsewhere.
    os.chdir(workspace.root)
    leave(command)
