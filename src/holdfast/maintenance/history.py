"""Look back: records, the states between them, what changed, and the way back to an earlier state."""

from __future__ import annotations

import json
from contextlib import nullcontext
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypedDict, final

from holdfast import registry
from holdfast.journal import chain
from holdfast.journal.interface import ATTESTED, find_record
from holdfast.kernel.commit import REPAIR, Order, commit
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import RESTORED, at_version, attest, fold, is_complete, load, read_all
from holdfast.kernel.streams import DECIDED, is_known, open_writer, rules_of
from holdfast.maintenance.record_text import describe_all, hide_packed
from holdfast.people import person as people

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from holdfast.journal.chain import ChainReport
    from holdfast.journal.interface import Head, Journal, Record
    from holdfast.journal.mark import Marked
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.rules import Person
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer

    class RecordInWords(Record):
        """A record, and one line that says what it changed."""

        text: str


class HistoryRequest(TypedDict, total=False):
    """Which records. `stream` may end in `*`; `before` is a sequence number."""

    stream: str
    kind: str
    before: int | None
    limit: int


class Verification(TypedDict):
    """What was found in the journal. `lost` are records that were acknowledged and are gone."""

    ok: bool
    streams: list[ChainReport]
    damage: list[str]
    lost: list[Marked]


@final
class StreamShown(TypedDict):
    """The state of a stream."""

    stream: Head
    state: Any


@final
class RecordShown(TypedDict):
    """One record."""

    record: Record


@final
class SessionShown(TypedDict):
    """A session without a record, as its client's transcript tells of it."""

    session: str
    client: str
    transcript: str
    pack: str


class StateAfter(TypedDict):
    """The state of a stream after a record."""

    record: str
    at: str
    version: int
    state: Any


class StateDifference(TypedDict):
    """Two states of one stream."""

    stream: str
    before: StateAfter
    after: StateAfter


class RestoredState(TypedDict):
    """What a restore did, or would do. `present` and `wanted` are the two states as text; `again`
    are the files that were removed and are written again; `aside` is the copy of a file that
    could not be read. `changed` says whether the state had to change, too."""

    stream: str
    to: str
    version: int
    newest: str
    present: str
    wanted: str
    again: list[str]
    aside: str
    changed: bool
    outcome: Outcome | None


DEFAULT_LIMIT = 50
# The newest streams that are compared with an unknown name, and the most that are suggested.
COMPARED_STREAMS, SUGGESTED_STREAMS = 500, 3


def require_journal(workspace: Workspace) -> Journal:
    """Return the journal, for an operation that has nothing to do without one."""
    if not workspace.exists():
        raise NotFound(
            "Nothing was written yet.", hint='Begin with: holdfast note "what I found out"'
        )
    return workspace.journal


def read_journal(journal: Journal) -> Iterator[Record]:
    """Return all records of all streams, in the order in which they were written."""
    last = 0
    while batch := journal.since(last):
        yield from batch
        last = batch[-1]["seq"]


def history(workspace: Workspace, request: HistoryRequest) -> list[RecordInWords]:
    """What happened, newest first, each with what it says to a person."""
    limit = request.get("limit", DEFAULT_LIMIT)
    if limit < 1:
        raise Usage("--limit must be at least 1.")
    if not workspace.exists():
        return []
    journal = workspace.journal
    records = journal.latest(
        stream=_whole_name(journal, request.get("stream", "")),
        kind=request.get("kind", ""),
        before=request.get("before"),
        limit=limit,
    )
    texts = describe_all(journal, records)
    return [{**hide_packed(record), "text": texts[record["id"]]} for record in records]


def _whole_name(journal: Journal, stream: str) -> str:
    """The name of a session's stream by a unique beginning of it, as `status` prints it; any other as it is."""
    if (
        not stream.startswith("session:")
        or stream == "session:"
        or journal.head(stream) is not None
    ):
        return stream
    found = journal.heads(stream) if "*" not in stream else []
    return found[0]["stream"] if len(found) == 1 else stream


def find_missing_stream(workspace: Workspace, name: str) -> NotFound | None:
    """Why a history of this name is empty: no stream has it. None where one has."""
    journal = workspace.journal
    name = _whole_name(journal, name)
    if journal.heads(name[:-1]) if name.endswith("*") else journal.head(name) is not None:
        return None
    return _no_such_stream(journal, name)


