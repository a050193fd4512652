"""The hash chain of a stream, and the walk that checks it."""

from __future__ import annotations

import os

from holdfast.journal.interface import loaded_of, record_of
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, journal_damaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypedDict

    from holdfast.journal.interface import Anchored, Draft, Event, Head, Journal, Loaded, Sealed
    from holdfast.journal.mark import Marked

    class ChainReport(TypedDict):
        """What the walk over one stream found."""

        stream: str
        records: int
        erased: int
        removed: int
        broken: str
        record: str


ORIGIN = bytes(32)


def seal(
    previous: bytes, stream: str, version: int, fence: int | None, draft: Draft
) -> tuple[bytes, bytes, bytes]:
    """Salt, hash of the body, and hash of the record."""
    salt = os.urandom(16)
    body_hash = digest(salt, draft["text"].encode())
    header = header_of(draft, stream, version, fence)
    return salt, body_hash, digest(previous, header, body_hash)


def header_of(event: Event, stream: str, version: int, fence: int | None) -> bytes:
    return canonical_json.dumps(
        [event["id"], stream, version, event["at"], event["actor"], fence, event["kind"]]
    ).encode()


def seal_snapshot(stream: str, version: int, record_hash: bytes, text: str) -> bytes:
    """Return the digest that binds a state to its place in the chain."""
    header = canonical_json.dumps([stream, version, record_hash.hex()])
    return digest(header.encode(), text.encode())


def fits_seal(seal: bytes, stream: str, version: int, record_hash: bytes, text: str) -> bool:
    """Return whether a state is the one that was bound to its place in the chain."""
    try:
        return seal == seal_snapshot(stream, version, record_hash, text)
    except (AttributeError, TypeError, ValueError):  # a value of another type
        return False


def find_break(previous: bytes, stream: str, version: int, row: Sequence[Any]) -> str:
    """Return what is wrong with a row of the given version behind a record's hash; "" if nothing is.

    The row is the number, id, version, time, actor, fence, kind, body, hash, salt and hash of the body."""
    _, id, found, at, actor, fence, kind, body, record_hash, salt, body_hash = row
    if found != version:
        return f"version {version} is missing"
    try:
        if (salt is None) != (body is None):
            return "its body was changed"
        if body is not None and body_hash != digest(salt, body.encode()):
            return "its body was changed"
        header = canonical_json.dumps([id, stream, version, at, actor, fence, kind])
        is_whole = record_hash == digest(previous, header.encode(), body_hash)
    except (AttributeError, TypeError, ValueError):  # a value of another type
        is_whole = False
    return "" if is_whole else "its header was changed, or the record before it"


def refuse_breaks(
    stream: str, version: int, previous: bytes, rows: Iterable[Sequence[Any]]
) -> tuple[int, bytes]:
    """Refuse rows that do not continue the chain of a stream. Return where it ends."""
    for row in rows:
        version += 1
        broken = find_break(previous, stream, version, row)
        if broken:
            raise broken_at(stream, version, broken)
        previous = row[8]
    return version, previous


def broken_at(stream: str, version: int, broken: str) -> HoldfastError:
    return journal_damaged(f"{stream} is damaged at version {version}: {broken}.")


def refuse_strays(rows: Iterable[Sequence[Any]]) -> None:
    """Refuse records that are not the links of their chains that they say: the columns of a record, body, hash,
    salt, hash of the body, and the hash of the record before it."""
    for row in rows:
        stream, version, previous = row[2], row[3], row[12]
        if previous is None:
            raise broken_at(stream, version, f"version {version - 1} is missing")
        broken = find_break(previous, stream, version, (*row[:2], *row[3:12]))
        if broken:
            raise broken_at(stream, version, broken)


