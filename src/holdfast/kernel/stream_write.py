"""One order of a commit on its way through the steps, and what the steps share."""

from __future__ import annotations

from holdfast.journal.interface import ATTESTED
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import id_of, record_id
from holdfast.kernel.state import attest, fold, is_attestation_due, is_proven, load_folded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Protocol, TypedDict

    from holdfast.journal.interface import Append, Draft, Effect, Journal, ViewRow
    from holdfast.kernel.commit import Order
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.rules import Decision, Rules, Wish
    from holdfast.kernel.views.reconcile import Sighting
    from holdfast.kernel.writer import Writer

    class ViewReport(TypedDict):
        """What became of one view: written, unchanged, removed (by its owner) or failed."""

        path: str
        status: str
        reason: str

    # The state that a reader would believe as a snapshot, None if it is none; and whether it must be kept.
    Snapshot = tuple[Any, bool]

    class Known(Protocol):
        """What a decision is made on: the state, its version, and how many records were folded."""

        state: Any
        version: int
        folded: int


class StreamWrite:
    """One order of a commit, with what is known of its stream at each step."""

    def __init__(self, writer: Writer, order: Order, id: str, actor: str, now: int) -> None:
        self.writer = order.writer or writer
        # Of the writer that holds the lock, which may be another worktree's.
        self.displaced = writer.displaced
        self.workspace = self.writer.workspace
        self.rules = self.writer.rules_of(order.stream)
        self.order = order
        self.stream = order.stream
        self.id = id
        self.actor = actor
        self.now = now
        # Loaded. A remembered state is not loaded: the append tests it against version and hash.
        self.state: Any = None
        self.version = 0
        self.folded = 0
        self.is_remembered = False
        self.after = ""
        self.rows: dict[str, ViewRow] = {}
        # Reconciled.
        self.sightings: dict[str, Sighting] = {}
        # Decided.
        self.append: Append | None = None
        self.new_state: Any = None
        self.texts: Mapping[str, str] = {}
        self.effects: list[Effect] = []
        # Staged and projected.
        self.new_rows: list[ViewRow] = []
        self.staged: list[Sighting] = []
        self.reports: dict[str, ViewReport] = {}

    @property
    def journal(self) -> Journal:
        return self.workspace.journal


def load(write: StreamWrite) -> None:
    write.is_remembered, write.after = False, ""
    write.state, head, records = load_folded(write.journal, write.rules, write.stream)
    write.folded = len(records)
    write.version = head["version"] if head else 0
    load_rows(write)


def load_rows(write: StreamWrite) -> None:
    """What the journal knows of the stream's files in this worktree."""
    rows = write.journal.views(worktree=write.workspace.root, stream=write.stream)
    write.rows = {row["path"]: row for row in rows}


def draft(
    redactor: Redactor | None,
    id: str,
    records: Sequence[tuple[str, Any]],
    actor: str,
    now: int,
    *,
    first: int = 0,
) -> list[Draft]:
    """Records with their ids, redacted unless there is no redactor. Every text of a record passes here once.
    `first` is how many of the same command come before."""
    drafts: list[Draft] = []
    at = clock.precise(now)
    if not actor.isascii():
        actor, _ = canonical_json.storable(actor)
    for position, (kind, said) in enumerate(records, first):
        body, text = canonical_json.storable(said)
        clean = redactor.value(body, text) if redactor else body
        if clean is not body:
            text = canonical_json.dumps(clean)
        drafts.append(
            {
                "id": record_id(id, position),
                "kind": kind,
                "body": clean,
                "text": text,
                "at": at,
                "actor": actor,
            }
        )
    return drafts


def make_records(
    writer: Writer, rules: Rules, decision: Decision, known: Known, id: str, actor: str, now: int
) -> tuple[list[Draft], Any, Snapshot]:
    """The records of a decision, the state after them, and what of it becomes a snapshot.

    A stream of decisions gets a record with the digest of its state from time to time: a reader
    believes no other snapshot of it."""
    redactor = None if getattr(rules, "EXACT", False) else writer.redactor
    drafts = draft(redactor, id, decision.records, actor, now)
    state = fold(rules, known.state, drafts)
    proven = is_proven(rules)
    if decision.attests or (
        proven and is_attestation_due(known.version, len(drafts), known.folded)
    ):
        attested = [(ATTESTED, attest(state))]
        drafts += draft(writer.redactor, id, attested, actor, now, first=len(drafts))
        return drafts, state, (state, True)
    return drafts, state, (None if proven else state, False)


def effects_of(write: StreamWrite, id: str, wishes: Sequence[Wish]) -> list[Effect]:
    at = clock.precise(write.now)
    redactor = write.writer.redactor
    return [
        {
            "id": id_of(f"{id}/effect/{position}"),
            "stream": write.stream,
            "kind": wish["kind"],
            "key": wish["key"],
            "body": redactor.value(wish["body"], canonical_json.dumps(wish["body"])),
            "queued_at": at,
            "due_at": at,
            "attempts": 0,
            "error": "",
        }
        for position, wish in enumerate(wishes)
    ]


def row_of(
    write: StreamWrite, sighting: Sighting, placed: str | None, *, version: int, digest: str
) -> ViewRow:
    return {
        "worktree": write.workspace.root,
        "path": sighting.path,
        "stream": write.stream,
        "found": sighting.found,
        "found_version": sighting.shown,
        "placed": placed,
        "placed_version": version,
        "digest": digest,
        "removed": False,
    }
