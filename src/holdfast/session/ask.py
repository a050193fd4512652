"""Ask the one who knows: on a person's order, the client of a session that ended continues a copy of it for one turn,
without tools, and says what no transcript tells. The old session and the work tree stay as they are.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.clients.discovery import session_at
from holdfast.clients.fork import ForkingClient, ForkReply
from holdfast.clients.lines import Unread
from holdfast.clients.table import CLIENTS, capability, title_of
from holdfast.clients.usage.model import new_message
from holdfast.kernel import clock, config
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.redact import Redactor
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quoted
from holdfast.people import person
from holdfast.processes.identity import exists
from holdfast.processes.programs import Programs, end_leftovers
from holdfast.session import observation, session_files, sessions
from holdfast.session.rules.session import stream_of
from holdfast.usage.spending import note_turn
from holdfast.usage.usage_limits import list_limited

if TYPE_CHECKING:
    from holdfast.clients.table import ClientName
    from holdfast.kernel.workspace import Workspace
    from holdfast.processes.supervisor import Ended
    from holdfast.session.resume import Resumption

QUESTIONS = """\
This is the last question to this session: another one continues its work, and knows only what you write now. Use no \
tool. Answer in at most 2,000 characters of plain text, in the language of the person, under these four headings, one \
point a line:
Findings: what you found out, each with the reason to believe it (file and line, error, measurement)
Dead ends: what was tried and given up, and why
Wanted: what the person wants by now, with the rules that hold, in their words
Not done: what is left, the next step first
Leave out what you do not know; say so where you are not sure."""
FOLDER = "asks"
# A copy that is older than this was left by a process that was killed, whatever has its number now.
LEFT_AFTER = 3600.0
LARGEST_OUTPUT, LARGEST_ERRORS, LONGEST_WHY = 4 << 20, 64 << 10, 200
# The keeper takes what is printed here; the answer goes into a file of the copy's folder.
INTO_FILES = 'out=$1; shift; exec "$@" >"$out" 2>"$out.errors"'


@dataclass(frozen=True, kw_only=True)
class AskRequest:
    """The session that was found to be continued: its id, its client and its transcript."""

    session: str
    client: str
    transcript: str
    at_work: bool = False


class Asked(TypedDict):
    """What became of the question. `why` says why there is no `answer`. `cost` is None where it is not known, and
    where nothing was spent."""

    answer: str
    why: str
    cost: float | None
    tokens: dict[str, int]
    seconds: float


def request_for(found: Resumption) -> AskRequest:
    """The question to the session that a pack is about."""
    return AskRequest(
        session=found["session"],
        client=found["client"],
        transcript=found["transcript"],
        at_work=found["at_work"],
    )


def ask_session(workspace: Workspace, request: AskRequest, *, now: int) -> Asked:
    """Ask, and record the answer as stated by that session.

    Raises:
        NotAllowed: an agent orders it, or no person sits at a terminal.
        Stopped: a stop holds, or is set meanwhile.
    """
    person.require_seat(workspace, "ask a session, which costs money", now=now)
    refuse_stopped(workspace)
    settings = config.settings_of(workspace)
    why = _why_not(workspace, request, now)
    if why:
        return _no_answer(why)
    began = time.monotonic()
    try:
        reply = _run_fork(workspace, request, settings)
    except (OSError, Unread) as error:
        return _no_answer(f"{title_of(request.client)} cannot continue a copy: {error}.")
    cost = _count(workspace, request, reply, now) if reply.tokens else None
    asked: Asked = {
        "answer": Redactor(rules=settings["redact.rules"]).text(reply.text.strip()),
        "why": reply.why,
        "cost": cost,
        "tokens": reply.tokens or {},
        "seconds": round(time.monotonic() - began, 1),
    }
    if asked["answer"]:
        path = request.transcript
        looked = observation.look(workspace, request.session, transcript=path, now=now)
        command = {
            "do": "answer",
            "text": asked["answer"],
            "by": request.client,
            "cost": cost,
            "calls": looked["seen"]["calls"] if looked else 0,
        }
        writer, stream = open_writer(workspace), stream_of(request.session)
        writer.execute(stream, command, actor=request.client, now=clock.now())
        asked["answer"] = sessions.read(workspace, request.session)["handover"]["text"]
    return asked


def _no_answer(why: str) -> Asked:
    return {"answer": "", "why": why, "cost": None, "tokens": {}, "seconds": 0.0}


def _why_not(workspace: Workspace, request: AskRequest, now: int) -> str:
    """Why the session cannot be asked at all; empty if it can."""
    if not request.client or not request.transcript:
        return "No transcript of a client is known of this session."
    title = title_of(request.client)
    if request.at_work:
        return f"This session of {title} is at work at this moment: ask it there."
    if capability(request.client, "fork") is None:
        return f"{title} cannot continue a copy of a session without changing the session."
    program = CLIENTS[request.client].start[0]
    if shutil.which(program) is None:
        return f"{program} is not installed, or not on the PATH."
    for one in list_limited(workspace, now):
        if one["client"] == request.client:
            return f"{title} is at a usage limit: {quoted(one['says'], LONGEST_WHY)}."
    return ""


def _run_fork(workspace: Workspace, request: AskRequest, settings: dict[str, Any]) -> ForkReply:
    """Start the client on a copy, and wait for its answer. What the copy needs is removed, also when this is interrupted."""
    parent = workspace.prepare_private(FOLDER)
    _remove_leftovers(parent)
    scratch = tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent)
    try:
        client: ForkingClient = capability(request.client, "fork")
        copy = os.path.join(scratch, "copy")
        os.mkdir(copy, 0o700)
        found = session_at(request.transcript)
        own = sessions.read_or_new(workspace, request.session).get("observed")
        session = (own.get("session") if own else "") or request.session
        if found is not None and not request.transcript.endswith(".db"):
            session = found["session"]
        if session.startswith("-"):
            raise Unread("its id is an option")
        turn = client.fork(session, request.transcript, QUESTIONS, copy)
        output = os.path.join(scratch, "output")
        folder = found["cwd"] if found is not None else ""
        seconds = float(settings["session.ask_seconds"])
        words = ["/bin/sh", "-c", INTO_FILES, "sh", output, *turn.words]
        ended = Programs(Redactor(rules=settings["redact.rules"])).follow(
            {
                "mark": os.path.basename(scratch),
                "stages": [{"name": "", "words": words, "input": ""}],
                "folder": folder if os.path.isdir(folder) else workspace.root,
                "environment": {**os.environ, **turn.environment, session_files.COPY_VARIABLE: "1"},
                "log": os.path.join(scratch, "log"),
                "own": scratch,
                "seconds": seconds,
            },
            lambda: refuse_stopped(workspace),
        )
        said = client.reply(_read(output, LARGEST_OUTPUT), request.transcript, copy)
        errors = _read(f"{output}.errors", LARGEST_ERRORS)
        return _explain(request.client, said, ended, errors, seconds)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_leftovers(parent: str) -> None:
    """End and remove what a process that was killed left of a copy."""
    for entry in os.scandir(parent):
        owner = entry.name.partition("-")[0]
        is_old = entry.stat().st_mtime < time.time() - LEFT_AFTER
        if is_old or not (owner.isdecimal() and exists(int(owner))):
            end_leftovers(entry.path)
            shutil.rmtree(entry.path, ignore_errors=True)


def _read(path: str, most: int) -> str:
    try:
        return read_plain(path, most).decode(errors="replace")
    except OSError:
        return ""


def _explain(
    client: ClientName | str, said: ForkReply, ended: Ended, errors: str, seconds: float
) -> ForkReply:
    """The reply with the reason, in one line, why it holds no answer."""
    title = title_of(client)
    if ended["too_long"]:
        return ForkReply(why=f"{title} gave no answer within {seconds:g} s.", tokens=said.tokens)
    if said.text.strip() and ended["code"] == 0:
        return said
    last = next((line for line in reversed(errors.splitlines()) if line.strip()), "")
    reason = Redactor().text(said.why or last or f"it ended with exit code {ended['code']}")
    why = f"{title} gave no answer: {quoted(reason, LONGEST_WHY)}."
    return ForkReply(why=why, tokens=said.tokens)


def _count(workspace: Workspace, request: AskRequest, reply: ForkReply, now: int) -> float | None:
    """Count the turn as one of the session's. Return what it cost."""
    assert reply.tokens is not None
    at = clock.precise(now)
    message = new_message(f"asked-{at}", at, reply.model)
    counted: Any = {**message, **reply.tokens, "counted": True}
    client: Any = request.client
    return note_turn(workspace, client, request.session, counted, now=now)
