"""What a session has spent: which session this is, and what its client wrote down of it.

Unknown is None and never 0.
"""

from __future__ import annotations

from itertools import pairwise

import apsw

from holdfast.clients.claude import sessions as claude
from holdfast.clients.conversation import request_under_way
from holdfast.clients.discovery import files_of, finder_of, newest_files
from holdfast.clients.lines import Unread
from holdfast.clients.table import capability, clients_at_home, own_id, owner_of
from holdfast.clients.usage import amounts, prices
from holdfast.clients.usage.model import Found
from holdfast.clients.usage.reader import key_of, refresh, take
from holdfast.clients.usage.tally import in_memory, open_tally
from holdfast.kernel import clock, config
from holdfast.kernel.errors import Usage
from holdfast.kernel.plain_file import modified_at
from holdfast.session import sessions
from holdfast.session.rules.session import stream_of
from holdfast.usage import quotas

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypedDict, TypeVar

    from holdfast.clients.discovery import FoundSession
    from holdfast.clients.table import ClientName
    from holdfast.clients.usage.amounts import Cost, Stretch
    from holdfast.clients.usage.model import Message, Source
    from holdfast.clients.usage.tally import Tally
    from holdfast.kernel.workspace import Workspace

    class SourceSeen(Source):
        """One file that numbers came from. `problem` says why it could not be read this time."""

        problem: str

    class Spending(Cost):
        """Everything that is known of one session. No `sources`: no client's files were found."""

        client: str
        session: str
        tokens: dict[str, int]
        context_percent: float | None
        context_tokens: int | None
        context_window: int | None
        errors: int
        recent_errors: list[str]
        started_at: str
        sources: list[SourceSeen]

    class WorkDone(TypedDict):
        """Requests of a person, minutes at work, tokens with the cache's, the percentage of them that the
        largest subagent used, and of the client's fullest usage limit. None is unknown."""

        turns: int | None
        minutes: int | None
        tokens: int | None
        subagent: float | None
        quota: float | None

    class Account(TypedDict):
        """A session's spending with its parts. `elsewhere` is what the client paid for answers that
        stand in no transcript, such as a compaction's."""

        spent: Spending
        steps: list[Stretch]
        subagents: list[Stretch]
        elsewhere: float

    class SessionCosts(TypedDict):
        """What one session spent, message by message: when, and how much; None is unknown. `request`
        is the one under way, empty where transcripts are not read."""

        session: str
        client: str
        request: str
        spent: Spending
        messages: list[tuple[str, float | None]]

    # Read what is new in the files of a session; the problem of each file that could not be read.
    Refresh = Callable[[Sequence[Source]], dict[str, str]]
    # A moment, and the name of the step that began then.
    Mark = tuple[str, str]
    Marks = Callable[[Spending], Sequence[Mark]]
    T = TypeVar("T")

# A longer pause between two answers is no work of the agent's.
LONGEST_PAUSE = 5 * clock.MINUTE

RECENT_ERRORS = 10


def measure_session(workspace: Workspace, *, session: str = "", now: int) -> Spending:
    """What a session spent by now: the one that is named, the one we run in, or the newest here."""
    return account(workspace, session=session, now=now)["spent"]


def work_done(workspace: Workspace, *, session: str = "", now: int) -> WorkDone:
    """How much a session did by now, beside what it cost."""
    asked = session or own_id()
    sources = sources_of(workspace, asked)

    def read(tally: Tally, refresh_all: Refresh) -> WorkDone:
        refresh_all(sources)
        return _work(tally, sources, asked, now)

    return with_tally(workspace, now, read)


def _work(tally: Tally, sources: Sequence[Source], asked: str, now: int) -> WorkDone:
    keys = [key_of(sources[0])] if sources else tally.keys(asked)
    if not keys:
        return {"turns": None, "minutes": None, "tokens": None, "subagent": None, "quota": None}
    seen = tally.observed(keys[0])
    agents = amounts.by_agent(tally, keys[0])
    tokens = sum(agent["tokens"]["total"] for agent in agents)
    largest = max((agent["tokens"]["total"] for agent in agents if agent["name"]), default=0)
    return {
        "turns": seen["prompts"] if seen else None,
        "minutes": _minutes([at for at, _ in tally.costs(keys[0])]),
        "tokens": tokens,
        "subagent": 100 * largest / tokens if tokens else 0,
        "quota": _quota(tally, keys[0].partition(":")[0], now),
    }


def _quota(tally: Tally, client: str, now: int) -> float | None:
    """How much of a client's fullest limit is used. The limits are the account's, not the session's."""
    reading = quotas.newest_readings(tally).get(client)
    held = quotas.fullest(quotas.still_held(client, reading, now)) if reading else None
    if held is not None:
        return held["percent"]
    # All that was told was reset since: it has begun anew.
    return 0.0 if reading else None


