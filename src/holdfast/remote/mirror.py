"""What hooks read, brought from the server: stops, budgets, gates, and the lives of this machine.

Beside the heads stand small files that a hook tests without the journal: the latch, and the alerts
that hold a session's hands. They follow what the server says, except for what this machine decided
and the server has not heard of yet.
"""

from __future__ import annotations

from importlib import import_module

from holdfast import registry
from holdfast.journal.interface import SNAPSHOT_FLOOR, weight_of
from holdfast.kernel import clock, inbox
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import is_proven, load_folded
from holdfast.kernel.streams import LIVES, MIRRORED, rules_of
from holdfast.kernel.workspace import worktrees
from holdfast.remote.move import copy_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace
    from holdfast.remote.spool import Spool

# Gates that were closed longer ago are not asked for any more by a session that resumes.
PAST = 7 * clock.DAY


class Mirror:
    """This machine's picture of a server."""

    def __init__(self, workspace: Workspace, spool: Spool, server: PostgresJournal) -> None:
        self.workspace = workspace
        self.spool = spool
        self.server = server
        self._is_whole = False
        self._has_copy = False

    def follow(self) -> int:
        """Bring what is new; up to which record this machine now knows the server."""
        if self.spool.look_for_loss(self.server, clock.now()) is not None:
            self._is_whole = False
        heard = self.spool.heard()
        until = self.server.last_number()
        lives = self._lives()
        if self._is_whole and heard["seq"] <= until:
            found = self.server.changed(heard["seq"], until)
            streams = [name for name in found if name in lives or name.startswith(MIRRORED)]
        else:
            streams = list(self._list_stale(lives))
        for stream in streams:
            self._bring(stream)
        self._is_whole = True
        id = self.server.id_at(until) if until else ""
        self.spool.hear(self.server, until, clock.now(), id)
        return until

    def _list_stale(self, lives: set[str]) -> Iterable[str]:
        """The streams whose copy here may differ from the server's: all of them, since this machine did not follow it."""
        long_ago = clock.precise(clock.now() - PAST)
        for prefix in MIRRORED:
            for head in self.server.heads(prefix):
                is_over = head["closed_at"] is not None and head["seen_at"] < long_ago
                # Where a follower writes files, they may have been left behind.
                has_files = bool(_follower_of(prefix))
                if has_files or not (is_over or self.spool.is_current(head)):
                    yield head["stream"]
        for stream in sorted(lives):
            there = self.server.head(stream)
            if there is not None and not self.spool.is_current(there):
                yield stream

    def _lives(self) -> set[str]:
        """The lives of this machine: those that it wrote, and the agents that began here."""
        known = (head["stream"] for prefix in LIVES for head in self.spool.file.heads(prefix))
        begun = (
            import_module(kind.found_by).streams_begun_here(self.workspace)
            for kind in registry.kinds()
            if kind.found_by
        )
        return set(known).union(*begun)

    def _bring(self, stream: str) -> None:
        try:
            subject = rules_of(stream)
        except HoldfastError:
            return  # a newer holdfast's
        if not self._has_copy and self.spool.left_behind(stream):
            # What was written without the server makes room for what the server says.
            copy_aside(self.workspace, self.spool.file, clock.now())
            self._has_copy = True
        state = _adopt(self.spool, self.server, subject, stream)
        if state is None or self._is_waiting(stream):
            return
        follower = _follower_of(stream)
        if follower:
            import_module(follower).follow(self.workspace, state, self.server)

    def _is_waiting(self, stream: str) -> bool:
        """Whether this machine has a word on it that the server has not heard yet."""
        for root in worktrees(self.workspace):
            for path in inbox.list_waiting(root):
                queued = inbox.read(path, root)
                if queued is not None and queued["stream"] == stream:
                    return True
        return False


def _adopt(spool: Spool, server: PostgresJournal, subject: Rules, stream: str) -> Any:
    """Adopt a stream as the server has it now; its state, or None when it has none or when this machine has
    written something newer meanwhile."""
    known = spool.file.head(stream)
    state, head, records = load_folded(server, subject, stream)
    if head is None:
        return None
    weight = sum(weight_of(str(record["body"])) for record in records)
    if weight > SNAPSHOT_FLOOR and not is_proven(subject) and not server.read_only:
        # Delivered records come without a state, so no other step writes one.
        server.snapshot(stream, head["version"], state)
    version, record_hash = server.end_of(stream)
    if version == head["version"]:
        # What was longer here before the server was asked has lost records there. What is longer only now
        # was brought by a command that was faster.
        has_lost = known is not None and known["version"] > head["version"]
        if not spool.adopt(head, record_hash, state, only_newer=not has_lost):
            return None
    return state


def _follower_of(stream: str) -> str:
    """Return the module that keeps this machine's files in line with a stream; empty if there is none."""
    kind = registry.kind_of(stream)
    return kind.follower if kind is not None else ""
