"""A journal in memory: for tests, and for a library user who wants the rules without a file."""

from __future__ import annotations

import copy
import threading

from holdfast.kernel import jsontext
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import Conflict
from holdfast.kernel.journal.chain import ORIGIN, seal
from holdfast.kernel.journal.interface import (
    Append,
    Unguarded,
    id_taken,
    is_expected,
    refuse_unless_current,
    snapshot_is_due,
    version_conflict,
    weight_of,
)
from holdfast.kernel.journal.scrub import scrubbed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from holdfast.kernel.journal.interface import (
        Anchored,
        Collected,
        Effect,
        Head,
        Loaded,
        Receipt,
        Record,
        Refusal,
        Sealed,
        ViewRow,
    )


class _Stream:
    def __init__(self, name: str) -> None:
        self.head: Head = {
            "stream": name,
            "version": 0,
            "fence": 0,
            "seen_at": "",
            "closed_at": None,
            "anchor_version": 0,
        }
        self.hash = self.anchor_hash = ORIGIN
        self.sealed: list[Sealed] = []
        self.snapshot: tuple[int, str] = (0, "")
        self.delta_bytes = 0

    def records(self) -> list[Record]:
        return [_handed_out(item) for item in self.sealed]


class MemoryJournal:
    """Keeps everything in dicts, under one lock."""

    place = "memory"
    read_only = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._grown = threading.Condition(self._lock)
        self._streams: dict[str, _Stream] = {}
        self._ids: dict[str, Sealed] = {}
        self._views: dict[tuple[str, str], ViewRow] = {}
        self._effects: dict[str, Effect] = {}
        self._refusals: list[Refusal] = []
        self._meta: dict[str, str] = {}
        self._seq = 0
        self._fence = 0

    def commit(
        self,
        appends: Sequence[Append],
        *,
        views: Sequence[ViewRow] = (),
        effects: Sequence[Effect] = (),
    ) -> list[Receipt]:
        with self._lock:
            repeated = self._repeated(appends)
            if repeated:
                return repeated
            receipts = self._append_all(appends)
            for row in views:
                self._views[row["worktree"], row["path"]] = row.copy()
            for effect in effects:
                for known in list(self._effects.values()):
                    if (known["kind"], known["key"]) == (effect["kind"], effect["key"]):
                        del self._effects[known["id"]]
                self._effects[effect["id"]] = effect.copy()
            self._grown.notify_all()
            return receipts

    def _append_all(self, appends: Sequence[Append]) -> list[Receipt]:
        """All or nothing: what the first ones wrote is taken back when a later one is refused."""
        before = copy.deepcopy((self._streams, self._seq, self._fence))
        receipts = []
        for append in appends:
            try:
                self._admit(append)
            except Conflict as conflict:
                self._streams, self._seq, self._fence = before
                self._ids = {
                    item["record"]["id"]: item
                    for stream in self._streams.values()
                    for item in stream.sealed
                }
                if not conflict.retryable:
                    self._keep_refused(append, conflict.message)
                raise
            receipts.append(self._append(append))
        return receipts

    def _repeated(self, appends: Sequence[Append]) -> list[Receipt]:
        first = next((append.drafts[0]["id"] for append in appends if append.drafts), "")
        known_streams = [append.stream for append in appends]
        if first not in self._ids or self._ids[first]["record"]["stream"] not in known_streams:
            return []
        receipts = []
        for append in appends:
            stream = self._streams[append.stream]
            known = [self._ids[draft["id"]] for draft in append.drafts if draft["id"] in self._ids]
            receipts.append(_receipt(stream, [_handed_out(item) for item in known], True))
        return receipts

    def _admit(self, append: Append) -> None:
        stream = self._streams.get(append.stream)
        refuse_unless_current(append, stream.head if stream else None)
        version = stream.head["version"] if stream else 0
        if not is_expected(append, version, stream.hash if stream else ORIGIN):
            lost_to = self.read(append.stream, after=append.expected or 0, limit=1)
            raise version_conflict(append, version, lost_to[0] if lost_to else None)
        if any(draft["id"] in self._ids for draft in append.drafts):
            raise id_taken(append)

    def _append(self, append: Append) -> Receipt:
        stream = self._streams.setdefault(append.stream, _Stream(append.stream))
        head = stream.head
        if append.grant:
            self._fence += 1
            head["fence"] = self._fence
        fence = head["fence"] if append.grant else append.fence
        written: list[Record] = []
        for draft in append.drafts:
            body_text = draft["text"]
            head["version"] += 1
            self._seq += 1
            salt, body_hash, record_hash = seal(
                stream.hash, append.stream, head["version"], fence, draft
            )
            record: Record = {
                "seq": self._seq,
                "id": draft["id"],
                "stream": append.stream,
                "version": head["version"],
                "at": draft["at"],
                "actor": draft["actor"],
                "fence": fence,
                "kind": draft["kind"],
                "body": jsontext.loads(body_text),
                "erased": False,
                "hash": record_hash.hex(),
            }
            item: Sealed = {
                "record": record,
                "salt": salt,
                "body_text": body_text,
                "body_hash": body_hash,
                "hash": record_hash,
            }
            stream.sealed.append(item)
            self._ids[draft["id"]] = item
            stream.hash = record_hash
            stream.delta_bytes += weight_of(body_text)
            head["seen_at"] = max(head["seen_at"], draft["at"])
            written.append(_handed_out(item))
        if append.state is not None and snapshot_is_due(
            stream.delta_bytes, len(stream.snapshot[1])
        ):
            self.snapshot(append.stream, head["version"], append.state)
        return _receipt(stream, written, False)

    def _keep_refused(self, append: Append, reason: str) -> None:
        first = append.drafts[0] if append.drafts else None
        self._refusals.append(
            {
                "id": new_id(),
                "stream": append.stream,
                "at": first["at"] if first else "",
                "actor": first["actor"] if first else "",
                "fence": append.fence,
                "reason": reason,
                "drafts": append.drafts,
            }
        )

    def alone(self, lost: int) -> Unguarded:
        return Unguarded()

    def load(self, stream: str) -> Loaded:
        with self._lock:
            known = self._streams.get(stream)
            if known is None:
                return {"head": None, "snapshot": None, "snapshot_version": 0, "records": []}
            version, text = known.snapshot
            return {
                "head": known.head.copy(),
                "snapshot": jsontext.loads(text) if text else None,
                "snapshot_version": version,
                "records": self.read(stream, after=version),
            }

    def load_all(self, prefix: str) -> list[Loaded]:
        names = (head["stream"] for head in self.heads(prefix))
        return [self.load(name) for name in names if "/" not in name[len(prefix) :]]

    def read(self, stream: str, *, after: int = 0, limit: int | None = None) -> list[Record]:
        with self._lock:
            known = self._streams.get(stream)
            records = known.records() if known else []
            return [record for record in records if record["version"] > after][:limit]

    def latest(
        self, *, stream: str = "", kind: str = "", before: int | None = None, limit: int = 50
    ) -> list[Record]:
        return [
            record
            for record in reversed(self.since(0, limit=self._seq))
            if _matches(record["stream"], stream)
            and (not kind or record["kind"] == kind)
            and (before is None or record["seq"] < before)
        ][:limit]

    def since(self, seq: int, *, limit: int = 1000) -> list[Record]:
        with self._lock:
            records = [record for known in self._streams.values() for record in known.records()]
            records.sort(key=lambda record: record["seq"])
            return [record for record in records if record["seq"] > seq][:limit]

    def wait(self, seq: int, seconds: float) -> bool:
        with self._grown:
            return self._grown.wait_for(lambda: self._seq > seq, seconds)

    def find(self, prefix: str, *, limit: int = 2) -> list[Record]:
        with self._lock:
            if prefix in self._ids:
                return [_handed_out(self._ids[prefix])]
            return [
                _handed_out(self._ids[id]) for id in sorted(self._ids) if id.startswith(prefix)
            ][:limit]

    def heads(self, prefix: str = "") -> list[Head]:
        with self._lock:
            return [
                self._streams[name].head.copy()
                for name in sorted(self._streams)
                if name.startswith(prefix)
            ]

    def head(self, stream: str) -> Head | None:
        with self._lock:
            known = self._streams.get(stream)
            return known.head.copy() if known else None

    def touch(self, stream: str, at: str) -> None:
        with self._lock:
            if stream in self._streams:
                head = self._streams[stream].head
                head["seen_at"] = max(head["seen_at"], at)

    def end(self, stream: str, at: str) -> None:
        with self._lock:
            if stream in self._streams:
                self._streams[stream].head["closed_at"] = at

    def snapshot(self, stream: str, version: int, state: Any) -> None:
        with self._lock:
            known = self._streams[stream]
            known.snapshot = (version, jsontext.dumps(state))
            known.delta_bytes = 0

    def erase(self, ids: Sequence[str]) -> int:
        with self._lock:
            erased = 0
            for id in ids:
                item = self._ids.get(id)
                if item and not item["record"]["erased"]:
                    item["salt"] = item["body_text"] = item["record"]["body"] = None
                    item["record"]["erased"] = True
                    erased += 1
            return erased

    def collect(self, *, before: str, keep: int) -> Collected:
        with self._lock:
            collected: Collected = {"records": 0, "streams": 0}
            for stream in self._streams.values():
                head = stream.head
                long_ended = head["closed_at"] is not None and head["closed_at"] < before
                last = min(head["version"] - keep, stream.snapshot[0])
                if long_ended:
                    last = head["version"]
                gone = 0
                for item in stream.sealed:
                    record = item["record"]
                    if (
                        record["version"] > last
                        or record["at"] >= before
                        or record["seq"] == self._seq
                    ):
                        break
                    gone += 1
                for item in stream.sealed[:gone]:
                    del self._ids[item["record"]["id"]]
                    stream.anchor_hash = item["hash"]
                    head["anchor_version"] = item["record"]["version"]
                del stream.sealed[:gone]
                collected["records"] += gone
                collected["streams"] += bool(gone)
            return collected

    def anchors(self) -> list[Anchored]:
        with self._lock:
            return [
                {
                    "stream": name,
                    "anchor_version": stream.head["anchor_version"],
                    "anchor_hash": stream.anchor_hash,
                    "version": stream.head["version"],
                    "hash": stream.hash,
                }
                for name, stream in sorted(self._streams.items())
            ]

    def sealed(self, stream: str) -> Iterator[Sealed]:
        return iter(list(self._streams[stream].sealed))

    def views(self, *, worktree: str = "", stream: str = "", path: str = "") -> list[ViewRow]:
        with self._lock:
            return [
                row.copy()
                for row in self._views.values()
                if (not worktree or row["worktree"] == worktree)
                and (not stream or row["stream"] == stream)
                and (not path or row["path"] == path)
            ]

    def effects(
        self, *, due: str = "", kinds: Sequence[str] = (), limit: int = 100
    ) -> list[Effect]:
        with self._lock:
            waiting = sorted(self._effects.values(), key=lambda effect: effect["due_at"])
            waiting = [one for one in waiting if not kinds or one["kind"] in kinds]
            return [effect.copy() for effect in waiting if not due or effect["due_at"] <= due][
                :limit
            ]

    def claim(self, effect: str, *, now: str, until: str) -> bool:
        with self._lock:
            known = self._effects.get(effect)
            if known is None or known["due_at"] > now:
                return False
            known["due_at"] = until
            known["attempts"] += 1
            return True

    def settle(self, effect: str, *, error: str = "", due_at: str = "") -> None:
        with self._lock:
            if not error:
                self._effects.pop(effect, None)
            elif effect in self._effects:
                self._effects[effect]["error"] = error
                self._effects[effect]["due_at"] = due_at

    def refusals(self, stream: str = "") -> list[Refusal]:
        with self._lock:
            return [
                refusal for refusal in self._refusals if not stream or refusal["stream"] == stream
            ]

    def scrub(self, text: str, mark: str) -> int:
        with self._lock:
            changed = 0
            rows: list[Any] = [*self._effects.values(), *self._refusals]
            for row in rows:
                clean = scrubbed(row, text, mark)
                changed += clean != row
                row.update(clean)
            return changed

    def get(self, key: str) -> str | None:
        return self._meta.get(key)

    def put(self, key: str, value: str) -> None:
        self._meta[key] = value

    def size(self) -> int:
        with self._lock:
            return sum(len(item["body_text"] or "") for item in self._ids.values())

    def damage(self) -> list[str]:
        return []

    def compact(self, *, always: bool = False) -> int:
        return 0

    def close(self) -> None:
        pass


def _handed_out(item: Sealed) -> Record:
    """A record that its reader may change without changing ours."""
    record = item["record"].copy()
    if item["body_text"] is not None:
        record["body"] = jsontext.loads(item["body_text"])
    return record


def _receipt(stream: _Stream, records: list[Record], duplicate: bool) -> Receipt:
    return {
        "stream": stream.head["stream"],
        "version": stream.head["version"],
        "fence": stream.head["fence"],
        "records": records,
        "duplicate": duplicate,
    }


def _matches(stream: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return stream.startswith(pattern[:-1])
    return not pattern or stream == pattern
