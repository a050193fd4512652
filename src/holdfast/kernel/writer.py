"""The one write path: lock, load, decide, append, project.

Everything that changes anything comes through a `Writer`. Success is said after the commit.
"""

from __future__ import annotations

import errno
import os

from holdfast.journal.interface import Append, is_of_one_life
from holdfast.kernel import canonical_json, clock, inbox
from holdfast.kernel.commit import Known, Work, outcome_of, run_together
from holdfast.kernel.digest import derived_id, new_id
from holdfast.kernel.errors import HoldfastError, StoreAway, Usage, VersionConflict, from_os_error
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import RESTORED, at_version, fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.journal.interface import Draft
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.rules import Rules
    from holdfast.kernel.workspace import Workspace

LONGEST_ID = 128
# Milliseconds after which a writer takes the long way again, which looks into the inbox.
LONGEST_UNLOCKED = 1000
_NO_PERMISSION = (errno.EROFS, errno.EACCES, errno.EPERM)


class Writer:
    """Executes commands on the streams of one workspace."""

    __slots__ = ("known", "locked_at", "redactor", "rules_of", "workspace")

    def __init__(
        self, workspace: Workspace, rules_of: Callable[[str], Rules], redactor: Redactor
    ) -> None:
        self.workspace = workspace
        self.rules_of = rules_of
        self.redactor = redactor
        self.known: dict[str, Known] = {}
        self.locked_at = 0

    def execute(
        self,
        stream: str,
        command: Any,
        *,
        actor: str,
        now: int,
        id: str = "",
        fence: int | None = None,
        grant: bool = False,
        raise_removed: bool = False,
    ) -> Outcome:
        """Do what a command asks, once: the same id again is a no-op.

        Where the journal cannot be written, the command is left in the inbox and `queued` says so.
        `raise_removed` writes a view again that its owner deleted.
        """
        id = id or new_id()
        if not id.isascii() or len(id) > LONGEST_ID:
            raise Usage(f"An id is at most {LONGEST_ID} plain characters.")
        known = self.known.get(stream)
        recent = now - self.locked_at < LONGEST_UNLOCKED
        if known is not None and not known.shown and not grant and recent:
            outcome = self._append_remembered(id, stream, command, actor, now, fence)
            if outcome is not None:
                return outcome
        if self.workspace.spools and not is_of_one_life(stream):
            return self._leave_in_inbox(id, stream, command, actor, now, fence)
        lock = self.workspace.lock()
        self.locked_at = now
        try:
            lock.acquire()
        except OSError as error:
            if error.errno not in _NO_PERMISSION:
                raise from_os_error(error, "taking the workspace's lock") from error
            return self._leave_in_inbox(id, stream, command, actor, now, fence)
        except StoreAway:
            # Whoever writes for a hook must not keep its host waiting.
            if not self.workspace.local:
                raise
            return self._leave_in_inbox(id, stream, command, actor, now, fence)
        try:
            self._catch_up()
            work = Work(self, stream, actor, now, fence, grant, raise_removed=raise_removed)
            return work.obey(id, command)
        except OSError as error:
            raise from_os_error(error, "writing to the workspace") from error
        except StoreAway as away:
            if away.kind != "read_only":
                raise
        finally:
            lock.release()
        return self._leave_in_inbox(id, stream, command, actor, now, fence)

    def _append_remembered(
        self, id: str, stream: str, command: Any, actor: str, now: int, fence: int | None
    ) -> Outcome | None:
        """The short way for a stream without views that this writer wrote last: no lock, since there
        is no file to write, and no load, since the append itself tests that nobody came in between.
        None when that does not hold, or when there is a file to write after all."""
        known, subject = self.known.pop(stream, None), self.rules_of(stream)
        if known is None:
            return None
        try:
            decision = subject.decide(known.state, command, now)
        except HoldfastError:
            return None  # perhaps only because what we remember is old
        drafts = self.draft(id, decision.records, actor, now)
        state = fold(subject, known.state, drafts)
        if not drafts or decision.effects or subject.render(state):
            return None
        append = Append(
            stream, drafts, expected=known.version, after=known.hash, fence=fence, state=state
        )
        try:
            (receipt,) = self.workspace.journal.commit([append])
        except (VersionConflict, StoreAway):
            return None
        outcome = outcome_of(id, stream)
        outcome["version"], outcome["fence"] = receipt["version"], receipt["fence"]
        outcome["records"], outcome["duplicate"] = receipt["records"], receipt["duplicate"]
        if not receipt["duplicate"]:
            last = receipt["records"][-1]
            self.known[stream] = Known(state, last["version"], last["hash"], shown=False)
        return outcome

    def _leave_in_inbox(
        self, id: str, stream: str, command: Any, actor: str, now: int, fence: int | None
    ) -> Outcome:
        redacted = self.redactor.value(command, canonical_json.dumps(command))
        queued: inbox.Queued = {
            "id": id,
            "stream": stream,
            "command": redacted,
            "actor": actor,
            "fence": fence,
            "at": clock.precise(now),
        }
        return outcome_of(id, stream, queued=inbox.put(self.workspace, queued))

    def execute_together(
        self, orders: Sequence[Order], *, actor: str, now: int, id: str = ""
    ) -> list[Outcome]:
        """Do what several commands ask, each on its own stream: all of them in one transaction, or
        none. They are not left in the inbox: a fence, or another stream's state, is wanted now."""
        if self.workspace.spools:
            raise StoreAway(
                "This has to be agreed upon with the server, and from here there is no way to it.",
                hint="Try again when it is back; `holdfast status` says since when it is away.",
                kind="server_away",
            )
        with _Held(self.workspace):
            self.locked_at = now
            self._catch_up()
            works = [
                Work(
                    *(order.writer or self, order.stream, actor, now, order.fence, order.grant),
                    raise_removed=order.raise_removed,
                )
                for order in orders
            ]
            decides = [
                lambda state, work=work, order=order: work.subject.decide(state, order.command, now)
                for work, order in zip(works, orders, strict=True)
            ]
            return run_together(works, id or new_id(), decides)

    def restore(self, stream: str, version: int, *, actor: str, now: int) -> Outcome:
        """Make a stream's state what it was after a version; itself a record, so it can be undone."""
        with _Held(self.workspace):
            work = Work(self, stream, actor, now, None, False, raise_removed=True)
            state = at_version(self.workspace.journal, work.subject, stream, version)
            body = {"version": version, "state": state}
            return work.run(new_id(), lambda _: Decision([(RESTORED, body)]))

    def record(self, stream: str, kind: str, body: Any, *, actor: str, now: int) -> Outcome:
        """Write down something that was done to a stream from outside its protocol."""
        with _Held(self.workspace):
            work = Work(self, stream, actor, now, None, False)
            return work.run(new_id(), lambda _: Decision([(kind, body)]))

    def repair(self, stream: str, *, now: int, raise_removed: bool = False) -> Outcome:
        """Take in outside edits and finish projections, and nothing else."""
        with _Held(self.workspace):
            work = Work(self, stream, "holdfast", now, None, False, raise_removed=raise_removed)
            return work.run(new_id(), lambda _: Decision())

    def take_in(self, roots: Sequence[str]) -> int:
        """Execute what waits in the inboxes of these worktrees."""
        with _Held(self.workspace):
            self.workspace.deliver()
            return sum(self._take_in(root) for root in roots)

    def _catch_up(self) -> None:
        """What came before this command goes before it: the spool's records, and the inbox."""
        self.workspace.deliver()
        self._take_in(self.workspace.root)

    def _take_in(self, root: str) -> int:
        taken = 0
        for path in inbox.waiting(root):
            queued = inbox.read(path)
            if queued is None:
                inbox.set_aside(path)
                continue
            if self.workspace.spools and not is_of_one_life(queued["stream"]):
                continue  # decided on the server
            at = clock.parse(queued["at"])
            try:
                work = Work(self, queued["stream"], queued["actor"], at, queued["fence"], False)
                work.obey(queued["id"], queued["command"])
            except (StoreAway, OSError):
                raise
            except Exception:
                # Refused for good, such as a lost fence, or no command of ours at all: whoever could
                # write that file must not be able to stop everybody else. Kept for a person.
                inbox.set_aside(path)
                continue
            os.unlink(path)
            taken += 1
        return taken

    def draft(
        self, id: str, records: Sequence[tuple[str, Any]], actor: str, now: int
    ) -> list[Draft]:
        """Records with their ids, redacted: the choke point that every text passes once."""
        drafts: list[Draft] = []
        at = clock.precise(now)
        actor, _ = canonical_json.storable(actor)
        for position, (kind, said) in enumerate(records):
            body, text = canonical_json.storable(said)
            clean = self.redactor.value(body, text)
            if clean is not body:
                text = canonical_json.dumps(clean)
            drafts.append(
                {
                    "id": derived_id(id, position),
                    "kind": kind,
                    "body": clean,
                    "text": text,
                    "at": at,
                    "actor": actor,
                }
            )
        return drafts


class Order:
    """One command on one stream, of several that belong together. `writer` is that of another
    worktree of the same workspace, when the stream's files are there."""

    __slots__ = ("command", "fence", "grant", "raise_removed", "stream", "writer")

    def __init__(
        self,
        stream: str,
        command: Any,
        *,
        fence: int | None = None,
        grant: bool = False,
        raise_removed: bool = False,
        writer: Writer | None = None,
    ) -> None:
        self.stream = stream
        self.writer = writer
        self.command = command
        self.fence = fence
        self.grant = grant
        self.raise_removed = raise_removed


class _Held:
    """The workspace's lock, with the system's complaints in our words."""

    __slots__ = ("_lock",)

    def __init__(self, workspace: Workspace) -> None:
        self._lock = workspace.lock()

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
        except OSError as error:
            raise from_os_error(error, "taking the workspace's lock") from error

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._lock.release()
        if isinstance(error, OSError):
            raise from_os_error(error, "writing to the workspace") from error