def loaded_from(
    head: Head,
    ends: tuple[bytes, bytes],
    snapshot: tuple[int, str | None, bytes | None, bytes | None],
    rows: Sequence[Sequence[Any]],
    *,
    is_rebuilt: bool = False,
) -> Loaded | None:
    """Return what a state is made of, checked against the chain; refuse what the chain does not cover.

    `ends` are the hashes at the stream's anchor and at its head. The snapshot is its version, its text, its digest,
    and the hash of the record of that version; `rows` are the records after it, as `find_break` takes them. Return
    None for a snapshot that is not the one that was stored: the store then gives all rows, and no snapshot."""
    stream, anchor, closed_at = head["stream"], head["anchor_version"], head["closed_at"]
    start, state, seal, known = snapshot
    if start:
        if start <= anchor:
            known = ends[0] if start == anchor else b""
        if state is None or seal is None or known is None:
            return None
        if not fits_seal(seal, stream, start, known, state):
            return None
    if anchor and state is None and closed_at is None:
        raise journal_damaged(
            f"{stream} is damaged: its snapshot was changed, and `gc` removed the records before it."
        )
    first, previous = (anchor, ends[0]) if start <= anchor else (start, known or b"")
    version, end = refuse_breaks(stream, first, previous, rows)
    if (version, end) != (head["version"], ends[1]):
        raise broken_at(
            stream, version, f"its chain ends there, and not at version {head['version']}"
        )
    return loaded_of(
        head,
        canonical_json.loads(state) if state is not None else None,
        start,
        [record_of((*row[:2], stream, *row[2:9])) for row in rows],
        is_rebuilt=is_rebuilt,
    )


def verify(journal: Journal) -> Iterator[ChainReport]:
    """One finding a stream; `broken` says what is wrong with the first record that is."""
    # Before the ends: what is acknowledged while we look is in neither.
    acknowledged = journal.acknowledged()
    fences = {head["stream"]: head["fence"] for head in journal.heads()}
    for ends in with_lost(journal.anchors(), acknowledged):
        finding = _walk(journal, ends, fences.get(ends["stream"], 0))
        if finding["broken"]:
            # Or did `gc` move the anchor under our feet? Then the ends are others by now.
            now = {end["stream"]: end for end in journal.anchors()}
            known = now.get(ends["stream"], ends)
            if known["anchor_version"] > ends["anchor_version"]:
                finding = _walk(journal, now[ends["stream"]])
        if not finding["broken"]:
            finding["broken"] = _find_snapshot_break(journal, ends["stream"])
        yield finding


def _find_snapshot_break(journal: Journal, stream: str) -> str:
    """Return what is wrong with the snapshot of a stream whose records are whole."""
    try:
        is_rebuilt = journal.load(stream)["is_rebuilt"]
    except HoldfastError as error:
        if error.kind != "journal_damaged":
            raise
        return error.message
    return "its snapshot was changed" if is_rebuilt else ""


def with_lost(anchors: list[Anchored], acknowledged: list[Marked]) -> list[Anchored]:
    """The ends of all chains, as far as their records were acknowledged: the store may have lost some."""
    ends = {end["stream"]: end for end in anchors}
    for marked in acknowledged:
        stream, version = marked["stream"], marked["version"]
        nothing: Anchored = {
            "stream": stream,
            "anchor_version": 0,
            "anchor_hash": ORIGIN,
            "version": 0,
            "hash": ORIGIN,
        }
        end = ends.get(stream, nothing)
        if version > end["version"]:
            ends[stream] = {**end, "version": version, "hash": bytes.fromhex(marked["hash"])}
    return [ends[stream] for stream in sorted(ends)]


def row_of(item: Sealed) -> Sequence[Any]:
    """Return a sealed record as `find_break` takes it."""
    record = item["record"]
    return (
        record["seq"],
        record["id"],
        record["version"],
        record["at"],
        record["actor"],
        record["fence"],
        record["kind"],
        item["body_text"],
        item["hash"],
        item["salt"],
        item["body_hash"],
    )


def _walk(journal: Journal, ends: Anchored, fence: int = 0) -> ChainReport:
    """`fence` is that of the stream's row, which is no part of the chain; 0 is not looked at."""
    finding: ChainReport = {
        "stream": ends["stream"],
        "records": 0,
        "erased": 0,
        "removed": ends["anchor_version"],
        "broken": "",
        "record": "",
    }
    previous, version = ends["anchor_hash"], ends["anchor_version"]
    held = 0
    for item in journal.sealed(ends["stream"]):
        record = item["record"]
        if record["version"] > ends["version"]:
            break  # came while we walk
        finding["records"] += 1
        finding["erased"] += record["erased"]
        version += 1
        finding["broken"] = find_break(previous, record["stream"], version, row_of(item))
        if finding["broken"]:
            finding["record"] = record["id"]
            return finding
        previous, held = item["hash"], record["fence"] or held
    if version != ends["version"] or previous != ends["hash"]:
        finding["broken"] = f"the chain ends at version {version}, not {ends['version']}"
    elif fence and held and fence != held:
        finding["broken"] = f"its fence is {fence}, and its records say {held}"
    return finding