def _no_such_stream(journal: Journal, name: str) -> NotFound:
    near = _suggest_streams(journal, name.rstrip("*"))
    return NotFound(
        f"There is no stream {name}.", hint=f"{near}`holdfast status` lists the latest streams."
    )


def _suggest_streams(journal: Journal, name: str) -> str:
    """`Did you mean note:default? ` for streams whose name, or a part of it, begins with a text or is
    like it; empty where there are none."""
    known: dict[str, str] = {}
    for stream in journal.newest("", limit=COMPARED_STREAMS):
        kind, _, rest = stream.partition(":")
        for part in (stream, rest, kind):
            known.setdefault(part, stream)
    near = [one for one in known if name and one.startswith(name)]
    near = near or get_close_matches(name, known, n=SUGGESTED_STREAMS)
    streams = list(dict.fromkeys(known[one] for one in near))[:SUGGESTED_STREAMS]
    return f"Did you mean {' or '.join(streams)}? " if streams else ""


def show(workspace: Workspace, what: str, *, now: int) -> StreamShown | RecordShown | SessionShown:
    """Return the state of a stream, by its name, or a record, by its id or a unique beginning of it. A session
    that has no record is shown as its client's transcript tells of it."""
    try:
        journal = require_journal(workspace)
        if ":" not in what:
            return {"record": hide_packed(_record_named(journal, what))}
        what = _whole_name(journal, what)
        head = journal.head(what)
        if head is None:
            raise _no_such_stream(journal, what)
    except NotFound:
        told = _told_by_transcript(workspace, what.removeprefix("session:"), now)
        if told is None:
            raise
        return told
    return {"stream": head, "state": state_now(journal, what)[0]}


def _record_named(journal: Journal, what: str) -> Record:
    """Return a record by its id; where there is none, the refusal names all that `show` takes."""
    try:
        return find_record(journal, what)
    except NotFound as error:
        if error.kind == "ambiguous":
            raise
        near = _suggest_streams(journal, what)
        raise NotFound(
            f"There is no record, stream or session {what}.",
            hint=f"{near}`holdfast history` lists the records, `holdfast status` the latest streams, "
            "`holdfast resume --list` the sessions.",
        ) from None


def _told_by_transcript(workspace: Workspace, session: str, now: int) -> SessionShown | None:
    """Return what is known of a session without any record of it; None where there is no such session."""
    if ":" in session or not session:
        return None
    # `holdfast verify` loads this module, and needs none of that.
    from holdfast.session.resume import resume

    try:
        found = resume(workspace, {"session": session}, now=now)
    except NotFound:
        for find_elsewhere in registry.offers("session_elsewhere"):
            told: SessionShown | None = find_elsewhere(workspace, session, now=now)
            if told is not None:
                return told
        return None
    return {
        "session": found["session"],
        "client": found["client"],
        "transcript": found["transcript"],
        "pack": found["pack"],
    }


def diff(workspace: Workspace, one: str, other: str = "") -> StateDifference:
    """Return two states of one stream: after a record, and after another one or the newest."""
    journal = require_journal(workspace)
    first = find_record(journal, one)
    second = (
        find_record(journal, other) if other else journal.latest(stream=first["stream"], limit=1)[0]
    )
    if second["stream"] != first["stream"]:
        raise Usage(
            f"{one} is of {first['stream']}, {other} of {second['stream']}: "
            "states of different streams cannot be compared.",
            hint="Name two records of one stream.",
        )
    return {
        "stream": first["stream"],
        "before": _after(journal, first),
        "after": _after(journal, second),
    }


def restore(
    workspace: Workspace, id: str, *, actor: str, now: int, dry_run: bool = False
) -> RestoredState:
    """Bring a stream, and its files, back to what they were after a record."""
    journal = require_journal(workspace)
    record = find_record(journal, id)
    stream, version = record["stream"], record["version"]
    present, newest_version = state_now(journal, stream)
    wanted = state_at(journal, stream, version)
    here = journal.views(worktree=workspace.root, stream=stream)
    done: RestoredState = {
        "stream": stream,
        "to": record["id"],
        "version": version,
        "newest": journal.latest(stream=stream, limit=1)[0]["id"],
        "present": picture(stream, present),
        "wanted": picture(stream, wanted),
        "again": [row["path"] for row in here if row["removed"]],
        "aside": "",
        "changed": False,
        "outcome": None,
    }
    done["changed"] = done["present"] != done["wanted"] or version != newest_version
    if dry_run:
        return done
    if done["changed"]:
        require_person(workspace, f"restore {stream}", [stream], now=now)
    writer = open_writer(workspace)
    with _prepare(workspace, writer, stream, actor=actor, now=now) as aside:
        decision = REPAIR
        if done["changed"]:
            decision = Decision([(RESTORED, {"version": version, "state": wanted})])
        order = Order(stream, decision, raise_removed=True)
        by = actor if done["changed"] else "holdfast"
        (outcome,) = commit(writer, [order], actor=by, now=now)
    return {**done, "aside": aside, "outcome": outcome}


