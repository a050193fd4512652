"""Commands on streams, under the lock: load, reconcile, decide, append, project."""

from __future__ import annotations

import os

from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import id_of
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, VersionConflict
from holdfast.kernel.rules import Decision, Unparsable
from holdfast.kernel.state import at_version, fold, load
from holdfast.kernel.views import edits, moves, quarantine
from holdfast.kernel.views.files import content_digest
from holdfast.kernel.views.projection import aside_of, put_in_place, stage
from holdfast.kernel.views.reconcile import Sighting, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypedDict

    from holdfast.journal.interface import Draft, Effect, Journal, Receipt, Record, ViewRow
    from holdfast.kernel.views.reconcile import Change
    from holdfast.kernel.writer import Writer

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
# How many streams a writer remembers between two commands.
REMEMBERED = 64


class Known:
    """A stream as this writer left it: its state, its version, its last hash, and whether there are
    files to look at before it is written again."""

    __slots__ = ("hash", "shown", "state", "version")

    def __init__(self, state: Any, version: int, hash: str, *, shown: bool) -> None:
        self.state = state
        self.version = version
        self.hash = hash
        self.shown = shown


class Work:
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
        self.workspace = writer.workspace
        self.journal = writer.workspace.journal
        self.subject = writer.rules_of(stream)
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
        return run_together([self], id, [decide])[0]

    def prepare(self, id: str, decide: Callable[[Any], Decision]) -> Part | None:
        """What this stream has to add to the commit; None when it must be decided again."""
        if self.after:
            self._load_rows()
        else:
            self._load()
        sightings = self._reconcile()
        decision = decide(self.state)
        if not decision.records and self.after:
            return None  # decided on what was never put to the test
        drafts = self.writer.draft(id, decision.records, self.actor, self.now)
        state = fold(self.subject, self.state, drafts)
        if self._import_unseen(state, sightings):
            return None
        return self._part(id, drafts, state, decision, sightings)

    def recall(self) -> None:
        """Begin with what this writer remembers; the append tests whether it still holds."""
        known = self.writer.known.pop(self.stream, None)
        if known is not None:
            self.state, self.version, self.after = known.state, known.version, known.hash

    def _remember(self, part: Part, records: list[Record]) -> None:
        known = self.writer.known
        if len(known) >= REMEMBERED:
            known.clear()
        last, shown = records[-1], bool(part.reports or part.sightings)
        known[self.stream] = Known(part.state, last["version"], last["hash"], shown=shown)

    def _load(self) -> None:
        self.after = ""
        self.state, head = load(self.journal, self.subject, self.stream)
        self.version = head["version"] if head else 0
        self._load_rows()

    def _load_rows(self) -> None:
        moves.finish(self.workspace, self.stream)
        rows = self.journal.views(worktree=self.workspace.root, stream=self.stream)
        self.rows = {row["path"]: row for row in rows}

    # Reconcile: what happened to the views since we wrote them

    def _reconcile(self) -> dict[str, Sighting]:
        rows = self.rows
        sightings: dict[str, Sighting] = {}
        for path in sorted(rows.keys() | self.subject.render(self.state).keys()):
            row = rows.get(path)
            sighting, changes = self._look(path, row)
            if changes and self.after:
                self._load()  # an edit is taken into what is there, not into what we remember
            for position, change in enumerate(changes):
                self._absorb(sighting, change, last=position == len(changes) - 1)
            was_removed = row is not None and row["removed"] and sighting.found is None
            if was_removed or any(change["kind"] == "removed" for change in changes):
                sighting.blocked = "" if self.raise_removed else "removed"
            sightings[path] = sighting
        return sightings

    def _look(self, path: str, row: ViewRow | None) -> tuple[Sighting, list[Change]]:
        """A view that cannot even be looked at fails alone; the record does not depend on it."""
        try:
            return look(
                self.workspace, path, row or self._row_of_another(path), self.stream, self.now
            )
        except OSError as error:
            sighting = Sighting(path, "", "")
            sighting.blocked = error.strerror or str(error)
            return sighting, []

    def _row_of_another(self, path: str) -> ViewRow | None:
        """A file can be shown by one stream after another, such as the progress of two sessions."""
        rows = self.journal.views(worktree=self.workspace.root, path=path)
        return rows[0] if rows else None

    def _import_unseen(self, state: Any, sightings: dict[str, Sighting]) -> bool:
        """Views that this state shows for the first time: whether a file that nobody told us of
        stood there, and was taken in."""
        imported = False
        for path in self.subject.render(state).keys() - sightings.keys():
            sighting, changes = self._look(path, None)
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
        id = id_of(canonical_json.dumps(source))
        drafts = self.writer.draft(id, events, "outside", self.now)
        state = fold(self.subject, self.state, drafts)
        # Made on what we have, the edit is all that the next state holds: the file shows that one now.
        # Made on something older, it lacks what came since, and what it shows stays what it was.
        alone = change["base"] == self.version
        shown = self.version + len(drafts) if alone else change["base"]
        row = self._row(sighting, sighting.found, version=shown, digest=sighting.digest)
        if change["kind"] == "removed":
            row["removed"] = True
        reached("before append")
        self.journal.commit(
            [Append(self.stream, drafts, expected=self.version, state=state)] if drafts else [],
            views=[row] if last else [],
        )
        reached("after append")
        if change["file"]:
            edits.settle(change["file"], change["identity"])
        self._load()

    def _events_of(self, sighting: Sighting, change: Change) -> list[tuple[str, Any]]:
        base = self._state_at(change["base"])
        try:
            events = self.subject.absorb(self.state, base, change, self.now)
        except Unparsable as problem:
            place = change["file"] or sighting.target
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

    def _state_at(self, version: int) -> Any:
        """What a file of that version showed. Of an unknown file we assume that it never showed
        anything, so that nothing counts as removed by its author."""
        if version == self.version:
            return self.state
        try:
            return at_version(self.journal, self.subject, self.stream, max(version, 0))
        except HoldfastError:
            return self.subject.initial(self.stream)

    # Append and project

    def _part(
        self,
        id: str,
        drafts: list[Draft],
        state: Any,
        decision: Decision,
        sightings: dict[str, Sighting],
    ) -> Part:
        part = Part(self, id, state, sightings)
        part.effects = self._effects(id, decision)
        for path, archive in decision.moves:
            self._move(part, path, archive)
        self._stage(part, self.version + len(drafts))
        if drafts or self.grant:
            part.append = Append(
                self.stream,
                drafts,
                expected=self.version,
                after=self.after,
                fence=self.fence,
                grant=self.grant,
                state=state,
            )
        return part

    def _move(self, part: Part, path: str, archive: str) -> None:
        """Leave the place of a view empty, as far as this commit is concerned."""
        sighting = part.sightings.get(path) or self._look(path, None)[0]
        if sighting.found is None:
            return
        wish = moves.wish(self.workspace, path, archive)
        part.effects += self._effects(f"{part.id}/{path}", Decision(effects=[wish]))
        sighting.found, sighting.digest = None, ""
        part.rows.append(self._row(sighting, None, version=self.version, digest=""))

    def finish(self, part: Part, receipt: Receipt | None) -> Outcome:
        """After the commit: put the views in place."""
        outcome = outcome_of(part.id, self.stream, views=part.reports)
        if receipt is None:
            outcome["version"] = self.version
        else:
            outcome["version"], outcome["fence"] = receipt["version"], receipt["fence"]
            outcome["records"], outcome["duplicate"] = receipt["records"], receipt["duplicate"]
        if outcome["duplicate"]:
            part.unstage()
            return outcome
        if part.effects:
            moves.finish(self.workspace, self.stream)
        self._project(part.staged, part.reports)
        if outcome["records"] and self.version <= outcome["version"]:
            self._remember(part, outcome["records"])
        rows = [*self.rows.values(), *part.rows]
        self.workspace.keep_here(self.stream, part.state, outcome, rows)
        return outcome

    def _stage(self, part: Part, version: int) -> None:
        for path, text in self.subject.render(part.state).items():
            content = text.encode()
            wanted = content_digest(content)
            report: ViewReport = {"path": path, "status": "unchanged", "reason": ""}
            part.reports.append(report)
            sighting = part.sightings[path]
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
            row = self._row(sighting, sighting.placed, version=version, digest=wanted)
            part.rows.append(row)
            part.staged.append(sighting)

    def _project(self, staged: list[Sighting], reports: list[ViewReport]) -> None:
        """Put the staged views in place. An edit that came in between our look and the exchange was
        displaced and kept: it becomes a record, and the views are written once more."""
        reached("before projection")
        for _ in range(TRIES):
            if not self._put_in_place(staged, reports):
                return
            self._load()
            sightings = self._reconcile()
            again = Part(self, "", self.state, sightings)
            self._stage(again, self.version)
            if again.rows:
                self.journal.commit([], views=again.rows)
            staged = again.staged

    def _put_in_place(self, staged: list[Sighting], reports: list[ViewReport]) -> bool:
        """Whether an edit was displaced."""
        by_path = {report["path"]: report for report in reports}
        raced = False
        for sighting in staged:
            report = by_path[sighting.path]
            try:
                placement = put_in_place(
                    sighting.target, sighting.stem, sighting.placed, sighting.found, self.version
                )
                late = edits.put_away(
                    sighting.stem,
                    sighting.displaced,
                    sighting.expected,
                    sighting.displaced_version,
                )
            except OSError as error:
                report["status"], report["reason"] = "failed", error.strerror or str(error)
                continue
            raced = raced or late or placement == "raced"
            report["status"] = {"removed": "removed", "blocked": "failed"}.get(placement, "written")
            if placement == "blocked":
                report["reason"] = "a folder"
        return raced

    def _row(self, sighting: Sighting, placed: str | None, *, version: int, digest: str) -> ViewRow:
        return {
            "worktree": self.workspace.root,
            "path": sighting.path,
            "stream": self.stream,
            "found": sighting.found,
            "found_version": self.version,
            "placed": placed,
            "placed_version": version,
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
                "body": self.writer.redactor.value(
                    wish["body"], canonical_json.dumps(wish["body"])
                ),
                "queued_at": at,
                "due_at": at,
                "attempts": 0,
                "error": "",
            }
            for position, wish in enumerate(decision.effects)
        ]


