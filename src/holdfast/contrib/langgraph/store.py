"""Threads of graphs in the journal: one stream a thread, one record for each checkpoint and for each task's writes.

A checkpoint's record holds the values that are new in it, each whole or as what it adds to the value before, and the
versions of the records that hold its other values. Nothing here knows LangGraph or what a value means: values are
bytes with the serializer's name for their type.
"""

from __future__ import annotations

import contextlib
import sys
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from holdfast.contrib.langgraph.difference import apply_difference, find_difference
from holdfast.contrib.langgraph.rules import thread as rules
from holdfast.contrib.langgraph.rules.thread import ThreadState
from holdfast.journal.interface import RECORD_WEIGHT
from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import id_of, new_id
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.state import load, read_all
from holdfast.kernel.streams import rules_of
from holdfast.kernel.writer import Writer

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.rules import Rules


STREAMS = "graph:"
# The format of the records' bodies.
FORMAT = 1
LONGEST_NAME = 400
# The first digits of the ids of a checkpoint's records follow from its name, so that they are found by it.
KEY_LENGTH = 20
AT_ONCE = 200
MOST_WRITES = 100_000
# Threads whose newest values are kept in memory, so that the next checkpoint stores what they add.
MOST_KNOWN = 32
MOST_SHOWN = 100

# A value as the serializer gives it: the name of its type, and its bytes.
Typed = tuple[str, bytes]
# Where a value is stored: the version of a record, and the channel.
Source = tuple[int, str]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint to be stored, or one that was read. `versions` are those of the channels; the values of the
    channels that are `carried` are the parent's."""

    namespace: str
    id: str
    parent: str | None
    step: int | None
    source: str
    run: str
    checkpoint: Typed
    metadata: Typed
    values: Mapping[str, Typed]
    versions: Mapping[str, Any] = field(default_factory=dict)
    carried: Sequence[str] = ()


@dataclass(frozen=True)
class Write:
    """One value that a task wrote."""

    task: str
    path: str
    index: int
    channel: str
    value: Typed


@dataclass
class Known:
    """What a process knows of a thread: the newest record it has read, by id and version, and the newest checkpoint
    of a namespace with its values."""

    last: str | None = None
    version: int = 0
    namespace: str = ""
    checkpoint: str = ""
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    values: dict[str, Typed] = field(default_factory=dict)


def stream_of(thread: str) -> str:
    """Return the stream of a thread. Every text names one, with slashes too."""
    if not thread:
        raise Usage("A thread needs a name.", hint='{"configurable": {"thread_id": "..."}}')
    stream = STREAMS + quote(thread, safe="", errors="surrogatepass")
    if len(stream) > LONGEST_NAME:
        raise Usage(f"The thread's name is too long ({len(thread)} characters).")
    return stream


def thread_of(stream: str) -> str:
    """Return the name of a stream's thread."""
    return unquote(stream.removeprefix(STREAMS), errors="surrogatepass")


def key_of(stream: str, namespace: str, id: str, kind: str) -> str:
    """Return what the ids of a checkpoint's records of one kind begin with."""
    return id_of("\0".join((stream, namespace, id, kind)))[:KEY_LENGTH]


def seal(parts: Sequence[bytes]) -> dict[str, Any]:
    """Return bytes as a record's body holds them."""
    data = b64encode(zlib.compress(b"".join(parts), 1)).decode()
    return {"format": FORMAT, "sizes": [len(part) for part in parts], "data": data}


def unseal(record: Record) -> list[bytes]:
    """Return the bytes that a record holds."""
    body = record["body"]
    if body is None:
        raise HoldfastError(
            f"A value of the thread {thread_of(record['stream'])} was erased (record {record['id'][:12]}).",
            hint="Continue from an earlier checkpoint: graph.get_state_history(config) lists them.",
            kind="erased_value",
        )
    refuse_newer(record)
    data, parts, at = zlib.decompress(b64decode(body["data"])), [], 0
    for size in body["sizes"]:
        parts.append(data[at : at + size])
        at += size
    return parts


