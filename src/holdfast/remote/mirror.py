"""What hooks read, brought from the server: stops, budgets, gates, and the lives of this machine.

Beside the heads stand small files that a hook tests without the journal: the latch, and the alerts
that hold a session's hands. They follow what the server says, except for what this machine decided
and the server has not heard of yet.
"""

from __future__ import annotations

import os

from holdfast.budgets import alerts
from holdfast.budgets import stop as holding
from holdfast.budgets.rules import budget
from holdfast.estop.rules import stop
from holdfast.estop.stop import BUDGET
from holdfast.fleet import current_life
from holdfast.journal import upkeep
from holdfast.journal.interface import LIVES, MIRRORED
from holdfast.journal.postgres.changes import changed, newest
from holdfast.kernel import canonical_json, clock, inbox, latch
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import TOOL_FOLDER, worktrees
from holdfast.remote.adoption import bring
from holdfast.streams import subject_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.estop.rules.stop import StopState
    from holdfast.journal.postgres.journal import PostgresJournal
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
        heard = self.spool.heard()
        until = newest(self.server)
        lives = self._lives()
        if self._is_whole and heard["seq"] <= until:
            found = changed(self.server, heard["seq"], until)
            streams = [name for name in found if name in lives or name.startswith(MIRRORED)]
        else:
            streams = list(self._everything(lives))
        for stream in streams:
            self._bring(stream)
        self._is_whole = True
        self.spool.hear(self.server.place, until, clock.now())
        return until

    def _everything(self, lives: set[str]) -> Iterable[str]:
        """What may be other than it stands here: a server that was not followed may even be another."""
        long_ago = clock.precise(clock.now() - PAST)
        for prefix in MIRRORED:
            for head in self.server.heads(prefix):
                is_over = head["closed_at"] is not None and head["seen_at"] < long_ago
                # With the first two go files, which may have been left behind.
                if prefix in ("stop:", "budget:") or not (is_over or self.spool.knows(head)):
                    yield head["stream"]
        for stream in sorted(lives):
            there = self.server.head(stream)
            if there is not None and not self.spool.knows(there):
                yield stream

    def _lives(self) -> set[str]:
        """The lives of this machine: those that it wrote, and the agents that began here."""
        known = (head["stream"] for prefix in LIVES for head in self.spool.file.heads(prefix))
        return {*known, *self._begun_here()}

    def _begun_here(self) -> set[str]:
        """The agents that began in a worktree of this machine."""
        found = set()
        for root in worktrees(self.workspace):
            folder = os.path.join(root, TOOL_FOLDER, current_life.FOLDER)
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                try:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found.add(str(canonical_json.loads(file.read())["stream"]))
                except (OSError, ValueError, KeyError, TypeError):
                    continue
        return found

    def _bring(self, stream: str) -> None:
        try:
            subject = subject_of(stream)
        except HoldfastError:
            return  # a newer holdfast's
        if not self._has_copy and self.spool.left_behind(stream):
            self._keep_aside()
        state = bring(self.spool, self.server, subject, stream)
        if state is None or self._waits(stream):
            return
        if stream == stop.STREAM:
            self._stop(state)
        elif stream == budget.STREAM:
            self._budget(state)

    def _keep_aside(self) -> None:
        """What was written to the file without the server makes room for what the server says, and is
        kept: somebody may want to look at it."""
        stamp = clock.stamp(clock.now()).replace(":", "")
        name = f"{upkeep.COPY_PREFIXES[0]}{stamp}-{new_id()[:8]}.db"
        upkeep.backup(self.spool.file, os.path.join(self.workspace.home, name))
        self._has_copy = True

    def _waits(self, stream: str) -> bool:
        """Whether this machine has a word on it that the server has not heard yet."""
        for root in worktrees(self.workspace):
            for path in inbox.waiting(root):
                queued = inbox.read(path)
                if queued is not None and queued["stream"] == stream:
                    return True
        return False

    # The files beside the journal

    def _stop(self, state: StopState) -> None:
        held = latch.read(self.workspace)
        if state["stopped"]:
            if held is None:
                now = clock.now()
                latch.engage(self.workspace, state["reason"], by=state["by"], now=now)
            return
        # Only the stop that was lifted: one that the server never heard of holds on.
        lifted = self.server.latest(stream=stop.STREAM, kind="stopped", limit=1)
        body = lifted[0]["body"] if lifted else None
        if (
            held is not None
            and body
            and (held["reason"], held["by"])
            == (
                body["reason"],
                body["by"],
            )
        ):
            latch.release(self.workspace)

    def _budget(self, state: BudgetState) -> None:
        halt = state["stopped"]
        if halt is not None:
            # Its last turn was given where it was reached.
            holding.engage(self.workspace, {**halt, "last_turn": False}, now=clock.now())
            return
        held = latch.read(self.workspace)
        if held is not None and held["by"] == BUDGET:
            holding.let_go(self.workspace)
        for type in alerts.types(self.workspace) - state["pending"].keys():
            alerts.settle(self.workspace, type)
