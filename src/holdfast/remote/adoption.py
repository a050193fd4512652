"""Bringing a stream's head from the server to this machine's file, where hooks read it."""

from __future__ import annotations

from holdfast.journal.interface import SNAPSHOT_FLOOR, weight_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import fold
from holdfast.remote.spool import Spool
from holdfast.streams import LIVES, MIRRORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.journal.interface import Head, ViewRow
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace


def keep_here(
    workspace: Workspace, stream: str, state: Any, outcome: Outcome, rows: Sequence[ViewRow]
) -> bool:
    """After a command wrote on the server what hooks here read. Where the file cannot be written the
    command is done all the same; the forwarder brings it later."""
    if not stream.startswith((*LIVES, *MIRRORED)) or not (outcome["records"] or rows):
        return False
    try:
        spool = Spool(workspace.spool_file())
        if spool.left_behind(stream):
            return True  # which is kept by the forwarder, before it makes room
        if not outcome["records"]:
            spool.adopt_views(rows)
            return True
        last = outcome["records"][-1]
        head: Head = {
            "stream": stream,
            "version": last["version"],
            "fence": outcome["fence"],
            "seen_at": last["at"],
            "closed_at": None,
            "anchor_version": 0,
        }
        return spool.adopt(head, bytes.fromhex(last["hash"]), state, rows, only_newer=True)
    except (HoldfastError, OSError):
        return False


def bring(spool: Spool, server: PostgresJournal, subject: Rules, stream: str) -> Any:
    """Adopt a stream as the server has it now; its state, or None when it has none."""
    from holdfast.journal.postgres.changes import tip

    loaded = server.load(stream)
    head = loaded["head"]
    if head is None:
        return None
    start = subject.initial(stream) if loaded["snapshot"] is None else loaded["snapshot"]
    state = fold(subject, start, loaded["records"])
    weight = sum(weight_of(str(record["body"])) for record in loaded["records"])
    if weight > SNAPSHOT_FLOOR and not server.read_only:
        # Delivered records come without a state, so no other step writes one.
        server.snapshot(stream, head["version"], state)
    version, record_hash = tip(server, stream)
    if version == head["version"]:
        spool.adopt(head, record_hash, state)
    return state