def _prepare(
    workspace: Workspace, writer: Writer, stream: str, *, actor: str, now: int
) -> AbstractContextManager[str]:
    """Return what the stream's feature does around a restore."""
    feature = registry.feature_of(stream)
    if feature is None or not feature.restore:
        return nullcontext("")
    prepared: AbstractContextManager[str] = registry.load(feature.restore)(
        workspace, writer, stream, actor=actor, now=now
    )
    return prepared


def picture(stream: str, state: Any) -> str:
    """Return a state as text: its files, or its data if it has none."""
    views = rules_of(stream).render(state)
    if not views:
        return json.dumps(state, ensure_ascii=False, indent=2, sort_keys=True)
    return "\n".join(f"{path}\n\n{text}" for path, text in sorted(views.items()))


def state_at(journal: Journal, stream: str, version: int) -> Any:
    return at_version(journal, rules_of(stream), stream, version)


def state_now(journal: Journal, stream: str) -> tuple[Any, int]:
    state, head = load(journal, rules_of(stream), stream)
    return state, head["version"] if head else 0


def change_of(journal: Journal, record: Record) -> tuple[str, str]:
    """Return the state before and after a record, as text."""
    stream, version = record["stream"], record["version"]
    before = picture(stream, state_at(journal, stream, version - 1)) if version > 1 else ""
    return before, picture(stream, state_at(journal, stream, version))


def verify(journal: Journal, progress: Callable[[int, int], None]) -> Verification:
    """Check every hash chain, the file, and the snapshots of what people decided."""
    findings: list[ChainReport] = []
    count = len(journal.anchors())
    for finding in chain.verify(journal):
        findings.append(finding)
        progress(len(findings), max(count, len(findings)))
    damage = journal.damage()
    for stream in find_false_snapshots(journal):
        damage.append(f"the snapshot of {stream} does not follow from its records")
    lost = journal.lost()
    ok = not damage and not lost and not any(finding["broken"] for finding in findings)
    return {"ok": ok, "streams": findings, "damage": damage, "lost": lost}


def find_false_snapshots(journal: Journal) -> list[str]:
    """Return the streams of what people decided whose snapshot does not follow from their records."""
    found = []
    for name in find_decisions(filter(is_known, (head["stream"] for head in journal.heads()))):
        loaded, subject = journal.load(name), rules_of(name)
        version, head = loaded["snapshot_version"], loaded["head"]
        if loaded["snapshot"] is None or head is None:
            continue
        records = list(read_all(journal, name, min(version, head["version"])))
        last = records[-1] if records and records[-1]["version"] == version else None
        if not 0 < version <= head["version"]:
            found.append(name)
        elif is_complete(records, version):
            if fold(subject, subject.initial(name), records) != loaded["snapshot"]:
                found.append(name)
        elif last is not None and last["kind"] == ATTESTED and not last["erased"]:
            found += [name] if last["body"] != attest(loaded["snapshot"]) else []
    return found


def _after(journal: Journal, record: Record) -> StateAfter:
    return {
        "record": record["id"],
        "at": record["at"],
        "version": record["version"],
        "state": state_at(journal, record["stream"], record["version"]),
    }


def find_decisions(streams: Iterable[str]) -> list[str]:
    """Return those of the streams that hold what people decided; one of an unknown kind may."""
    return sorted(one for one in streams if one.startswith(DECIDED) or not is_known(one))


def require_person(
    workspace: Workspace,
    purpose: str,
    streams: Iterable[str],
    *,
    now: int,
    person: Person | None = None,
) -> Person | None:
    """Return the person who is needed where these streams hold what people decided; None where none do.
    NotAllowed when no person is there, and the attempt is recorded. Without a `person`, the one at
    the terminal of this process is asked."""
    found = find_decisions(streams)
    if not found:
        return None
    shown = [f"This changes what people decided: {', '.join(found[:5])}"]
    return people.require(workspace, purpose, shown, now=now, person=person)