def _minutes(times: Sequence[str]) -> int:
    """The time at work: a pause between two answers counts up to LONGEST_PAUSE."""
    instants = []
    for time in times:
        try:
            instants.append(clock.parse(time))
        except ValueError:
            continue
    instants.sort()
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    return sum(min(gap, LONGEST_PAUSE) for gap in gaps) // clock.MINUTE


def account(
    workspace: Workspace,
    *,
    session: str = "",
    transcript: str = "",
    marks: Marks | None = None,
    now: int,
) -> Account:
    """The same with its parts; `transcript` names the session by one of its files instead."""
    asked = session or ("" if transcript else own_id())
    sources = sources_at(transcript) if transcript else sources_of(workspace, asked)
    return with_tally(
        workspace,
        now,
        lambda tally, refresh_all: _account(tally, sources, asked, marks, refresh_all(sources)),
    )


def with_tally(
    workspace: Workspace, now: int, read: Callable[[Tally, Refresh], T], *, observes: bool = False
) -> T:
    """What `read` returns for the workspace's tally. `observes`: what sessions do, too, whatever the settings say."""
    clean = redaction_of(workspace)
    observes = observes or config.settings_of(workspace)["session.observe"]
    fold = fold_events if observes else None

    def read_with(tally: Tally) -> T:
        return read(tally, lambda sources: refresh(tally, sources, now, clean, fold))

    with open_tally(workspace.home) as tally:
        try:
            return read_with(tally)
        except apsw.Error:
            # A full disk, or a file that went bad: the transcripts themselves are there.
            with in_memory() as fresh:
                return read_with(fresh)


def _account(
    tally: Tally,
    sources: Sequence[Source],
    asked: str,
    marks: Marks | None,
    problems: dict[str, str],
) -> Account:
    keys = [key_of(sources[0])] if sources else tally.keys(asked)
    if not keys:
        return {"spent": _make_unknown(asked), "steps": [], "subagents": [], "elsewhere": 0.0}
    spent = _spending(tally, keys[0], sources, problems)
    agents = amounts.by_agent(tally, keys[0]) if marks else []
    listed = sum(agent["cost_at_least"] for agent in agents)
    return {
        "spent": spent,
        "steps": amounts.by_time(tally, keys[0], marks(spent)) if marks else [],
        "subagents": agents,
        "elsewhere": max(0.0, round(spent["cost_at_least"] - listed, 6)) if agents else 0.0,
    }


def costs_over_time(
    workspace: Workspace, sources_of_each: Sequence[Sequence[Source]], *, now: int
) -> list[SessionCosts]:
    """What these sessions spent, each with its messages. Each entry has the files of one session."""
    return with_tally(
        workspace,
        now,
        lambda tally, refresh_all: [
            _costs(tally, one, refresh_all(one)) for one in sources_of_each if one
        ],
    )


def _costs(tally: Tally, sources: Sequence[Source], problems: dict[str, str]) -> SessionCosts:
    key = key_of(sources[0])
    return {
        "session": sources[0]["session"],
        "client": sources[0]["client"],
        "request": _request_of(tally.observed(key) or {}),
        "spent": _spending(tally, key, sources, problems),
        "messages": tally.costs(key),
    }


def _request_of(seen: dict[str, Any]) -> str:
    """The request under way, as lists of sessions have it."""
    asked = [seen.get("first"), *seen.get("earlier", []), seen.get("request")]
    return request_under_way([one["text"] for one in asked if one])


# When an agent or a session went on to its next step


def steps_of_session(workspace: Workspace, session: str) -> list[Mark]:
    """After each checkpoint of a session: the task that it names as the current one."""
    marks: list[Mark] = []
    current, number = "", 0
    for record in _records(workspace, stream_of(session)):
        if record["kind"] == "captured":
            number += 1
            current = str(record["body"].get("set", {}).get("current", current))
            _begin_step(marks, record["at"], current or f"after checkpoint {number}")
    return marks


def steps_of_agent(workspace: Workspace, stream: str) -> dict[str, list[Mark]]:
    """The steps of an agent in each of its transcripts, the oldest life's first.

    An agent names its transcript when a life begins, or with a heartbeat later on.
    """
    lives: dict[str, list[Mark]] = {}
    transcript, step = "", ""
    for record in _records(workspace, stream):
        if record["kind"] in ("started", "resumed"):
            transcript = ""
        body = record["body"]
        transcript = str(_table_in(body, "life").get("transcript") or transcript)
        said = {**_table_in(body, "checkpoint"), **_table_in(body, "set")}
        step = str(said.get("current_step") or step)
        if transcript:
            _begin_step(lives.setdefault(transcript, []), record["at"], step)
    return lives


def _begin_step(marks: list[Mark], at: str, name: str) -> None:
    if not marks or marks[-1][1] != name:
        marks.append((at, name))


def _table_in(body: dict[str, Any], name: str) -> dict[str, Any]:
    part = body.get(name)
    return part if isinstance(part, dict) else {}


