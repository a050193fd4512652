"""The one write path: lock, load, decide, append, project.

Everything that changes anything comes through `Writer.execute`. Success is said after the commit.
"""

from __future__ import annotations

import errno
import os

from holdfast.kernel import clock, inbox, jsontext
from holdfast.kernel.digest import derived_id, id_of, new_id
from holdfast.kernel.errors import HoldfastError, StoreAway, VersionConflict, from_os_error
from holdfast.kernel.journal.interface import Append
from holdfast.kernel.state import RESTORED, at_version, fold, load
from holdfast.kernel.subject import Decision, Unparsable
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import content_digest
from holdfast.kernel.views.place import put_in_place, raced_of, stage
from holdfast.kernel.views.reconcile import Sighting, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypedDict

    from holdfast.kernel.journal.interface import Draft, Effect, Record, ViewRow
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.subject import Subject
    from holdfast.kernel.views.reconcile import Change
    from holdfast.kernel.workspace import Workspace

    class ViewReport(TypedDict):
        """What became of one view: written, unchanged, removed (by its owner) or failed."""

        path: str
        status: str
        reason: str

    class Outcome(TypedDict):
        """What a command made happen."""

        id: str
        stream: str
        version: int
        fence: int
        records: list[Record]
        views: list[ViewReport]
        duplicate: bool
        queued: str


# How often a version conflict is decided again, and a raced edit taken in, before we give up.
TRIES = 8
# Milliseconds between two looks into the inbox.
LOOK_EVERY = 1000
# How many streams a writer remembers between two commands.
REMEMBERED = 64
_NO_PERMISSION = (errno.EROFS, errno.EACCES, errno.EPERM)


class Writer:
    """Executes commands on the streams of one workspace."""

    __slots__ = ("_known", "_looked_at", "_redactor", "_subject_of", "_workspace")

    def __init__(
        self, workspace: Workspace, subject_of: Callable[[str], Subject], redactor: Redactor
    ) -> None:
        self._workspace = workspace
        self._subject_of = subject_of
        self._redactor = redactor
        self._known: dict[str, _Known] = {}
        self._looked_at = 0

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
    ) -> Outcome:
        """Do what a command asks, once: the same id again is a no-op.

        Where the journal cannot be written, the command is left in the inbox and `queued` says so.
        """
        id = id or new_id()
        try:
            with self._workspace.lock():
                self._take_in_own(now)
                return _Work(self, stream, actor, now, fence, grant).obey(id, command)
        except OSError as error:
            if error.errno not in _NO_PERMISSION:
                raise from_os_error(error, "writing to the workspace") from error
        except StoreAway as away:
            if away.kind != "read_only":
                raise
        redacted = self._redactor.value(command, jsontext.dumps(command))
        queued: inbox.Queued = {
            "id": id,
            "stream": stream,
            "command": redacted,
            "actor": actor,
            "fence": fence,
            "at": clock.precise(now),
        }
        return _outcome(id, stream, queued=inbox.put(self._workspace, queued))

    def restore(self, stream: str, version: int, *, actor: str, now: int) -> Outcome:
        """Make a stream's state what it was after a version; itself a record, so it can be undone."""
        with self._workspace.lock():
            work = _Work(self, stream, actor, now, None, False, raise_removed=True)
            state = at_version(self._workspace.journal, work.subject, stream, version)
            body = {"version": version, "state": state}
            return work.run(new_id(), lambda _: Decision([(RESTORED, body)]))

    def record(self, stream: str, kind: str, body: Any, *, actor: str, now: int) -> Outcome:
        """Write down something that was done to a stream from outside its protocol."""
        with self._workspace.lock():
            work = _Work(self, stream, actor, now, None, False)
            return work.run(new_id(), lambda _: Decision([(kind, body)]))

    def repair(self, stream: str, *, now: int, raise_removed: bool = False) -> Outcome:
        """Take in outside edits and finish projections, and nothing else."""
        with self._workspace.lock():
            work = _Work(self, stream, "holdfast", now, None, False, raise_removed=raise_removed)
            return work.run(new_id(), lambda _: Decision())

    def take_in(self, roots: Sequence[str], now: int) -> int:
        """Execute what waits in the inboxes of these worktrees."""
        with self._workspace.lock():
            return sum(self._take_in(now, root) for root in roots)

    def _take_in_own(self, now: int) -> None:
        """This worktree's inbox, with every command but not more than once a second."""
        if abs(now - self._looked_at) >= LOOK_EVERY:
            self._looked_at = now
            self._take_in(now, self._workspace.root)

    def _take_in(self, now: int, root: str) -> int:
        taken = 0
        for path in inbox.waiting(root):
            queued = inbox.read(path)
            if queued is None:
                inbox.set_aside(path)
                continue
            at = clock.parse(queued["at"])
            try:
                work = _Work(self, queued["stream"], queued["actor"], at, queued["fence"], False)
                work.obey(queued["id"], queued["command"])
            except StoreAway:
                raise
            except HoldfastError:
                # Refused for good, such as a lost fence: kept for a person, not tried again.
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
        for position, (kind, said) in enumerate(records):
            body, text = jsontext.settled(said)
            clean = self._redactor.value(body, text)
            if clean is not body:
                text = jsontext.dumps(clean)
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