class Part:
    """What one stream adds to a commit: its records, its effects, and its views, staged."""

    __slots__ = (
        *("append", "effects", "id", "reports", "rows"),
        *("sightings", "staged", "state", "work"),
    )

    def __init__(self, work: Work, id: str, state: Any, sightings: dict[str, Sighting]) -> None:
        self.work = work
        self.id = id
        self.state = state
        self.sightings = sightings
        self.append: Append | None = None
        self.effects: list[Effect] = []
        self.rows: list[ViewRow] = []
        self.staged: list[Sighting] = []
        self.reports: list[ViewReport] = []

    def unstage(self) -> None:
        for sighting in self.staged:
            os.unlink(aside_of(sighting.stem, sighting.placed))
        self.staged = []


def run_together(
    works: Sequence[Work], id: str, decides: Sequence[Callable[[Any], Decision]]
) -> list[Outcome]:
    """Decide on every stream and append to all of them in one transaction."""
    for work in works:
        work.recall()
    for attempt in range(TRIES):
        try:
            with works[0].journal.alone(attempt):
                parts = _prepare(works, id, decides)
                if parts is not None:
                    return _commit(works[0].journal, parts)
        except VersionConflict:
            if attempt == TRIES - 1:
                raise
        except HoldfastError as error:
            if isinstance(error, FenceLost) or not any(work.after for work in works):
                raise
        # Decided on what did not hold, or on what was never put to the test: once more.
        for work in works:
            work.after = ""
    raise AssertionError("unreachable")