def refuse_newer(record: Record) -> None:
    """Refuse a record in a format that only a newer Holdfast knows."""
    found = record["body"]["format"]
    if found > FORMAT:
        raise HoldfastError(
            f"The thread {thread_of(record['stream'])} has records of format {found}; this Holdfast knows {FORMAT}.",
            hint="Install the newer Holdfast that wrote it. Nothing was changed.",
            kind="newer_format",
        )


class Threads:
    """The threads of one journal. Only one thread of a process may use it."""

    def __init__(self, writer: Writer, actor: str) -> None:
        self._writer = writer
        writer.rules_of = _find_rules
        self._actor = actor
        self._known: dict[str, Known] = {}

    @property
    def journal(self) -> Journal:
        return self._writer.workspace.journal

    # Writing

    def list_versions(self, stream: str, namespace: str, id: str | None) -> dict[str, Any]:
        """Return the versions of the values that a checkpoint's child may carry."""
        known = self._know(stream, namespace, id)
        return {channel: entry["v"] for channel, entry in known.entries.items()}

    def put(self, stream: str, checkpoint: Checkpoint, *, is_whole: bool = False) -> None:
        """Store a checkpoint, durably. One that is stored as a whole needs no other record."""
        known = Known()
        if not is_whole:
            known = self._know(stream, checkpoint.namespace, checkpoint.parent)
        parts = [checkpoint.checkpoint[1], checkpoint.metadata[1]]
        values = {channel: known.values[channel] for channel in checkpoint.carried}
        values.update(checkpoint.values)
        entries = {}
        for channel, value in values.items():
            before, old = known.entries.get(channel), known.values.get(channel)
            version = checkpoint.versions.get(channel)
            if before and old == value:
                entries[channel] = {"v": version, "at": before["at"]}
            else:
                entries[channel] = _make_entry(value, version, before, old, parts)
        body = {
            **seal(parts),
            "ns": checkpoint.namespace,
            "checkpoint": checkpoint.id,
            "parent": checkpoint.parent,
            "step": checkpoint.step,
            "source": checkpoint.source,
            "run": checkpoint.run,
            "types": [checkpoint.checkpoint[0], checkpoint.metadata[0]],
            "values": entries,
        }
        key = key_of(stream, checkpoint.namespace, checkpoint.id, rules.PUT)
        self._keep(stream, self._append(stream, key, rules.PUT, body), values)

    def put_writes(
        self,
        stream: str,
        namespace: str,
        id: str,
        writes: Sequence[Write],
        *,
        replace: bool,
        asks: Any = None,
    ) -> None:
        """Store what tasks wrote after a checkpoint. `asks` is what the graph asks a person then."""
        body = {
            **seal([write.value[1] for write in writes]),
            "ns": namespace,
            "checkpoint": id,
            "replace": replace,
            "asks": asks and {**asks, "asks": self._writer.redactor.text(asks["asks"])},
            "writes": [
                [one.task, one.path, one.index, one.channel, one.value[0]] for one in writes
            ],
        }
        self._append(stream, key_of(stream, namespace, id, rules.WRITTEN), rules.WRITTEN, body)

    def delete(self, stream: str) -> None:
        """Erase everything of a thread."""
        if self.look(stream) is not None:
            records = [one["id"] for one in self.journal.read(stream) if not one["erased"]]
            record = self._append(stream, "", rules.DELETED, {"records": len(records)})
            self.journal.erase(records)
            self._known[stream] = Known(record["id"], record["version"])

    def drop(self, stream: str, is_dropped: Callable[[Record], bool], *, why: str) -> int:
        """Erase checkpoints and their writes. What a checkpoint that stays has of them is stored again first.
        Return how many were erased."""
        self.look(stream)  # who writes to it from here on makes this fail before anything is erased
        dropped: list[Record] = []
        kept: list[Record] = []
        for record in self.list_records(stream):
            (dropped if is_dropped(record) else kept).append(record)
        if not dropped:
            return 0
        gone = {record["version"] for record in dropped}
        held = {record["version"]: record for record in (*dropped, *kept)}
        tips: dict[str, str] = {}
        for record in sorted(kept, key=lambda one: str(one["body"]["checkpoint"])):
            tips[record["body"]["ns"]] = record["body"]["checkpoint"]
            if gone.intersection(self._list_sources(record, held)):
                self.put(stream, self.open(record), is_whole=True)
        ids = [
            one["id"]
            for record in dropped
            for kind in (rules.PUT, rules.WRITTEN)
            for one in self._find(stream, record["body"]["ns"], record["body"]["checkpoint"], kind)
        ]
        body = {"why": why, "checkpoints": len(dropped), "tips": tips}
        record = self._append(stream, "", rules.PRUNED, body)
        self.journal.erase(ids)
        self._known[stream] = Known(record["id"], record["version"])
        return len(dropped)

    def copy(self, source: str, target: str) -> int:
        """Copy the checkpoints of a thread, and their writes, into another one. Return how many."""
        records = sorted(self.list_records(source), key=lambda one: str(one["body"]["checkpoint"]))
        for record in records:
            checkpoint = self.open(record)
            self.put(target, checkpoint)
            writes = self.read_writes(source, checkpoint.namespace, checkpoint.id)
            if writes:
                self.put_writes(target, checkpoint.namespace, checkpoint.id, writes, replace=False)
        return len(records)

    def _append(self, stream: str, key: str, kind: str, body: dict[str, Any]) -> Record:
        known = self._known.get(stream) or Known()
        id = key + new_id()[: 32 - len(key)]
        command = {"do": "append", "seen": known.last, "records": [[kind, body]]}
        order = Order(stream, command)
        (outcome,) = commit(self._writer, [order], actor=self._actor, now=clock.now(), id=id)
        record: Record = outcome["records"][-1]
        while len(self._known) >= MOST_KNOWN and stream not in self._known:
            del self._known[next(iter(self._known))]
        known.last, known.version = record["id"], record["version"]
        self._known[stream] = known
        return record

    # What this process knows

    def _keep(self, stream: str, record: Record, values: dict[str, Typed]) -> None:
        known, body = self._known[stream], record["body"]
        known.namespace, known.checkpoint, known.values = body["ns"], body["checkpoint"], values
        known.entries = {
            channel: {**entry, "at": entry.get("at", record["version"])}
            for channel, entry in body["values"].items()
        }

    def _know(self, stream: str, namespace: str, id: str | None) -> Known:
        """Return what is known of a thread, with the values of a checkpoint if there is one."""
        known = self._known.get(stream) or Known()
        if (known.namespace, known.checkpoint) == (namespace, id or ""):
            return known
        record = self.find(stream, namespace, id) if id else None
        if record is None:
            return Known()
        try:
            values = dict(self.open(record).values)
        except HoldfastError:  # erased: everything is stored whole
            return Known()
        self._known[stream] = known
        self._keep(stream, record, values)
        return known

    def look(self, stream: str) -> ThreadState | None:
        """Return a thread's state; None where there is no such thread. The next write is refused if another
        process writes before it."""
        if not self._writer.workspace.exists():
            return None
        state, head = self._writer.load_with_head(stream)
        if head is None:
            return None
        self._writer.remember(stream, state, head)
        known = self._known.pop(stream, None)
        if known is None or (known.last, known.version) != (state["last"], head["version"]):
            # Another process may have erased what the values are made of.
            known = Known(state["last"], head["version"])
        while len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[stream] = known
        return state  # type: ignore[no-any-return]

    # Reading

    def find(self, stream: str, namespace: str, id: str) -> Record | None:
        """Return the record of a checkpoint; None where there is none."""
        found = self._find(stream, namespace, id, rules.PUT)
        return max(found, key=lambda one: one["version"], default=None)

    def find_newest(self, stream: str, namespace: str) -> Record | None:
        """Return the record of a namespace's newest checkpoint."""
        state = self.look(stream)
        if state is None:
            return None
        id = state["tips"].get(namespace)
        found = self.find(stream, namespace, id) if id else None
        return found or next(self.list_checkpoints(stream, namespace), None)

    def _find(self, stream: str, namespace: str, id: str, kind: str) -> list[Record]:
        found = self.journal.find(key_of(stream, namespace, id, kind), limit=MOST_WRITES)
        return [one for one in found if one["stream"] == stream and not one["erased"]]

    def read_writes(self, stream: str, namespace: str, id: str) -> list[Write]:
        """Return what tasks wrote after a checkpoint, in the order in which a step applies it."""
        found: dict[tuple[str, int], Write] = {}
        records = self._find(stream, namespace, id, rules.WRITTEN)
        for record in sorted(records, key=lambda one: one["version"]):
            body, parts = record["body"], unseal(record)
            for (task, path, index, channel, type), data in zip(body["writes"], parts, strict=True):
                if body["replace"] or (task, index) not in found:
                    found[task, index] = Write(task, path, index, channel, (type, data))
        return sorted(found.values(), key=lambda one: (one.path, one.task, one.index))

    def open(self, record: Record, made: dict[Source, Typed] | None = None) -> Checkpoint:
        """Return the checkpoint of a record, with its values. `made` keeps them for the next one."""
        body, parts = record["body"], unseal(record)
        held = {record["version"]: record}
        made = {} if made is None else made
        values = {}
        for channel, entry in body["values"].items():
            at = entry.get("at", record["version"])
            if (at, channel) not in made:
                made[at, channel] = self._read_value(record["stream"], (at, channel), held, made)
            values[channel] = made[at, channel]
        versions = {channel: entry["v"] for channel, entry in body["values"].items()}
        return Checkpoint(
            namespace=body["ns"],
            id=body["checkpoint"],
            parent=body["parent"],
            step=body["step"],
            source=body["source"],
            run=body["run"],
            checkpoint=(body["types"][0], parts[0]),
            metadata=(body["types"][1], parts[1]),
            values=values,
            versions=versions,
        )

    def _read_value(
        self, stream: str, source: Source, held: dict[int, Record], made: Mapping[Source, Typed]
    ) -> Typed:
        """Return the value that a record holds: the last one that is made already or was stored whole, and each
        difference since. `held` keeps the records that were read."""
        version, channel = source
        if version not in held:
            read = self.journal.read(stream, after=version - 1, limit=1)
            held |= {one["version"]: one for one in read}
        chain = [_entry_of(held, stream, version, channel)]
        positions, value = [version], bytearray()
        while "from" in chain[-1]:
            at = chain[-1]["from"]
            if (at, channel) in made:
                value += made[at, channel][1]
                break
            if at not in held:
                base = chain[-1]["base"]
                read = self.journal.read(stream, after=base - 1, limit=at - base + 1)
                held |= {one["version"]: one for one in read}
            chain.append(_entry_of(held, stream, at, channel))
            positions.append(at)
        for at, entry in zip(reversed(positions), reversed(chain), strict=True):
            part = unseal(held[at])[entry["part"]]
            if "from" in entry:
                apply_difference(value, entry["cut"], part)
            else:
                value += part
        return chain[0]["type"], bytes(value)

    def _list_sources(self, record: Record, held: dict[int, Record]) -> set[int]:
        """Return the versions of the records that a checkpoint's values are made of."""
        found = set()
        for channel, entry in record["body"]["values"].items():
            at = entry.get("at", record["version"])
            while at:
                found.add(at)
                if at not in held:
                    (held[at],) = self.journal.read(record["stream"], after=at - 1, limit=1)
                body = held[at]["body"]
                at = body["values"][channel].get("from", 0) if body else 0
        return found

    def list_records(self, stream: str) -> Iterator[Record]:
        """Return the records of a thread's checkpoints, the newest first, as they are now."""
        head = self.journal.head(stream)
        before, seen = head["version"] if head else 0, set()
        while before > 0:
            after = max(0, before - AT_ONCE)
            for record in reversed(self.journal.read(stream, after=after, limit=before - after)):
                if record["kind"] == rules.PUT and not record["erased"]:
                    key = record["body"]["ns"], record["body"]["checkpoint"]
                    if key not in seen:
                        seen.add(key)
                        yield record
            before = after

    def list_checkpoints(
        self, stream: str, namespace: str | None = None, before: str | None = None
    ) -> Iterator[Record]:
        """Return the records of a thread's checkpoints by their ids, the greatest first."""
        state = self.look(stream)
        if state is None:
            return
        found: Iterable[Record] = self.list_records(stream)
        if not state["is_ordered"]:
            found = sorted(found, key=lambda one: str(one["body"]["checkpoint"]), reverse=True)
        for record in found:
            body = record["body"]
            if namespace in (None, body["ns"]) and (before is None or body["checkpoint"] < before):
                yield record

    def find_text(self, stream: str, wanted: Sequence[bytes]) -> Iterator[str]:
        """Return the records of a thread whose values hold one of these texts, whole or in parts."""
        made: dict[Source, Typed] = {}
        for record in read_all(self.journal, stream, sys.maxsize):
            found: list[bytes] = []
            with contextlib.suppress(HoldfastError):  # what it is made of was erased
                if record["kind"] == rules.WRITTEN:
                    found = unseal(record)
                elif record["kind"] == rules.PUT:
                    checkpoint = self.open(record, made)
                    found = [checkpoint.checkpoint[1], checkpoint.metadata[1]]
                    found += [data for _, data in checkpoint.values.values()]
            while len(made) > AT_ONCE:
                del made[next(iter(made))]
            if any(form in data for data in found for form in wanted):
                yield record["id"]

    def list_threads(self) -> list[str]:
        """Return the streams of all threads."""
        return [head["stream"] for head in self.journal.heads(STREAMS)]


