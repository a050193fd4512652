"""What was stored under older rules of redaction: find what the rules of today would take out, and take it out.

A record keeps its place in the chain and loses its body; the state of its stream is recorded again without
the secret, as after a purge. Holdfast's files keep the rest of their text. Snapshots, quarantined copies and
pictures hold what the user's own files hold: they are not redacted when they are made, nor here.
"""

from __future__ import annotations

import os
from typing import Any, TypedDict

from holdfast.clients.usage import tally as usage
from holdfast.kernel import canonical_json, config
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import NotAllowed, StoreAway
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.redact import Redactor
from holdfast.kernel.redact_rules import RULES_VERSION
from holdfast.kernel.state import load
from holdfast.kernel.streams import is_known, list_exact, open_writer, rules_of
from holdfast.kernel.workspace import Workspace
from holdfast.maintenance import purge
from holdfast.maintenance.history import find_decisions, read_journal, require_person
from holdfast.session import observation


class Stored(TypedDict):
    """What holds something that the rules of today take out; `rules` counts what each would take."""

    records: list[str]
    streams: list[str]
    files: list[str]
    sessions: int
    rules: dict[str, int]


# Under this key the journal's meta names the rules under which everything in it was redacted.
KEY = "redaction.rules"
PURPOSE = "redact what people decided"
LARGEST_FILE = 1 << 23


def is_current(workspace: Workspace) -> bool:
    """Return whether all that is stored was redacted with the rules of today."""
    return workspace.journal.get(KEY) == _name_rules(workspace)


def accept(workspace: Workspace) -> None:
    """Record that all that is stored was redacted with the rules of today."""
    workspace.journal.put(KEY, _name_rules(workspace))


def find(workspace: Workspace) -> Stored:
    """Find the records, states and files that hold what the rules of today take out."""
    redactor = open_writer(workspace).redactor
    redactor.counts.clear()
    exact = tuple(list_exact(workspace.journal))
    records = [
        record
        for record in read_journal(workspace.journal)
        if not record["stream"].startswith(exact)
        and record["body"] is not None
        and _redact(redactor, record["body"]) is not record["body"]
    ]
    streams = {record["stream"] for record in records}
    for head in workspace.journal.heads():
        state = workspace.journal.load(head["stream"])["snapshot"]
        if state is not None and _redact(redactor, state) is not state:
            streams.add(head["stream"])
    files = [path for path in _list_files(workspace) if _redact_file(redactor, path) is not None]
    return {
        "records": [record["id"] for record in records],
        "streams": sorted(streams),
        "files": files,
        "sessions": _redact_tally(workspace, redactor, change=False),
        "rules": dict(redactor.counts),
    }


def redact(workspace: Workspace, found: Stored, *, now: int) -> list[str]:
    """Redact what `find` found. Return the streams that only a person may change and that stay."""
    streams = [stream for stream in found["streams"] if is_known(stream)]
    refused = [stream for stream in found["streams"] if stream not in streams]
    try:
        require_person(workspace, PURPOSE, streams, now=now)
    except NotAllowed:
        refused += find_decisions(streams)
        streams = [stream for stream in streams if stream not in refused]
    journal, writer = workspace.journal, open_writer(workspace)
    for stream in streams:
        state, _ = load(journal, rules_of(stream), stream)
        clean = _redact(writer.redactor, state)
        ids = [
            id
            for id in found["records"]
            if (record := journal.find(id)[0])["stream"] == stream and record["body"] is not None
        ]
        purge.record_state(workspace, stream, clean, len(ids), actor="holdfast", now=now)
        with workspace.lock():
            purge.erase_bodies(journal, ids, {stream: clean})
    for place in purge.list_places(workspace):
        purge.show_again(place, streams, "", now)
    with workspace.lock():
        for path in _list_files(workspace):
            content = _redact_file(writer.redactor, path)
            if content is not None:
                write_synced(path, content, os.stat(path).st_mode & 0o777)
        _redact_tally(workspace, writer.redactor, change=True)
        journal.compact(always=True)
    if not refused:
        accept(workspace)
    return refused


def _name_rules(workspace: Workspace) -> str:
    own = canonical_json.dumps(dict(config.settings_of(workspace)["redact.rules"]))
    return f"{RULES_VERSION}:{id_of(own)[:16]}"


def _redact(redactor: Redactor, value: Any) -> Any:
    return redactor.value(value, canonical_json.dumps(value))


def _redact_tally(workspace: Workspace, redactor: Redactor, *, change: bool) -> int:
    """Redact what the tally keeps of transcripts. Return in how many places; without `change`, only count."""
    if not os.path.exists(os.path.join(workspace.home, usage.FILE)):
        return 0

    def without_names(seen: Any) -> Any:
        secrets = redactor.list_secrets(seen)
        clean = _redact(redactor, seen)
        for secret in secrets:
            observation.drop_parts(clean, secret)
        return clean

    with usage.open_tally(workspace.home) as tally:
        if not tally.begin():
            raise StoreAway("usage.db cannot be written to now.", hint="Try again.")
        try:
            changed = tally.rewrite("observed", "seen", without_names)
            for table, column in (("session", "data"), ("source", "state")):
                changed += tally.rewrite(table, column, lambda value: _redact(redactor, value))
            errors: list[Any] = tally.connection.execute(
                "SELECT DISTINCT said FROM error"
            ).fetchall()
            for (said,) in errors:
                if redactor.text(said) != said:
                    changed += tally.scrub_errors(said, redactor.text(said))
        finally:
            tally.end(keep=change)
        if changed and change:
            tally.compact()
    return changed


def _list_files(workspace: Workspace) -> list[str]:
    return [
        path
        for path in purge.list_our_files(workspace)
        if not path.startswith(workspace.quarantine)
        and not os.path.basename(os.path.dirname(path)).startswith("index-")
    ]


def _redact_file(redactor: Redactor, path: str) -> bytes | None:
    """Return the content of a file without secrets, or nothing where it holds none."""
    try:
        text = read_plain(path, LARGEST_FILE).decode()
    except (OSError, ValueError):
        return None
    clean = redactor.text(text)
    if clean == text:
        return None
    lines = text.splitlines(keepends=True)
    try:  # JSON stays JSON
        values = [canonical_json.loads(line) for line in lines]
    except ValueError:
        try:
            value = canonical_json.loads(text)
        except ValueError:
            return clean.encode()
        return canonical_json.dumps(_redact(redactor, value)).encode() + b"\n"
    return b"".join(
        canonical_json.dumps(_redact(redactor, value)).encode() + b"\n" for value in values
    )