def _prepare(
    works: Sequence[Work], id: str, decides: Sequence[Callable[[Any], Decision]]
) -> list[Part] | None:
    """The parts of one commit; None when one of them must be decided again."""
    parts: list[Part] = []
    try:
        for position, (work, decide) in enumerate(zip(works, decides, strict=True)):
            part = work.prepare(part_id(id, position), decide)
            if part is None:
                return None
            parts.append(part)
        return parts
    finally:
        if len(parts) < len(works):
            for part in parts:
                part.unstage()


def part_id(id: str, position: int) -> str:
    return id if position == 0 else id_of(f"{id}/part/{position}")


def _commit(journal: Journal, parts: Sequence[Part]) -> list[Outcome]:
    appends = [part.append for part in parts if part.append is not None]
    rows = [row for part in parts for row in part.rows]
    receipts: list[Receipt] = []
    try:
        if appends or rows:
            effects = [effect for part in parts for effect in part.effects]
            reached("before append")
            receipts = journal.commit(appends, views=rows, effects=effects)
            reached("after append")
    except Conflict:
        # Refused, so nothing will be put in place. After any other failure the commit may still
        # turn out to have happened, and its views with it: then the staged files are needed.
        for part in parts:
            part.unstage()
        raise
    by_stream = {receipt["stream"]: receipt for receipt in receipts}
    return [part.work.finish(part, by_stream.get(part.work.stream)) for part in parts]


def outcome_of(
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
