"""What the client's transcript says of a session's work: read, kept, and recorded.

Reading is incremental where there is a workspace: the tally beside the journal remembers how far each
transcript was read. Without a workspace the transcript is read once, and nothing is written.
"""

from __future__ import annotations

import os

from holdfast.clients.discovery import is_of_project, source_of
from holdfast.clients.lines import Unread
from holdfast.clients.usage import amounts
from holdfast.clients.usage.reader import forget_observation, has_news, key_of
from holdfast.clients.usage.tally import open_tally
from holdfast.kernel.text import split_words
from holdfast.kernel.workspace import worktrees
from holdfast.observe.model import is_empty
from holdfast.session import session_files, sessions
from holdfast.session.rules.session import stream_of
from holdfast.usage import spending
from holdfast.usage.spending import fold_events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict

    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.usage.amounts import Cost
    from holdfast.clients.usage.model import Source
    from holdfast.clients.usage.tally import Tally
    from holdfast.kernel.workspace import Workspace
    from holdfast.observe.model import Observation
    from holdfast.session.rules.model import SessionState

    class Look(TypedDict):
        """What a look at a session's transcript gave. `context` is in percent, None: unknown;
        `context_at` is when the client last told it."""

        client: str
        path: str
        seen: Observation
        context: float | None
        context_at: str

    class Seen(TypedDict):
        """The parts of what is observed of a session that tell what it did, None where nothing is; and what it cost."""

        seen: Observation | None
        cost: Cost


# Parts of an observation whose keys are texts of the session, not names of fields.
TABLES = split_words("files glimpsed names commands habits agents pending open")

# What of an observation tells what a session did, and how it ended.
OUTCOME = split_words(
    "cwd started_at at calls edits prompts first earlier request asked tasks files failures commits said open green"
)


def look(
    workspace: Workspace,
    session: str,
    *,
    transcript: str = "",
    state: SessionState | None = None,
    now: int,
) -> Look | None:
    """What is observed of a session by now; None where nothing can be read or nothing was done."""
    if not sessions.reads_transcripts(workspace):
        return None
    kept = session_files.read(workspace, session, session_files.TRANSCRIPT).get("path")
    observed = state.get("observed") if state else None
    for path in (transcript, kept, observed["path"] if observed else ""):
        if not isinstance(path, str) or not os.path.isfile(path) or path.endswith(".db"):
            continue
        # An agent can name any file: another project's session is not brought into this journal.
        if is_of_project(path, worktrees(workspace)):
            return look_at(workspace, spending.sources_at(path), now=now)
    of = observed.get("session") if observed else ""
    return look_at(workspace, spending.sources_of(workspace, of or session), now=now)


def look_at(workspace: Workspace, sources: list[Source], *, now: int) -> Look | None:
    """The same for the files of a session, its own first."""

    def read(tally: Tally, refresh_all: spending.Refresh) -> Look | None:
        refresh_all(sources)
        return _read_tally(tally, sources[0])

    return spending.with_tally(workspace, now, read, observes=True) if sources else None


def _read_tally(tally: Tally, source: Source) -> Look | None:
    key = key_of(source)
    seen: Observation | None = tally.observed(key)
    if seen is None or is_empty(seen):
        return None
    tokens, window = amounts.context_of(tally, key)
    full = None if tokens is None or not window else 100 * tokens / window
    return {
        "client": source["client"],
        "path": source["path"],
        "seen": seen,
        "context": full,
        "context_at": str((tally.session(key).get("context") or {}).get("at") or ""),
    }


