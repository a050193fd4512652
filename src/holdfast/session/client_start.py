"""Start a client to go on with the work: with a first prompt, at once or when its usage limit is reset.

A person asks for the wait, and confirms it at the terminal.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from holdfast.clients.table import CLIENTS, NAMES, title_of
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.text import ABOUT_SIGNS, AT_SIGN, HANDED_OVER, defuse, quote
from holdfast.kernel.workspace import Workspace
from holdfast.processes.child import find_program
from holdfast.session.session_files import HANDED_OVER_VARIABLE
from holdfast.session.session_list import command_to_resume
from holdfast.usage.usage_limits import list_limited, local_time, span

if TYPE_CHECKING:
    from holdfast.clients.table import ClientName
    from holdfast.session.resume import Resumption
    from holdfast.usage.usage_limits import LimitedSession


# Linux takes at most 128 KiB for one argument, with the byte that ends it.
LONGEST_PROMPT = 128 * 1024 - 1
# With these a prompt is a command for the client itself: /help, !ls, #remember, ?, &cloud.
COMMAND_SIGNS, FIRST_WORD = "/!#?&", "Read this: "
# The first prompt where no request is known.
GO_ON = "Continue the work of this earlier session."
MOST_HOURS = 12
# A time of day has no seconds: its vendor may mean the end of that minute.
ROUNDED, EXACT = clock.MINUTE, 1000
LOOK_EVERY = 5.0


def command_to_start(found: Resumption, transcript: str = "", *, accept_foreign: bool) -> str:
    """The command that starts a client with this text: the session's own client, else the first whose
    program is on the PATH; empty if there is none, or while the session is at work."""
    names = sorted(NAMES, key=lambda each: each != found["client"])
    client = next((name for name in names if find_program(CLIENTS[name].start[0])), "")
    if found["at_work"] or not client:
        return ""
    is_foreign = accept_foreign and found["verdict"] == "FOREIGN"
    return f"{command_to_resume(found['session'], transcript, is_foreign=is_foreign)} --in {client}"


def first_prompt(found: Resumption) -> str:
    """Return the first prompt of a handover: what is wanted, in one sentence, and the pack."""
    wanted = f"{HANDED_OVER}{found['request']}" if found["request"] else GO_ON
    return f"{wanted}\n\n{found['pack']}"


def hand_over(found: Resumption) -> None:
    """Tell the hooks of the client that this process becomes which session it was given: its start does not bring
    the pack a second time, nor that of another session."""
    if found["session"]:
        os.environ[HANDED_OVER_VARIABLE] = found["session"]


def command_for(client: ClientName, prompt: str) -> list[str]:
    """The command line that starts a client interactively, with `prompt` as its first request. Nothing in it
    is a command for the client itself."""
    # No argument can hold a null byte.
    prompt = prompt.replace("\0", "")
    if AT_SIGN in prompt:
        prompt = f"{defuse(prompt)}{ABOUT_SIGNS}"
    if prompt.lstrip()[:1] in COMMAND_SIGNS:
        prompt = f"{FIRST_WORD}{prompt.lstrip()}" if prompt.strip() else prompt
    if client not in CLIENTS:
        raise Usage(f"{client!r:.60} is no client; there are {', '.join(CLIENTS)}.")
    if not prompt.strip():
        raise Usage("There is nothing to start the client with: the prompt is empty.")
    *words, last = CLIENTS[client].start
    command = [*words, f"{last}{prompt}"]
    size = max(len(os.fsencode(word)) for word in command)
    if size > LONGEST_PROMPT:
        raise Usage(
            f"The prompt is {size:,} bytes long; a program takes at most {LONGEST_PROMPT:,}.",
            hint="Ask for a smaller one: --budget 50000",
        )
    return command


@dataclass(frozen=True, kw_only=True)
class ResetRequest:
    """Which client's limit, and how many hours it is waited for at most. `session` is an id, or the
    beginning of one; without it, the limit of that client in this worktree that is reset first."""

    client: str
    session: str = ""
    hours: int = MOST_HOURS


class ResumedAtReset(TypedDict):
    """The limit that was waited for, what to go on from, and the command that starts the client with it."""

    limited: LimitedSession
    found: Resumption
    command: list[str]


def wait_for_reset(
    workspace: Workspace, request: ResetRequest, tell: Callable[[str], None], *, now: int
) -> LimitedSession:
    """Return when the limit is reset. Before that a person confirms it; `tell` gets one line for them.

    A stop that is set meanwhile, and a session that continues meanwhile, end the wait with an error."""
    limited = _find(workspace, request, now)
    name = title_of(limited["client"])
    until = _until(limited)
    left = span(max(0, until - now))
    if until - now > request.hours * clock.HOUR:
        raise HoldfastError(
            f"The usage limit of {name} is reset in {left}; this waits at most {request.hours} h.",
            hint=f"Wait longer: --at-most {-(-(until - now) // clock.HOUR)}",
            kind="too_long",
        )
    when = local_time(limited["resets_at"])
    purpose = f"let {name} go on by itself at {when}"
    shown = [
        f"{name} {limited['session'][:8]}: {limited['says']}",
        f"It continues at {when}, in {left}, without asking again. Ctrl+C ends the wait.",
    ]
    # It loads the JSON module and more; every resume loads this module, and few wait.
    from holdfast.people import person

    person.require(workspace, purpose, shown, now=now)
    tell(f"Waiting for {when} (in {left}); then {name} continues. Ctrl+C ends the wait.")
    while clock.now() < until:
        refuse_stopped(workspace)
        time.sleep(min(LOOK_EVERY, max(0.01, (until - clock.now()) / 1000)))
        if not _is_there(workspace, limited):
            raise Conflict(
                f"Session {limited['session'][:8]} went on in the meantime; nothing was started.",
                hint="`holdfast status` says what is at work.",
            )
    refuse_stopped(workspace)
    return limited


def _find(workspace: Workspace, request: ResetRequest, now: int) -> LimitedSession:
    found = [
        one
        for one in list_limited(workspace, now)
        if one["client"] == request.client
        and one["root"] == workspace.root
        and one["session"].startswith(request.session)
    ]
    name = title_of(request.client)
    if not found:
        raise NotFound(
            f"No session of {name} is at a usage limit here.",
            hint=f"Without --at-reset it continues now: holdfast resume --in {quote(request.client)}",
        )
    if not found[0]["resets_at"]:
        raise HoldfastError(
            f"{name} gave no time at which the limit is reset: {found[0]['says']}",
            hint=f"Try it later without --at-reset: holdfast resume --in {quote(request.client)}",
            kind="no_reset",
        )
    return found[0]


def _until(limited: LimitedSession) -> int:
    instant = clock.parse(limited["resets_at"])
    return instant + (EXACT if instant % clock.MINUTE else ROUNDED)


def _is_there(workspace: Workspace, limited: LimitedSession) -> bool:
    return any(
        one["session"] == limited["session"] and one["at"] == limited["at"]
        for one in list_limited(workspace, clock.now())
    )
