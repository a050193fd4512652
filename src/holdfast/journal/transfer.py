"""Copying a workspace from one journal to another, whatever keeps them, record by record.

Every record keeps its number, its place in its chain and its hash. A copy that was interrupted is
gone on with: what is there already is compared, not copied again, and in the end every record of the
source was compared with what the target gives back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from holdfast.journal import chain
from holdfast.journal.sqlite import SqliteJournal
from holdfast.journal.sqlite_mover import SqliteMover
from holdfast.kernel.errors import Conflict, HoldfastError

if TYPE_CHECKING:
    from holdfast.journal.interface import Anchored, Effect, Head, Journal, Refusal, Sealed, ViewRow

    Progress = Callable[[int], None]

    class Mover(Protocol):
        """What a store lets the mover do besides what every journal can."""

        def still(self, why: str, stays: bool) -> AbstractContextManager[None]:
            """No other process appends meanwhile, nor afterwards, unless the workspace stays."""

        def begin(self, why: str) -> None:
            """Be ready to receive; no other process appends until `finish`."""

        def add(self, ends: Anchored, head: Head, batch: list[Sealed]) -> None:
            """Records as they are, behind those that are there, in one transaction."""

        def complete(
            self,
            fence: int,
            refusals: list[Refusal],
            views: list[ViewRow],
            effects: list[Effect],
        ) -> None:
            """The newest fence, and what stands beside the streams."""

        def finish(self) -> None: ...
        def fence(self) -> int: ...


BATCH = 500
EVERYTHING = 1 << 30


def mover_of(journal: Journal) -> Mover:
    if isinstance(journal, SqliteJournal):
        return SqliteMover(journal)
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.journal.postgres.mover import PostgresMover

    assert isinstance(journal, PostgresJournal)
    return PostgresMover(journal)


def copy(
    source: Journal, target: Journal, progress: Progress, *, place: str = "", stays: bool = False
) -> int:
    """Copy everything; how many records the target now has, each compared with the source's.

    Unless the workspace `stays`, a source on a server takes no more records afterwards, and says
    that they are at `place` now.
    """
    receiver = mover_of(target)
    receiver.begin("it is being moved here")
    # While others go on writing; twice, because the second time what the first wrote is compared.
    seen = _copy_streams(source, target, {}, progress)
    seen = _copy_streams(source, target, seen, progress)
    with mover_of(source).still(f"it is being moved to {place or target.place}", stays):
        while True:
            now = _copy_streams(source, target, seen, progress)
            if now == seen:
                break
            seen = now
        _copy_side_rows(source, target, receiver)
        _check_chains(target)
    receiver.finish()
    return sum(ends["version"] - ends["anchor_version"] for ends in target.anchors())


def _copy_streams(
    source: Journal, target: Journal, seen: dict[str, Anchored], progress: Progress
) -> dict[str, Anchored]:
    """Streams that are not as they were when they were last found equal; those that are equal now."""
    equal: dict[str, Anchored] = {}
    there = {ends["stream"]: ends for ends in target.anchors()}
    heads = {head["stream"]: head for head in source.heads()}
    strangers = there.keys() - heads.keys()
    if strangers:
        raise _not_a_copy(target, sorted(strangers)[0], "is there alone")
    receiver = mover_of(target)
    for ends in source.anchors():
        stream = ends["stream"]
        if seen.get(stream) == ends:
            equal[stream] = ends
            continue
        copied = 0
        batch: list[Sealed] = []
        for item in _missing(source, target, ends, stream in there):
            batch.append(item)
            if len(batch) == BATCH:
                receiver.add(ends, heads[stream], batch)
                progress(len(batch))
                copied += len(batch)
                batch = []
        receiver.add(ends, heads[stream], batch)
        progress(len(batch))
        if not copied and not batch:
            equal[stream] = ends
    return equal


def _missing(source: Journal, target: Journal, ends: Anchored, is_there: bool) -> Iterator[Sealed]:
    """The records that the target lacks; those that it has are the same, or it is no copy."""
    stream = ends["stream"]
    theirs = target.sealed(stream) if is_there else iter(())
    other = next(theirs, None)
    erased: list[str] = []
    for item in source.sealed(stream):
        version = item["record"]["version"]
        if version > ends["version"]:
            break  # came while we copy; the next round takes it
        while other is not None and other["record"]["version"] < version:
            other = next(theirs, None)  # retention removed it in the source
        if other is None:
            yield item
            continue
        if other["hash"] != item["hash"]:
            raise _not_a_copy(target, stream, f"differs at version {version}")
        if item["record"]["erased"] and not other["record"]["erased"]:
            erased.append(item["record"]["id"])
        elif other != item:
            raise _not_a_copy(target, stream, f"was changed at version {version}")
        other = next(theirs, None)
    if other is not None and other["record"]["version"] > ends["version"]:
        raise _not_a_copy(target, stream, "continues there")
    if erased:
        target.erase(erased)


def _not_a_copy(target: Journal, stream: str, how: str) -> Conflict:
    return Conflict(
        f"{target.place} holds something of its own: {stream} {how}.",
        hint="Give the workspace another name there (journal.workspace), or another database.",
        kind="not_a_copy",
    )


def _copy_side_rows(source: Journal, target: Journal, receiver: Mover) -> None:
    for head in source.heads():
        loaded = source.load(head["stream"])
        if loaded["snapshot"] is not None:
            target.snapshot(head["stream"], loaded["snapshot_version"], loaded["snapshot"])
    receiver.complete(
        mover_of(source).fence(),
        source.refusals(),
        source.views(),
        source.effects(limit=EVERYTHING),
    )


def _check_chains(target: Journal) -> None:
    for finding in chain.verify(target):
        if finding["broken"]:
            raise HoldfastError(
                f"{finding['stream']} is broken at {finding['record'] or 'its end'}: "
                f"{finding['broken']}. It was broken before it was copied.",
                hint="`holdfast verify` shows it; bring back a copy first: holdfast backup --restore",
                kind="journal_damaged",
            )
