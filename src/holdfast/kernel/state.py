"""The state of a stream: a fold over its records, begun at the newest snapshot."""

from __future__ import annotations

from holdfast.journal.interface import ATTESTED
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, journal_damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from holdfast.journal.interface import Event, Head, Journal, Loaded, Record
    from holdfast.kernel.rules import Rules

RESTORED = "restored"
# Records about a stream, which its rules do not know. A purge says what the state is without the text
# that it erased; those of earlier versions do not.
PURGED, SALVAGED = "purged", "salvaged"
_WHOLE = (RESTORED, PURGED)
_SILENT = (SALVAGED, ATTESTED)
# A stream of decisions gets a snapshot with its digest in the chain at every so many records.
ATTEST_EVERY = 64
# Records that a fold from the beginning reads at once.
BATCH = 1000


def fold(subject: Rules, state: Any, events: Iterable[Event]) -> Any:
    """An erased record has nothing to say; one of a restore or a purge says everything."""
    for event in events:
        body, kind = event["body"], event["kind"]
        if body is None or kind in _SILENT:
            continue
        state = body.get("state", state) if kind in _WHOLE else subject.apply(state, event)
    return state


def load(journal: Journal, subject: Rules, stream: str) -> tuple[Any, Head | None]:
    state, head, _ = load_folded(journal, subject, stream)
    return state, head


def load_folded(
    journal: Journal, subject: Rules, stream: str
) -> tuple[Any, Head | None, Sequence[Record]]:
    """The state of a stream, its head, and the records that were folded for it."""
    loaded = journal.load(stream)
    start, records = _begin(journal, subject, stream, loaded)
    return fold(subject, start, records), loaded["head"], records


def load_all(journal: Journal, subject: Rules, prefix: str) -> list[tuple[Any, Head]]:
    """The states of all streams of a kind, or of a folder, by name."""
    found = []
    for loaded in journal.load_all(prefix):
        head = loaded["head"]
        if head is not None:
            start, records = _begin(journal, subject, head["stream"], loaded)
            found.append((fold(subject, start, records), head))
    return found


def _begin(
    journal: Journal, subject: Rules, stream: str, loaded: Loaded
) -> tuple[Any, Sequence[Record]]:
    """The state to begin with, and the records to fold into it.

    Rules with `PROVEN` are of streams that say what people decided. A row of the table of snapshots
    is no record, so such a state begins at a snapshot only where the chain holds its digest.
    """
    head = loaded["head"]
    if loaded["is_rebuilt"] and not (head and is_complete(loaded["records"], head["version"])):
        raise journal_damaged(
            f"{stream} is damaged: its snapshot was changed, and its records do not say everything."
        )
    if loaded["snapshot"] is None:
        return subject.initial(stream), loaded["records"]
    if head is not None and is_proven(subject) and not _is_attested(journal, stream, loaded):
        records = list(read_all(journal, stream, head["version"]))
        if is_complete(records, head["version"]):
            return subject.initial(stream), records
    # Not all records are there: a copy of a server's stream, or `gc` and `purge` of earlier versions.
    return loaded["snapshot"], loaded["records"]


def is_proven(subject: Rules) -> bool:
    """Whether the state of such streams is believed only as far as it follows from records."""
    return getattr(subject, "PROVEN", False)


def attest(state: Any) -> dict[str, str]:
    """The body of a record that attests a state."""
    return {"digest": digest(canonical_json.dumps(state).encode()).hex()}


def is_attestation_due(version: int, added: int, folded: int) -> bool:
    """Whether a stream of decisions at `version` that grows by `added` gets a snapshot: at every 64th
    record, and where a load had to fold more than twice as many."""
    is_next = version // ATTEST_EVERY != (version + added) // ATTEST_EVERY
    return added > 0 and (is_next or folded >= 2 * ATTEST_EVERY)


def _is_attested(journal: Journal, stream: str, loaded: Loaded) -> bool:
    """Whether the record at the version of the snapshot holds its digest, or the state itself."""
    at = loaded["snapshot_version"]
    found = journal.read(stream, after=at - 1, limit=1)
    if not found or found[0]["version"] != at or found[0]["body"] is None:
        return False
    kind, body = found[0]["kind"], found[0]["body"]
    if kind == ATTESTED:
        return bool(body == attest(loaded["snapshot"]))
    return kind in _WHOLE and body.get("state") == loaded["snapshot"]


def read_all(journal: Journal, stream: str, until: int) -> Iterator[Record]:
    """The records of a stream up to a version, read in batches."""
    after = 0
    while after < until:
        batch = journal.read(stream, after=after, limit=min(BATCH, until - after))
        yield from (record for record in batch if record["version"] <= until)
        if len(batch) < min(BATCH, until - after):
            return
        after = batch[-1]["version"]


def is_complete(records: Sequence[Record], version: int) -> bool:
    """Whether these are all records up to a version, and say everything."""
    is_whole = bool(records) and records[0]["version"] == 1 and len(records) == version
    return is_whole and has_everything(records)


def has_everything(records: Sequence[Event]) -> bool:
    """Whether these records say all there is: what a purge erased, its own record says without it."""
    erased = [at for at, one in enumerate(records) if one["body"] is None]
    whole = [
        at
        for at, one in enumerate(records)
        if one["kind"] in _WHOLE and one["body"] is not None and "state" in one["body"]
    ]
    return not erased or bool(whole and whole[-1] > erased[-1])


def at_version(journal: Journal, subject: Rules, stream: str, version: int) -> Any:
    """The state as it was after a version; refused when `gc` removed what it was made of."""
    loaded = journal.load(stream)
    if loaded["snapshot"] is not None and loaded["snapshot_version"] <= version:
        start, records = _begin(journal, subject, stream, loaded)
        return fold(subject, start, [one for one in records if one["version"] <= version])
    head = loaded["head"]
    if head is not None and head["anchor_version"] > 0:
        raise HoldfastError(
            f"{stream} cannot be shown as of version {version}: records up to version "
            f"{head['anchor_version']} were removed by `gc`.",
            hint="A backup from that time still has them.",
            kind="collected",
        )
    return fold(subject, subject.initial(stream), read_all(journal, stream, version))
