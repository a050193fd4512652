"""From the spool to the server: in the order in which it was written, and each record once.

The server chains the records anew, under the ids that they have: a delivery that was interrupted is
repeated, and what had landed is a no-op. One process of a machine delivers at a time.
"""

from __future__ import annotations

import os

from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import (
    Conflict,
    HoldfastError,
    ServerChanged,
    StoreAway,
    VersionConflict,
)
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.state import RESTORED
from holdfast.kernel.streams import FENCED
from holdfast.remote.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.journal.interface import Draft, Head, Journal, ViewRow
    from holdfast.kernel.workspace import Workspace
    from holdfast.remote.spool import Batch

LOCK_FILE = "delivery.lock"
# Seconds that a command waits for the forwarder to finish, before it goes on without.
PATIENCE_SECONDS = 5.0
# The errors of a store for what it can never keep, however often it is sent.
UNACCEPTABLE = "journal_error"
# How often one life's records are tried again after those of others.
TRIES = 8


def deliver_pending(workspace: Workspace, server: Journal) -> int:
    """Bring over what hooks left on this machine, for a command that is about to look at the server;
    how many records. Whatever is wrong with the file is the doctor's business, not this command's."""
    if not os.path.exists(workspace.journal_path) or not os.access(workspace.home, os.W_OK):
        return 0
    try:
        spool = Spool(workspace.spool_file())
        if not spool.waiting()["records"]:
            return 0
    except (HoldfastError, OSError):
        return 0
    try:
        return deliver(spool, server, workspace.home)
    except StoreAway:
        raise
    except HoldfastError:
        return 0  # such as a role that only reads: the forwarder names it to a person


def deliver(spool: Spool, server: Journal, home: str) -> int:
    """Deliver everything that waits; how many records, refused ones too. None of them when another
    process delivers all the while."""
    lock = WorkspaceLock(home, PATIENCE_SECONDS, file=LOCK_FILE)
    try:
        lock.acquire()
    except StoreAway:
        return 0
    try:
        count = 0
        while (batch := spool.next_batch()) is not None:
            _send(spool, server, batch)
            count += batch.last - batch.first + 1
        for stream, at, fence in spool.seen():
            _report_seen(spool, server, stream, at, fence)
        return count
    finally:
        lock.release()


def _send(spool: Spool, server: Journal, batch: Batch) -> None:
    missing = batch.drafts
    if missing and batch.stream.startswith(FENCED) and not batch.is_known:
        # Its fence is a number of this file's, which on the server may belong to another life.
        spool.refuse(
            batch, f"{batch.stream} began without the server, which does not know its life."
        )
        return
    for attempt in range(TRIES):
        if not missing:
            break
        head = server.head(batch.stream)
        missing = _drop_refused(server, head, batch, missing)
        if not missing:
            spool.settle(batch, refused_by=head)
            return
        drafts = [*_make_beginning(spool, batch), *missing] if head is None else missing
        times = {draft["at"] for draft in missing}
        append = Append(
            batch.stream, drafts, expected=head["version"] if head else 0, fence=batch.fence
        )
        try:
            (receipt,) = server.commit(
                [append],
                views=_shift_versions(batch, head),
                effects=[effect for effect in batch.effects if effect["queued_at"] in times],
            )
        except ServerChanged:
            raise  # it waits here until a person has looked
        except VersionConflict:
            if attempt == TRIES - 1:
                raise
            continue
        except Conflict:
            spool.settle(batch, refused_by=server.head(batch.stream))
            return
        except HoldfastError as error:
            if error.kind != UNACCEPTABLE:
                raise
            spool.refuse(batch, error.message)
            return
        # A first try that was interrupted may have had fewer of them.
        landed = {record["id"] for record in receipt["records"]}
        missing = [draft for draft in missing if draft["id"] not in landed]
    spool.settle(batch)


def _make_beginning(spool: Spool, batch: Batch) -> list[Draft]:
    """What a stream was before its first record that waits, for a server that never had it."""
    if batch.first == 1 or batch.fence is not None:
        return []
    loaded = spool.file.load(batch.stream)
    if loaded["snapshot"] is None or loaded["snapshot_version"] >= batch.first:
        return []
    first = batch.drafts[0]
    body = {"version": loaded["snapshot_version"], "state": loaded["snapshot"]}
    return [
        {
            "id": id_of(f"{first['id']}/beginning"),
            "kind": RESTORED,
            "body": body,
            "text": canonical_json.dumps(body),
            "at": first["at"],
            "actor": first["actor"],
        }
    ]


def _drop_refused(
    server: Journal, head: Head | None, batch: Batch, drafts: list[Draft]
) -> list[Draft]:
    """Without those that the server has kept already, from a try whose answer was lost; a hook may have
    added some since."""
    if batch.fence is None or (head is not None and head["fence"] == batch.fence):
        return drafts
    kept = {draft["id"] for refusal in server.refusals(batch.stream) for draft in refusal["drafts"]}
    return [draft for draft in drafts if draft["id"] not in kept]


def _shift_versions(batch: Batch, head: Head | None) -> Sequence[ViewRow]:
    """The files that this machine wrote, with the versions that the server will count."""
    by = (head["version"] if head else 0) - (batch.first - 1)
    if not by:
        return batch.views
    return [
        {
            **row,
            "placed_version": row["placed_version"] + by,
            "found_version": row["found_version"] + by,
        }
        for row in batch.views
    ]


def _report_seen(spool: Spool, server: Journal, stream: str, at: str, fence: int) -> None:
    """An agent was seen at work; of a life that is over, that says nothing."""
    head = server.head(stream)
    if head is not None and head["fence"] == fence:
        server.touch(stream, at)
    spool.settle_seen(stream, at)
