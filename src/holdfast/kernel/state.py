"""The state of a stream: a fold over its records, begun at the newest snapshot."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from holdfast.journal.interface import Event, Head, Journal
    from holdfast.kernel.rules import Rules

RESTORED = "restored"
# Records about a stream, which its rules do not know. A purge says what the state is without the text
# that it erased; those of earlier versions do not.
PURGED, SALVAGED = "purged", "salvaged"
_WHOLE = (RESTORED, PURGED)
# Of a stream with more records, the snapshot is believed; `verify` compares it with them all the same.
MOST_PROVEN = 5000


def fold(subject: Rules, state: Any, events: Iterable[Event]) -> Any:
    """An erased record has nothing to say; one of a restore or a purge says everything."""
    for event in events:
        body, kind = event["body"], event["kind"]
        if body is None or kind == SALVAGED:
            continue
        state = body.get("state", state) if kind in _WHOLE else subject.apply(state, event)
    return state


def load(journal: Journal, subject: Rules, stream: str) -> tuple[Any, Head | None]:
    loaded = journal.load(stream)
    if loaded["snapshot"] is not None and getattr(subject, "PROVEN", False):
        proven = fold_proven(journal, subject, stream, loaded["head"])
        if proven is not None:
            return proven, loaded["head"]
    start = subject.initial(stream) if loaded["snapshot"] is None else loaded["snapshot"]
    return fold(subject, start, loaded["records"]), loaded["head"]


def fold_proven(journal: Journal, subject: Rules, stream: str, head: Head | None) -> Any | None:
    """The state that the records alone make; None where they are not all there, or are too many: on a
    machine that mirrors a server, after `gc`, and after a `purge` of an earlier version.

    Rules with `PROVEN` are of streams that say what people decided. A row of the table of snapshots
    is no record, so their state is never begun there."""
    if head is None or head["anchor_version"] > 0 or head["version"] > MOST_PROVEN:
        return None
    records = journal.read(stream)
    if len(records) < head["version"] or not has_everything(records):
        return None
    return fold(subject, subject.initial(stream), records)


def has_everything(records: Sequence[Event]) -> bool:
    """Whether these records say all there is: what a purge erased, its own record says without it."""
    erased = [at for at, one in enumerate(records) if one["body"] is None]
    whole = [
        at
        for at, one in enumerate(records)
        if one["kind"] in _WHOLE and one["body"] is not None and "state" in one["body"]
    ]
    return not erased or bool(whole and whole[-1] > erased[-1])


def load_all(journal: Journal, subject: Rules, prefix: str) -> list[tuple[Any, Head]]:
    """The states of all streams of a kind, or of a folder, by name."""
    found = []
    for loaded in journal.load_all(prefix):
        head = loaded["head"]
        if head is not None:
            stream, start = head["stream"], loaded["snapshot"]
            if start is not None and getattr(subject, "PROVEN", False):
                proven = fold_proven(journal, subject, stream, head)
                if proven is not None:
                    found.append((proven, head))
                    continue
            start = subject.initial(stream) if start is None else start
            found.append((fold(subject, start, loaded["records"]), head))
    return found


def at_version(journal: Journal, subject: Rules, stream: str, version: int) -> Any:
    """The state as it was after a version; refused when `gc` removed what it was made of."""
    loaded = journal.load(stream)
    if loaded["snapshot"] is not None and loaded["snapshot_version"] <= version:
        records = [record for record in loaded["records"] if record["version"] <= version]
        return fold(subject, loaded["snapshot"], records)
    head = loaded["head"]
    if head is not None and head["anchor_version"] > 0:
        raise HoldfastError(
            f"{stream} cannot be shown as of version {version}: records up to version "
            f"{head['anchor_version']} were removed by `gc`.",
            hint="A backup from that time still has them.",
            kind="collected",
        )
    records = journal.read(stream, limit=version)
    return fold(subject, subject.initial(stream), records)