def look_at_each(
    workspace: Workspace, sessions_found: Sequence[FoundSession], *, now: int
) -> list[Seen]:
    """The same for several sessions. For one whose own file has nothing new, no subagents are looked for: they write
    while it does."""

    def read(tally: Tally, refresh_all: spending.Refresh) -> list[Seen]:
        own = [source_of(one["client"], one["session"], one["path"]) for one in sessions_found]
        keys = [key_of(source) for source in own]
        marks = tally.marks(keys)
        for one, source, key in zip(sessions_found, own, keys, strict=True):
            if has_news(source, marks.get((source["path"], key)), {}):
                refresh_all(spending.sources_of_found(one))
        parts, costs = tally.read_parts(keys, OUTCOME), amounts.costs_of(tally, keys)
        seen: list[Observation | None] = [parts.get(key) for key in keys]
        return [
            {"seen": one if one is not None and not is_empty(one) else None, "cost": costs[key]}
            for key, one in zip(keys, seen, strict=True)
        ]

    return spending.with_tally(workspace, now, read)


def read_once(found: FoundSession, rules: Mapping[str, str] | None = None) -> Observation | None:
    """What a transcript says, read from its beginning; nothing is written anywhere.

    What was read is redacted, with the user's own `rules` too, before anything is taken from it: a name
    taken from a secret is no longer known as one.
    """
    from holdfast.clients import transcripts
    from holdfast.clients.conversation import redact
    from holdfast.kernel.redact import Redactor

    try:
        events = transcripts.read_new(found)["events"]
    except Unread:
        return None
    redactor = Redactor(rules=rules)
    redact(events, redactor.text)
    seen: Observation = fold_events(None, events)
    return None if is_empty(seen) else seen


def record(
    workspace: Workspace,
    session: str,
    looked: Look,
    world: Any,
    *,
    of: str = "",
    actor: str,
    now: int,
) -> None:
    """Make a record of what was observed, and of the work tree if `world` holds a look at it. `of` is the
    client's session, where it is not the one that is recorded."""
    from holdfast.kernel.streams import open_writer

    command = {
        "do": "observe",
        "client": looked["client"],
        "path": looked["path"],
        "seen": looked["seen"],
        "world": world,
        "of": of,
    }
    open_writer(workspace).execute(stream_of(session), command, actor=actor, now=now)


# Erasing


def scrub(workspace: Workspace, texts: Sequence[str], mark: str) -> int:
    """Replace texts in everything that the tally keeps; in how many places they were."""

    def change(tally: Tally) -> int:
        changed = sum(tally.scrub_errors(text, mark) for text in texts)
        for table, column in (("session", "data"), ("source", "state")):
            changed += tally.rewrite(table, column, lambda value: _scrub_value(value, texts, mark))
        return changed + tally.rewrite("observed", "seen", without)

    def without(seen: Any) -> Any:
        seen = _scrub_value(seen, texts, mark)
        for text in texts:
            drop_parts(seen, text)
        return seen

    return _erase(workspace, change)


def drop_parts(seen: Any, text: str) -> None:
    """Take the names and the sentences that a text consists of out of an observation."""
    if seen is not None:
        from holdfast.observe import story
        from holdfast.observe.mentions import names_in

        story.drop(seen, text)
        for name in names_in(text):
            seen["names"].pop(name, None)


def forget(workspace: Workspace, session: str) -> int:
    """Drop what the tally keeps of a session's work; for how many sessions of that id."""

    def change(tally: Tally) -> int:
        keys = tally.keys(session)
        for key in keys:
            forget_observation(tally, key)
        return len(keys)

    return _erase(workspace, change)


def _erase(workspace: Workspace, change: Callable[[Tally], int]) -> int:
    with open_tally(workspace.home) as tally:
        changed = tally.write(lambda: change(tally))
        if changed:
            tally.compact()
    return changed


def _scrub_value(value: Any, texts: Sequence[str], mark: str, *, keyed: bool = False) -> Any:
    """A value with the mark in every place of the texts. The names of fields stay."""
    if isinstance(value, str):
        for text in texts:
            value = value.replace(text, mark)
        return value
    if isinstance(value, list):
        return [_scrub_value(item, texts, mark) for item in value]
    if isinstance(value, dict):
        return {
            _scrub_value(key, texts, mark) if keyed else key: _scrub_value(
                item, texts, mark, keyed=key in TABLES and not keyed
            )
            for key, item in value.items()
        }
    return value
