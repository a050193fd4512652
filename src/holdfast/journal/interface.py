"""The journal: its types, and the contract that every store keeps."""

from __future__ import annotations

import time

from holdfast.kernel import canonical_json
from holdfast.kernel.errors import (
    Conflict,
    FenceLost,
    NotFound,
    ServerChanged,
    StoreAway,
    StreamClosed,
    VersionConflict,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Protocol, TypedDict

    from holdfast.journal.mark import Marked

    class Event(TypedDict):
        """What a protocol sees of a record."""

        id: str
        kind: str
        body: Any
        at: str
        actor: str

    class Draft(Event):
        """A record before it has its place: redacted, named by its writer, body spelled out."""

        text: str

    class Record(TypedDict):
        """One change, as it stands in the journal. `body` is None when `erased`."""

        seq: int
        id: str
        stream: str
        version: int
        at: str
        actor: str
        fence: int | None
        kind: str
        body: Any
        erased: bool
        hash: str

    class Head(TypedDict):
        """Where a stream stands."""

        stream: str
        version: int
        fence: int
        seen_at: str
        closed_at: str | None
        anchor_version: int

    class Sealed(TypedDict):
        """A record with what is needed to check its hash."""

        record: Record
        salt: bytes | None
        body_text: str | None
        body_hash: bytes
        hash: bytes

    class Anchored(TypedDict):
        """A stream's two ends: where its chain begins, and the hash it must end with."""

        stream: str
        anchor_version: int
        anchor_hash: bytes
        version: int
        hash: bytes

    class Loaded(TypedDict):
        """What a stream's state is made of: a snapshot, if any, and the records after it. `is_rebuilt` says
        that a snapshot was left out because another program changed it, or the disk did."""

        head: Head | None
        snapshot: Any
        snapshot_version: int
        records: list[Record]
        is_rebuilt: bool

    class ViewRow(TypedDict):
        """What the last write knew of one view's file."""

        worktree: str
        path: str
        stream: str
        found: str | None
        found_version: int
        placed: str | None
        placed_version: int
        digest: str
        removed: bool

    class Effect(TypedDict):
        """Something to be done outside, kept until it is done."""

        id: str
        stream: str
        kind: str
        key: str
        body: Any
        queued_at: str
        due_at: str
        attempts: int
        error: str

    class Refusal(TypedDict):
        """What a writer without the right to it tried to write."""

        id: str
        stream: str
        at: str
        actor: str
        fence: int | None
        reason: str
        drafts: list[Draft]

    class Receipt(TypedDict):
        """What became of one append."""

        stream: str
        version: int
        fence: int
        records: list[Record]
        duplicate: bool

    class Collected(TypedDict):
        """What `gc` removed."""

        records: int
        streams: int

    class Journal(Protocol):
        """The append-only store of everything that happened. `place` says where, without secrets."""

        @property
        def place(self) -> str: ...
        @property
        def read_only(self) -> bool: ...
        def commit(
            self,
            appends: Sequence[Append],
            *,
            views: Sequence[ViewRow] = (),
            effects: Sequence[Effect] = (),
        ) -> list[Receipt]:
            """All or nothing, durable on return. A known first id makes it a no-op."""

        def alone(self, lost: int) -> AbstractContextManager[None]:
            """For a writer that lost `lost` times: from a limit on, no other writer appends between its
            load and its commit. Where the workspace's lock covers all writers, that holds anyway."""

        def load(self, stream: str) -> Loaded:
            """Return what a state is made of."""

        def load_all(self, prefix: str) -> list[Loaded]:
            """Every stream whose name begins like this and goes on without a `/`, by name."""

        def read(
            self, stream: str, *, after: int = 0, limit: int | None = None
        ) -> list[Record]: ...
        def latest(
            self,
            *,
            stream: str = "",
            kind: str = "",
            before: int | None = None,
            limit: int = 50,
        ) -> list[Record]:
            """The newest records first; `stream` may end in `*`."""

        def since(self, seq: int, *, limit: int = 1000) -> list[Record]:
            """What was committed after `seq`, in order. Never skips one that commits late."""

        def wait(self, seq: int, seconds: float) -> bool:
            """Until something was committed after `seq`, at most so long; whether it was."""

        def find(self, prefix: str, *, limit: int = 2) -> list[Record]: ...
        def heads(self, prefix: str = "") -> list[Head]: ...
        def newest(self, prefix: str, *, limit: int) -> list[str]:
            """The streams that were written to last, the newest first: in the order of the records, since
            a machine's clock may have been years ahead."""

        def head(self, stream: str) -> Head | None: ...
        def touch(self, stream: str, at: str) -> None:
            """Seen alive: moves `seen_at` and leaves no record."""

        def end(self, stream: str, at: str) -> None:
            """Tombstone: from now on every append to the stream is refused."""

        def snapshot(self, stream: str, version: int, state: Any) -> None: ...
        def erase(self, ids: Sequence[str]) -> int:
            """Remove the bodies of these records for good; their hashes stay."""

        def collect(self, *, before: str, keep: int, spared: Sequence[str] = ()) -> Collected:
            """Remove what is older than `before`, keeping `keep` of each stream and its state. Streams
            whose names begin with one of `spared` are left alone."""

        def acknowledged(self) -> list[Marked]:
            """The newest records that were acknowledged, as kept outside of the store."""

        def lost(self) -> list[Marked]:
            """Records that were acknowledged and were not there any more at a later opening."""

        def anchors(self) -> list[Anchored]: ...
        def sealed(self, stream: str) -> Iterator[Sealed]: ...
        def views(
            self, *, worktree: str = "", stream: str = "", path: str = ""
        ) -> list[ViewRow]: ...
        def effects(
            self, *, due: str = "", kinds: Sequence[str] = (), limit: int = 100
        ) -> list[Effect]: ...
        def claim(self, effect: str, *, now: str, until: str) -> bool:
            """Take one due effect until then; False when another process has it."""

        def settle(self, effect: str, *, error: str = "", due_at: str = "") -> None:
            """Delivered (no error), or to be tried again at `due_at`."""

        def refusals(self, stream: str = "") -> list[Refusal]: ...
        def scrub(self, text: str, mark: str) -> int:
            """Replace a secret in what waits and what was refused; says in how many rows."""

        def get(self, key: str) -> str | None: ...
        def put(self, key: str, value: str) -> None: ...
        def size(self) -> int:
            """Bytes that the store takes."""

        def damage(self) -> list[str]:
            """What the engine's own check complains about."""

        def compact(self, *, always: bool = False) -> int:
            """Give unused space back; the bytes freed."""

        def share(self) -> None:
            """Use one connection for all threads of a process. The caller lets in one at a time."""

        def close(self) -> None: ...


# A record with the digest of the state at its version: the snapshot there is believed.
ATTESTED = "attested"
# A snapshot is written when the deltas since the last outweigh it. The floor keeps small streams
# from writing one at every step, and bounds how much is read for a state; ADR 0004.
SNAPSHOT_FLOOR = 16 * 1024


# What a record costs its reader besides its body, in bytes of a body: the row, and the parser's start.
RECORD_WEIGHT = 512


def weight_of(text: str) -> int:
    """How much a record adds to what is read for a state."""
    return len(text) + RECORD_WEIGHT


def snapshot_is_due(append: Append, delta_bytes: int, snapshot_bytes: int) -> bool:
    if append.state is None:
        return False
    return append.keeps_state or delta_bytes > max(snapshot_bytes, SNAPSHOT_FLOOR)


RECORD_FIELDS = ("seq", "id", "stream", "version", "at", "actor", "fence", "kind")
HEAD_FIELDS = ("stream", "version", "fence", "seen_at", "closed_at", "anchor_version")
ANCHOR_FIELDS = ("stream", "anchor_version", "anchor_hash", "version", "hash")
VIEW_FIELDS = tuple(
    str.split("worktree path stream found found_version placed placed_version digest removed")
)
EFFECT_FIELDS = tuple(str.split("id stream kind key body queued_at due_at attempts error"))
_TYPES: dict[str, Any] = {
    "t": str,
    "n": int,
    "b": bytes,
    "T": (str, type(None)),
    "N": (int, type(None)),
}
REFUSAL_FIELDS = ("id", "stream", "at", "actor", "fence", "reason", "drafts")


def as_dict(fields: Iterable[str], row: Sequence[Any]) -> Any:
    return dict(zip(fields, row, strict=True))


def record_of(row: Sequence[Any]) -> Record:
    """A record from the columns RECORD_FIELDS, body and hash."""
    record: Record = as_dict(RECORD_FIELDS, row[:8])
    body, record_hash = row[8:]
    record["body"] = None if body is None else canonical_json.loads(body)
    record["erased"] = body is None
    record["hash"] = record_hash.hex()
    return record


def written_record(
    draft: Draft, seq: int, stream: str, version: int, fence: int | None, record_hash: bytes
) -> Record:
    """A draft as it stands in the journal once it is written."""
    return {
        "seq": seq,
        "id": draft["id"],
        "stream": stream,
        "version": version,
        "at": draft["at"],
        "actor": draft["actor"],
        "fence": fence,
        "kind": draft["kind"],
        "body": draft["body"],
        "erased": False,
        "hash": record_hash.hex(),
    }


def sealed_of(row: Sequence[Any]) -> Sealed:
    """A record with its seal, from the columns of a record, salt and hash of the body."""
    *fields, text, record_hash, salt, body_hash = row
    try:
        record = record_of((*fields, text, record_hash))
    except ValueError:  # no text of ours: its digest tells
        record = record_of((*fields, None, record_hash))
    return {
        "record": record,
        "salt": salt,
        "body_text": text,
        "body_hash": body_hash,
        "hash": record_hash,
    }


def typed(table: str, fields: Iterable[str], types: str, row: Sequence[Any]) -> Any:
    """Return a row by its fields. Refuse a value of another type than every version writes: t is a text,
    n a number, b bytes; a capital one may be missing."""
    for letter, value in zip(types, row, strict=True):
        if not isinstance(value, _TYPES[letter]):
            raise ValueError(f"a value of {table} has the type {type(value).__name__}")
    return as_dict(fields, row)


def head_of(row: Sequence[Any]) -> Head:
    head: Head = typed("streams", HEAD_FIELDS, "tnntTn", row)
    return head


def anchored_of(row: Sequence[Any]) -> Anchored:
    anchored: Anchored = typed("streams", ANCHOR_FIELDS, "tnbnb", row)
    return anchored


def view_of(row: Sequence[Any]) -> ViewRow:
    view: ViewRow = typed("views", VIEW_FIELDS, "tttTnTntn", row)
    view["removed"] = bool(view["removed"])
    return view


def value_of(row: Sequence[Any]) -> str:
    """Return the only value of a row of `meta`."""
    value: str = typed("meta", ("value",), "t", row)["value"]
    return value


def loaded_of(
    head: Head | None,
    snapshot: Any = None,
    snapshot_version: int = 0,
    records: list[Record] | None = None,
    *,
    is_rebuilt: bool = False,
) -> Loaded:
    return {
        "head": head,
        "snapshot": snapshot,
        "snapshot_version": snapshot_version,
        "records": records or [],
        "is_rebuilt": is_rebuilt,
    }


def effect_of(row: Sequence[Any]) -> Effect:
    effect: Effect = typed("outbox", EFFECT_FIELDS, "tttttttnt", row)
    effect["body"] = canonical_json.loads(effect["body"])
    return effect


def refusal_of(row: Sequence[Any]) -> Refusal:
    refusal: Refusal = typed("refused", REFUSAL_FIELDS, "ttttNtt", row)
    refusal["drafts"] = canonical_json.loads(row[-1])
    return refusal


def receipt_of(
    stream: str, version: int, fence: int, records: list[Record], *, duplicate: bool
) -> Receipt:
    return {
        "stream": stream,
        "version": version,
        "fence": fence,
        "records": records,
        "duplicate": duplicate,
    }


def wait_for_record(journal: Journal, seq: int, seconds: float, pause: float) -> bool:
    """Look again and again for a record after `seq`. Return whether one came within these seconds. A server that
    restarts meanwhile is asked again."""
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        try:
            if journal.since(seq, limit=1):
                return True
        except StoreAway:
            if left <= 0:
                raise
        if left <= 0:
            return False
        time.sleep(min(left, pause))


class Unguarded:
    """Nothing to hold: `alone` of a store whose writers share one machine."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class Append:
    """What one writer wants to add to one stream.

    `expected` is the version that the writer saw (None: whatever it is) and `after` the hash of its
    record, `fence` the number of the writer's life, `grant` asks for a new one, and `state` is the
    stream's state afterwards. It is kept as the stream's snapshot when enough was added, or when
    `keeps_state` says so.
    """

    def __init__(
        self,
        stream: str,
        drafts: list[Draft],
        *,
        expected: int | None,
        after: str = "",
        fence: int | None = None,
        grant: bool = False,
        state: Any = None,
        keeps_state: bool = False,
    ) -> None:
        self.keeps_state = keeps_state
        self.stream = stream
        self.drafts = drafts
        self.expected = expected
        self.after = after
        self.fence = fence
        self.grant = grant
        self.state = state


def refuse_unless_current(
    append: Append, held: int | None, closed_at: str | None, *, floor: int = 0
) -> None:
    """Whether this writer may write at all: the stream lives, and so does the writer. `held` is the
    fence that holds the stream; None when there is no such stream.

    Lives with fences up to `floor` began before another server took over, which may lack the takeover of one.
    """
    fence = append.fence
    if held is None:
        if fence is not None:
            raise FenceLost(
                f"{append.stream} has no life with fence {fence}.",
                hint="Start again: a fence is given by the start of a life.",
            )
        return
    if closed_at is not None:
        raise StreamClosed(
            f"{append.stream} was ended at {closed_at}; a late write does not reopen it.",
            hint="What was tried is kept; `holdfast doctor` lists it.",
        )
    if fence is not None and fence == held and fence <= floor:
        raise ServerChanged(
            f"A copy of the server took over after {append.stream} began, and may lack that it was taken over.",
            hint="Start it again; or, if nothing is missing, a person runs `holdfast doctor --fix`.",
        )
    if fence is not None and fence != held:
        raise FenceLost(
            f"{append.stream} was taken over: fence {held} holds it now, this writer has {fence}.",
            hint="This life can write no more. What it tried is kept; `holdfast doctor` lists it.",
        )


def is_expected(append: Append, version: int, head_hash: bytes) -> bool:
    """Whether the stream is as the writer saw it; the hash tells a journal that was restored."""
    return (append.expected is None or append.expected == version) and (
        not append.after or append.after == head_hash.hex()
    )


def id_taken(append: Append) -> Conflict:
    """The refusal of an append that hides a known id behind a new one."""
    return Conflict(
        f"An append to {append.stream} holds an id that another record has already.",
        hint="Give every record an id of its own; the same command again begins with the same id.",
        kind="id_taken",
    )


def version_conflict(append: Append, version: int, lost_to: Record | None) -> VersionConflict:
    """The refusal of a writer who saw an older version, naming what it lost against."""
    winner = (
        f"{lost_to['kind']} {lost_to['id'][:8]} by {lost_to['actor']} at {lost_to['at']}"
        if lost_to
        else f"version {version}"
    )
    return VersionConflict(
        f"{append.stream} is at version {version}, not {append.expected}: it lost against {winner}.",
        hint="Read the stream again and decide again.",
    )


def find_record(journal: Journal, prefix: str) -> Record:
    """The record that an id or a unique prefix of one names."""
    found = journal.find(prefix.lower())
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            f"There is no record {prefix}.",
            hint="`holdfast history` lists the records and their ids.",
        )
    names = ", ".join(record["id"][:12] for record in found)
    raise NotFound(
        f"{prefix} is the beginning of several ids: {names}, ...",
        hint="Give one more letter.",
        kind="ambiguous",
    )