def _find_rules(stream: str) -> Rules:
    """Return the rules of a stream; those of threads without a look through all features."""
    return rules if stream.startswith(STREAMS) else rules_of(stream)


def list_newest(journal: Journal) -> Iterator[tuple[str, ThreadState]]:
    """Return the threads that were written to last and hold something, with their states."""
    for stream in journal.newest(STREAMS, limit=MOST_SHOWN):
        state: ThreadState = load(journal, rules, stream)[0]
        if state["greatest"]:
            yield stream, state


def _make_entry(
    value: Typed, version: Any, before: dict[str, Any] | None, old: Typed | None, parts: list[bytes]
) -> dict[str, Any]:
    """Return where a record holds a value, and add its bytes to `parts`. A value is stored whole again once what was
    added to it since weighs as much as it does."""
    type, data = value
    entry = {"v": version, "type": type, "part": len(parts)}
    found = find_difference(old[1], data) if before and old and old[0] == type else None
    if found and before:
        cut, literal = found
        weight = before.get("weight", 0) + len(literal) + RECORD_WEIGHT
        if weight <= len(data):
            parts.append(literal)
            base = before.get("base", before["at"])
            return {**entry, "cut": cut, "from": before["at"], "base": base, "weight": weight}
    parts.append(data)
    return entry


def _entry_of(
    held: Mapping[int, Record], stream: str, version: int, channel: str
) -> dict[str, Any]:
    record = held.get(version)
    if record is None:
        raise HoldfastError(
            f"The thread {thread_of(stream)} lacks its record {version}: `gc` of an older Holdfast may have removed it.",
            hint="Continue from an earlier checkpoint: graph.get_state_history(config) lists them.",
            kind="erased_value",
        )
    if record["body"] is None:
        unseal(record)
    refuse_newer(record)
    entry: dict[str, Any] = record["body"]["values"][channel]
    return entry
