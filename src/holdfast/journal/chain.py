"""The hash chain of a stream, and the walk that checks it."""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from holdfast.journal.interface import Anchored, Draft, Event, Journal
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
        yield finding


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
        body_is_there = item["salt"] is not None and item["body_text"] is not None
        if record["version"] != version:
            finding["broken"] = f"version {version} is missing"
        elif body_is_there and item["body_hash"] != digest(
            item["salt"] or b"", (item["body_text"] or "").encode()
        ):
            finding["broken"] = "its body was changed"
        elif item["hash"] != digest(
            previous,
            header_of(record, record["stream"], record["version"], record["fence"]),
            item["body_hash"],
        ):
            finding["broken"] = "its header was changed, or the record before it"
        if finding["broken"]:
            finding["record"] = record["id"]
            return finding
        previous, held = item["hash"], record["fence"] or held
    if version != ends["version"] or previous != ends["hash"]:
        finding["broken"] = f"the chain ends at version {version}, not {ends['version']}"
    elif fence and held and fence != held:
        finding["broken"] = f"its fence is {fence}, and its records say {held}"
    return finding
