"""What the client's transcript says of a session's work: read, kept, and recorded.

Reading is incremental where there is a workspace: the tally beside the journal remembers how far each
transcript was read. Without a workspace the transcript is read once, and nothing is written.
"""

from __future__ import annotations

import os

import apsw

from holdfast.clients import transcripts
from holdfast.clients.lines import Unread
from holdfast.clients.usage import amounts
from holdfast.clients.usage.reader import SEEN, key_of, refresh
from holdfast.clients.usage.tally_file import in_memory, open_tally
from holdfast.kernel import config
from holdfast.session import session_files, spending
from holdfast.session.observe import is_empty, observe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.usage.model import Source
    from holdfast.clients.usage.tally import Tally
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.observe import Observation
    from holdfast.session.rules.model import SessionState

    class Look(TypedDict):
        """What a look at a session's transcript gave. `context` is in percent, None: unknown."""

        client: str
        path: str
        seen: Observation
        context: float | None


def is_on(workspace: Workspace) -> bool:
    """Whether transcripts are read here at all."""
    journal = workspace.journal if workspace.exists() else None
    return bool(config.load(workspace, journal)["session.observe"])


def look(
    workspace: Workspace,
    session: str,
    *,
    transcript: str = "",
    state: SessionState | None = None,
    now: int,
) -> Look | None:
    """What is observed of a session by now; None where nothing can be read or nothing was done."""
    if not is_on(workspace):
        return None
    kept = session_files.read(workspace, session, session_files.TRANSCRIPT).get("path")
    observed = state.get("observed") if state else None
    for path in (transcript, kept, observed["path"] if observed else ""):
        if isinstance(path, str) and path and os.path.isfile(path) and not path.endswith(".db"):
            return look_at(workspace, spending.sources_at(path), now=now)
    return look_at(workspace, spending.sources_of(workspace, session), now=now)


def look_at(workspace: Workspace, sources: list[Source], *, now: int) -> Look | None:
    """The same for the files of a session, its own first."""
    if not sources:
        return None
    with open_tally(workspace.home) as tally:
        try:
            return _looked(tally, workspace, sources, now)
        except apsw.Error:
            with in_memory() as fresh:
                return _looked(fresh, workspace, sources, now)


def _looked(tally: Tally, workspace: Workspace, sources: list[Source], now: int) -> Look | None:
    refresh(tally, sources, now, spending.redaction_of(workspace), observe)
    key = key_of(sources[0])
    seen: Observation | None = tally.session(key).get(SEEN)
    if seen is None or is_empty(seen):
        return None
    tokens, window = amounts.context_of(tally, key)
    full = None if tokens is None or not window else 100 * tokens / window
    return {
        "client": sources[0]["client"],
        "path": sources[0]["path"],
        "seen": seen,
        "context": full,
    }


def read_once(found: FoundSession) -> Observation | None:
    """What a transcript says, read from its beginning; nothing is written anywhere."""
    try:
        seen = observe(None, transcripts.read_new(found)["events"])
    except Unread:
        return None
    return None if is_empty(seen) else seen


def record(
    workspace: Workspace, session: str, looked: Look, world: Any, *, actor: str, now: int
) -> None:
    """Make a record of what was observed, and of the work tree if `world` holds a look at it."""
    from holdfast.session.rules.session import stream_of
    from holdfast.streams import open_writer

    command = {
        "do": "observe",
        "client": looked["client"],
        "path": looked["path"],
        "seen": looked["seen"],
        "world": world,
    }
    open_writer(workspace).execute(stream_of(session), command, actor=actor, now=now)