def _records(workspace: Workspace, stream: str) -> list[Any]:
    """What can still be read of a stream: not the records whose bodies were erased."""
    if not workspace.exists():
        return []
    return [each for each in workspace.journal.read(stream) if isinstance(each["body"], dict)]


# Which session


def sources_of(workspace: Workspace, session: str = "") -> list[Source]:
    """The files of a session, its own first; without a name, those that were written to last here."""
    if session:
        return files_of(session)
    known = sessions.unended(workspace)
    candidates = [files_of(known["session"])] if known else []
    candidates += [newest_files(workspace.root, client) for client in clients_at_home()]
    found = [(changed(sources[0]), sources) for sources in candidates if sources]
    return max(found, key=lambda each: each[0])[1] if found else []


def sources_of_found(found: FoundSession) -> list[Source]:
    """The files of a session that was found, its own first. Sessions of a database share one file."""
    finder = finder_of(found["client"])
    if capability(found["client"], "store") is not None:
        return finder.find(found["session"])
    return finder.of_path(found["path"])


def sources_at(path: str) -> list[Source]:
    """The files of the session that a transcript belongs to, its own first."""
    return finder_of(owner_of(path)).of_path(path)


def fold_events(seen: Any, events: Any) -> Any:
    """`session.observe`, loaded once there are new events: most looks at a transcript find none."""
    from holdfast.observe.fold import observe

    return observe(seen, events)


def changed(source: Source) -> int:
    """When a source was written to last, in milliseconds."""
    store = capability(source["client"], "store")
    try:
        return int(store.changed(source)) if store else modified_at(source["path"])
    except Unread:
        return 0


# How much


def _spending(
    tally: Tally, key: str, sources: Sequence[Source], problems: dict[str, str]
) -> Spending:
    client, _, session = key.partition(":")
    tokens, window = amounts.context_of(tally, key)
    full = None if tokens is None or window is None else round(100 * tokens / window, 2)
    return {
        **amounts.cost_of(tally, key),
        "client": client,
        "session": session,
        "tokens": amounts.tokens_of(tally, key),
        "context_percent": full,
        "context_tokens": tokens,
        "context_window": window,
        "errors": tally.errors(key),
        "recent_errors": tally.recent_errors(key, RECENT_ERRORS),
        "started_at": tally.session(key).get("started_at", ""),
        "sources": _list_sources(tally, key, sources, problems),
    }


def _list_sources(
    tally: Tally, key: str, sources: Sequence[Source], problems: dict[str, str]
) -> list[SourceSeen]:
    seen: list[SourceSeen] = [
        {**source, "problem": problems.get(source["path"], "")} for source in sources
    ]
    client, _, session = key.partition(":")
    listed = {source["path"] for source in sources}
    for path in tally.sources(key):
        if path not in listed:
            gone: Source = {"client": client, "session": session, "path": path, "agent": ""}
            seen.append({**gone, "problem": "is gone; what it said stays counted"})
    return seen


def _make_unknown(session: str) -> Spending:
    """No client's files were found: then nothing is known, not even that nothing was spent."""
    return {
        "cost": None,
        "cost_at_least": 0.0,
        "sure": "unknown",
        "why": "no client's files were found",
        "client": "",
        "session": session,
        "tokens": {},
        "context_percent": None,
        "context_tokens": None,
        "context_window": None,
        "errors": 0,
        "recent_errors": [],
        "started_at": "",
        "sources": [],
    }


def note_status_line(workspace: Workspace, payload: Any, *, now: int) -> str:
    """Keep what Claude Code gives its status line; the id of the session that it speaks of."""
    found = Found()
    session = ""
    if isinstance(payload, dict):
        session = claude.status_line(payload, clock.precise(now), found)
    if not session or "/" in session:
        raise Usage("This is not what Claude Code gives its status line: it names no session.")
    found.known = 1
    _take_in(workspace, "claude", session, found, now)
    return session


def note_turn(
    workspace: Workspace, client: ClientName, session: str, message: Message, *, now: int
) -> float | None:
    """Count a turn that stands in no transcript as one of the session's. Return what it cost; None is unknown."""
    found = Found()
    found.messages[message["id"]] = message
    _take_in(workspace, client, session, found, now)
    model, at = message["model"], message["at"]
    return prices.cost_of(model, message, at=at) if message["counted"] else None


def _take_in(
    workspace: Workspace, client: ClientName, session: str, found: Found, now: int
) -> None:
    source: Source = {"client": client, "session": session, "path": "", "agent": ""}
    with open_tally(workspace.home) as tally:
        tally.write(lambda: take(tally, source, found, now, redaction_of(workspace)))


def redaction_of(workspace: Workspace) -> Callable[[str], str]:
    """Redaction as the writer does it, made when there is something to redact."""
    made: list[Callable[[str], str]] = []

    def clean(said: str) -> str:
        if not said:
            return said
        if not made:
            from holdfast.kernel.redact import Redactor

            made.append(Redactor(rules=config.settings_of(workspace)["redact.rules"]).text)
        return made[0](said)

    return clean