class _Known:
    """A stream without views as this writer left it: its state, its version and its last hash."""

    __slots__ = ("hash", "state", "version")

    def __init__(self, state: Any, version: int, hash: str) -> None:
        self.state = state
        self.version = version
        self.hash = hash


class _Work:
    """One command on one stream, under the lock."""

    def __init__(
        self,
        writer: Writer,
        stream: str,
        actor: str,
        now: int,
        fence: int | None,
        grant: bool,
        *,
        raise_removed: bool = False,
    ) -> None:
        self.writer = writer
        self.workspace = writer._workspace
        self.journal = writer._workspace.journal
        self.subject = writer._subject_of(stream)
        self.stream = stream
        self.actor = actor
        self.now = now
        self.fence = fence
        self.grant = grant
        self.raise_removed = raise_removed
        self.state: Any = None
        self.version = 0
        # The hash that the last record must have for what we remembered to hold; "" once loaded.
        self.after = ""
        self.rows: dict[str, ViewRow] = {}

    def obey(self, id: str, command: Any) -> Outcome:
        return self.run(id, lambda state: self.subject.decide(state, command, self.now))

    def run(self, id: str, decide: Callable[[Any], Decision]) -> Outcome:
        self._recall()
        for attempt in range(TRIES):
            if not self.after:
                self._load()
            try:
                sightings = self._reconcile()
                decision = decide(self.state)
                if decision.records or not self.after:
                    drafts = self.writer.draft(id, decision.records, self.actor, self.now)
                    state = fold(self.subject, self.state, drafts)
                    if not self._import_unseen(state, sightings):
                        return self._append_and_project(id, drafts, state, decision, sightings)
            except VersionConflict:
                if attempt == TRIES - 1:
                    raise
            except HoldfastError:
                if not self.after:
                    raise
            # Decided on what did not hold, or on what was never put to the test: once more.
            self.after = ""
        raise AssertionError("unreachable")

    def _recall(self) -> None:
        """Begin with what this writer remembers; the append tests whether it still holds."""
        known = self.writer._known.pop(self.stream, None)
        if known is not None:
            self.state, self.version, self.after = known.state, known.version, known.hash

    def _remember(self, state: Any, records: list[Record]) -> None:
        known = self.writer._known
        if len(known) >= REMEMBERED:
            known.clear()
        known[self.stream] = _Known(state, records[-1]["version"], records[-1]["hash"])

    def _load(self) -> None:
        self.state, head = load(self.journal, self.subject, self.stream)
        self.version = head["version"] if head else 0
        rows = self.journal.views(worktree=self.workspace.root, stream=self.stream)
        self.rows = {row["path"]: row for row in rows}

    # Reconcile: what happened to the views since we wrote them

    def _reconcile(self) -> dict[str, Sighting]:
        rows = self.rows
        sightings: dict[str, Sighting] = {}
        for path in sorted(rows.keys() | self.subject.render(self.state).keys()):
            row = rows.get(path)
            sighting, changes = look(self.workspace, path, row, self.version, self.now)
            for position, change in enumerate(changes):
                self._absorb(sighting, change, last=position == len(changes) - 1)
            was_removed = row is not None and row["removed"] and sighting.found is None
            if was_removed or any(change["kind"] == "removed" for change in changes):
                sighting.blocked = "" if self.raise_removed else "removed"
            sightings[path] = sighting
        return sightings

    def _import_unseen(self, state: Any, sightings: dict[str, Sighting]) -> bool:
        """Views that this state shows for the first time: whether a file that nobody told us of
        stood there, and was taken in."""
        imported = False
        for path in self.subject.render(state).keys() - sightings.keys():
            sighting, changes = look(self.workspace, path, None, self.version, self.now)
            sightings[path] = sighting
            for change in changes:
                self._absorb(sighting, change, last=True)
                imported = True
        return imported

    def _absorb(self, sighting: Sighting, change: Change, *, last: bool) -> None:
        """One outside change becomes records, in a commit of its own.

        Their id comes from the file's identity, so that a crash before the file is put away does
        not make them twice.
        """
        events = self._events_of(sighting, change)
        source = [self.workspace.root, change["path"], change["identity"], change["kind"]]
        id = id_of(jsontext.dumps(source))
        drafts = self.writer.draft(id, events, "outside", self.now)
        state = fold(self.subject, self.state, drafts)
        row = self._row(
            sighting, placed=sighting.found, digest=sighting.digest, found=sighting.found
        )
        if change["kind"] == "removed":
            row["removed"] = True
        self.journal.commit(
            [Append(self.stream, drafts, expected=self.version, state=state)] if drafts else [],
            views=[row] if last else [],
        )
        raced = raced_of(sighting.stem)
        if os.path.lexists(raced):
            os.unlink(raced)
        self._load()

    def _events_of(self, sighting: Sighting, change: Change) -> list[tuple[str, Any]]:
        base = self.state
        if change["base"] != self.version:
            try:
                base = at_version(self.journal, self.subject, self.stream, change["base"])
            except HoldfastError:
                base = self.state
        try:
            events = self.subject.absorb(self.state, base, change, self.now)
        except Unparsable as problem:
            raced = raced_of(sighting.stem)
            place = raced if os.path.lexists(raced) else sighting.target
            change["kind"] = "broken"
            change["reason"] = str(problem)
            change["kept"] = quarantine.keep(self.workspace, place, self.now)
            events = self.subject.absorb(self.state, base, change, self.now)
        if change["kind"] == "removed":
            return [("removed_outside", {"path": change["path"]}), *events]
        if change["kind"] == "broken":
            body = {"path": change["path"], "reason": change["reason"], "kept": change["kept"]}
            return [("quarantined", body), *events]
        return events

    # Append and project

    def _append_and_project(
        self,
        id: str,
        drafts: list[Draft],
        state: Any,
        decision: Decision,
        sightings: dict[str, Sighting],
    ) -> Outcome:
        staged, rows, reports = self._stage(state, sightings)
        appends = []
        if drafts or self.grant:
            appends.append(
                Append(
                    self.stream,
                    drafts,
                    expected=self.version,
                    after=self.after,
                    fence=self.fence,
                    grant=self.grant,
                    state=state,
                )
            )
        receipts = (
            self.journal.commit(appends, views=rows, effects=self._effects(id, decision))
            if appends or rows
            else []
        )
        outcome = _outcome(id, self.stream, views=reports)
        if receipts:
            receipt = receipts[0]
            outcome["version"], outcome["fence"] = receipt["version"], receipt["fence"]
            outcome["records"], outcome["duplicate"] = receipt["records"], receipt["duplicate"]
        else:
            outcome["version"] = self.version
        if not outcome["duplicate"]:
            self._project(staged, reports)
            if outcome["records"] and not sightings:
                self._remember(state, outcome["records"])
        return outcome

    def _stage(
        self, state: Any, sightings: dict[str, Sighting]
    ) -> tuple[list[Sighting], list[ViewRow], list[ViewReport]]:
        staged: list[Sighting] = []
        rows: list[ViewRow] = []
        reports: list[ViewReport] = []
        for path, text in self.subject.render(state).items():
            content = text.encode()
            wanted = content_digest(content)
            report: ViewReport = {"path": path, "status": "unchanged", "reason": ""}
            reports.append(report)
            sighting = sightings[path]
            if sighting.blocked:
                gone = sighting.blocked == "removed"
                report["status"] = "removed" if gone else "failed"
                report["reason"] = "" if gone else sighting.blocked
                continue
            if sighting.found is not None and sighting.digest == wanted:
                continue
            try:
                sighting.placed = stage(self.workspace, sighting.target, sighting.stem, content)
            except OSError as error:
                report["status"], report["reason"] = "failed", error.strerror or str(error)
                continue
            rows.append(
                self._row(sighting, found=sighting.found, placed=sighting.placed, digest=wanted)
            )
            staged.append(sighting)
        return staged, rows, reports

    def _project(self, staged: list[Sighting], reports: list[ViewReport]) -> None:
        """Put the staged views in place. An edit that came in between our look and the exchange was
        displaced and kept: it becomes a record, and the views are written once more."""
        for _ in range(TRIES):
            if not self._put_in_place(staged, reports):
                return
            self._load()
            staged, rows, _again = self._stage(self.state, self._reconcile())
            if rows:
                self.journal.commit([], views=rows)

    def _put_in_place(self, staged: list[Sighting], reports: list[ViewReport]) -> bool:
        """Whether an edit was displaced."""
        by_path = {report["path"]: report for report in reports}
        raced = False
        for sighting in staged:
            report = by_path[sighting.path]
            try:
                placement = put_in_place(
                    sighting.target, sighting.stem, sighting.placed, sighting.found
                )
                if sighting.displaced and os.path.lexists(sighting.displaced):
                    os.unlink(sighting.displaced)
            except OSError as error:
                report["status"], report["reason"] = "failed", error.strerror or str(error)
                continue
            raced = raced or placement == "raced"
            report["status"] = {"removed": "removed", "blocked": "failed"}.get(placement, "written")
            if placement == "blocked":
                report["reason"] = "a folder"
        return raced

    def _row(
        self, sighting: Sighting, *, found: str | None, placed: str | None, digest: str
    ) -> ViewRow:
        return {
            "worktree": self.workspace.root,
            "path": sighting.path,
            "stream": self.stream,
            "found": found,
            "found_version": self.version,
            "placed": placed,
            "digest": digest,
            "removed": False,
        }

    def _effects(self, id: str, decision: Decision) -> list[Effect]:
        at = clock.precise(self.now)
        return [
            {
                "id": id_of(f"{id}/effect/{position}"),
                "stream": self.stream,
                "kind": wish["kind"],
                "key": wish["key"],
                "body": self.writer._redactor.value(wish["body"], jsontext.dumps(wish["body"])),
                "queued_at": at,
                "due_at": at,
                "attempts": 0,
                "error": "",
            }
            for position, wish in enumerate(decision.effects)
        ]


def _outcome(
    id: str, stream: str, *, views: list[ViewReport] | None = None, queued: str = ""
) -> Outcome:
    return {
        "id": id,
        "stream": stream,
        "version": 0,
        "fence": 0,
        "records": [],
        "views": views or [],
        "duplicate": False,
        "queued": queued,
    }
