"""LangGraph's checkpointer over the journal of a workspace, in SQLite or PostgreSQL."""

from __future__ import annotations

import asyncio
import copy
import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from functools import wraps
from threading import Lock
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.base import Checkpoint as GraphCheckpoint
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import INTERRUPT

from holdfast.contrib.langgraph.serializer import ALLOWED, list_refused
from holdfast.contrib.langgraph.store import Checkpoint, Threads, Typed, Write, stream_of, thread_of
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.streams import actor as current_user
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.registry import all_features

LONGEST_QUESTION = 500
# Where a checkpoint's metadata names the delta channels whose values go back to its ancestors.
DELTAS = "counters_since_delta_snapshot"


def alone(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let one thread at a time into the journal."""

    @wraps(method)
    def call(self: HoldfastSaver, *values: Any, **named: Any) -> Any:
        with self.enter():
            return method(self, *values, **named)

    return call


def in_thread(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the async form of a method."""

    @wraps(method)
    async def call(self: HoldfastSaver, *values: Any, **named: Any) -> Any:
        return await asyncio.to_thread(method, self, *values, **named)

    return call


class HoldfastSaver(BaseCheckpointSaver[Any]):
    """Stores a graph's checkpoints in the journal of a workspace. Each write is durable when it returns.

    All methods of LangGraph's checkpointers are there, blocking and async, and safe to call from any thread.

    Args:
        folder: A folder of the workspace. Its settings say whether the journal is a file or on a PostgreSQL server.
        allow: Classes that values may hold beside plain data, LangGraph's and LangChain's. Stored data never names
            code to import: a value with any other class is refused when it is put.
        serde: Another serializer, for example `EncryptedSerializer`. It decides by itself what may be loaded.
        actor: Who writes, in the journal. [default: HOLDFAST_ACTOR, or the user]

    Example:
        with HoldfastSaver(".") as saver:
            graph = builder.compile(checkpointer=saver)
            graph.invoke({"messages": []}, {"configurable": {"thread_id": "1"}})
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] = ".",
        *,
        allow: Collection[type] = (),
        serde: SerializerProtocol | None = None,
        actor: str = "",
    ) -> None:
        super().__init__(
            serde=serde or JsonPlusSerializer(allowed_msgpack_modules=[*ALLOWED, *allow])
        )
        all_features()
        self.workspace = discover(os.fspath(folder))
        self._actor = actor or current_user()
        self._process, self._lock = os.getpid(), Lock()
        self._opened: Threads | None = None

    def __enter__(self) -> HoldfastSaver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> HoldfastSaver:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal."""
        with self.enter():
            self._opened = None
            self.workspace.close()

    def enter(self) -> Lock:
        """Return the lock under which the journal is used. All threads of a process take turns on one connection:
        LangGraph starts new ones for each run."""
        if self._process != os.getpid():  # a forked child; its parent's lock may be held for ever
            self._process, self._lock, self._opened = os.getpid(), Lock(), None
        return self._lock

    @property
    def _threads(self) -> Threads:
        if self._opened is None:
            writer = open_writer(self.workspace)
            self.workspace.journal.share()
            self._opened = Threads(writer, self._actor)
        return self._opened

    # Reading

    @alone
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        stream, namespace = _stream_of(config), _namespace_of(config)
        id = get_checkpoint_id(config)
        if id:
            self._threads.look(stream)
            record = self._threads.find(stream, namespace, id)
        else:
            record = self._threads.find_newest(stream, namespace)
        return record and self._tuple_of(record)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self._list(config, filter or {}, before and get_checkpoint_id(before))
        while limit is None or limit > 0:
            with self.enter():
                one = next(found, None)
            if one is None:
                return
            yield one
            limit = None if limit is None else limit - 1

    async def alist(
        self, config: RunnableConfig | None, **wanted: Any
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, **wanted)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    def _list(
        self, config: RunnableConfig | None, filter: dict[str, Any], before: str | None
    ) -> Iterator[CheckpointTuple]:
        given = config["configurable"] if config else {}
        wanted = given.get("checkpoint_id")
        for stream in [_stream_of(config)] if config else self._threads.list_threads():
            namespace = given.get("checkpoint_ns")
            for record in self._threads.list_checkpoints(stream, namespace, before):
                if wanted in (None, "", record["body"]["checkpoint"]):
                    found = self._tuple_of(record)
                    if all(found.metadata.get(name) == value for name, value in filter.items()):
                        yield found

    def _tuple_of(self, record: Any) -> CheckpointTuple:
        stream, found = record["stream"], self._threads.open(record)
        checkpoint = self.serde.loads_typed(found.checkpoint)
        _refuse_newer(checkpoint, stream)
        checkpoint["channel_values"] = {
            channel: self.serde.loads_typed(value) for channel, value in found.values.items()
        }
        place = {"thread_id": thread_of(stream), "checkpoint_ns": found.namespace}
        parent = {"configurable": {**place, "checkpoint_id": found.parent}}
        writes = self._threads.read_writes(stream, found.namespace, found.id)
        return CheckpointTuple(
            {"configurable": {**place, "checkpoint_id": found.id}},
            checkpoint,
            self.serde.loads_typed(found.metadata),
            parent if found.parent else None,
            [(one.task, one.channel, self.serde.loads_typed(one.value)) for one in writes],
        )

    # Writing

    @alone
    def put(
        self,
        config: RunnableConfig,
        checkpoint: GraphCheckpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        stream, namespace = _stream_of(config), _namespace_of(config)
        parent, id = get_checkpoint_id(config), checkpoint["id"]
        told: dict[str, Any] = dict(get_checkpoint_metadata(config, metadata))
        versions = checkpoint["channel_versions"]
        known = self._threads.list_versions(stream, namespace, parent)
        carried, values = [], {}
        for channel, value in checkpoint["channel_values"].items():
            is_new = channel in new_versions or channel not in known
            if is_new or known[channel] != versions.get(channel):
                values[channel] = self._dump(value, f"the channel {channel}")
            else:
                carried.append(channel)
        self._threads.put(
            stream,
            Checkpoint(
                namespace=namespace,
                id=id,
                parent=parent,
                step=told.get("step"),
                source=str(told.get("source", "")),
                run=str(told.get("run_id", "")),
                checkpoint=self._dump({**checkpoint, "channel_values": {}}, "the checkpoint"),
                metadata=self._dump(told, "the metadata"),
                values=values,
                versions=dict(versions),
                carried=carried,
            ),
        )
        place = {"thread_id": config["configurable"]["thread_id"], "checkpoint_ns": namespace}
        return {"configurable": {**place, "checkpoint_id": id}}

    @alone
    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        id = get_checkpoint_id(config)
        if not id:
            raise Usage("Writes belong to a checkpoint, and the config names none.")
        asked: list[Any] = []
        stored = []
        for index, (channel, value) in enumerate(writes):
            if channel == INTERRUPT:
                asked += value if isinstance(value, (list, tuple)) else [value]
            typed = self._dump(value, f"the channel {channel}")
            number = WRITES_IDX_MAP.get(channel, index)
            stored.append(Write(task_id, task_path, number, channel, typed))
        self._threads.put_writes(
            _stream_of(config),
            _namespace_of(config),
            id,
            stored,
            replace=all(channel in WRITES_IDX_MAP for channel, _ in writes),
            asks=_describe_interrupts(asked) if asked else None,
        )

    def _dump(self, value: Any, what: str) -> Typed:
        try:
            type, data = self.serde.dumps_typed(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise Usage(
                f"The value of {what} cannot be stored: {error}. Nothing of this step was stored.",
                hint="Keep plain data, messages, dataclasses or Pydantic models in a graph's state.",
                kind="not_serialisable",
            ) from error
        refused = list_refused(self.serde, type, data)
        if refused:
            names = ", ".join(".".join(one) for one in refused)
            raise Usage(
                f"The value of {what} holds {names}, which would not be loaded again. Nothing of this step was stored.",
                hint=f"HoldfastSaver(..., allow=[{refused[0][-1]}]) lets values of this class come back.",
                kind="not_allowed_class",
            )
        return type, data

    # Removing and copying

    @alone
    def delete_thread(self, thread_id: str) -> None:
        self._threads.delete(stream_of(str(thread_id)))

    @alone
    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        wanted = {str(run) for run in run_ids}
        for stream in self._threads.list_threads() if wanted else ():
            self._threads.drop(stream, lambda one: one["body"]["run"] in wanted, why="runs")

    @alone
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = stream_of(str(source_thread_id)), stream_of(str(target_thread_id))
        self._threads.copy(source, target)

    @alone
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all checkpoints of these threads but the newest of each namespace, and those that a delta channel
        of it goes back to; or all, with the strategy `delete`."""
        if strategy not in ("keep_latest", "delete"):
            raise Usage(f"There is no strategy {strategy!r}.", hint="keep_latest, delete")
        for stream in map(stream_of, map(str, thread_ids)):
            if strategy == "delete":
                self._threads.delete(stream)
                continue
            kept = self._list_needed(stream)
            self._threads.drop(stream, lambda one, kept=kept: one["id"] not in kept, why=strategy)  # type: ignore[misc]

    def _list_needed(self, stream: str) -> set[str]:
        """Return the records of each namespace's newest checkpoint, and of its ancestors as far back as the values
        of its delta channels go."""
        kept, namespaces = set(), set()
        for record in self._threads.list_checkpoints(stream):
            namespace, at = record["body"]["ns"], record
            if namespace in namespaces:
                continue
            namespaces.add(namespace)
            metadata = self.serde.loads_typed(self._threads.open(record).metadata)
            missing = set(metadata.get(DELTAS) or ()).difference(at["body"]["values"])
            kept.add(at["id"])
            while missing and at["body"]["parent"]:
                parent = self._threads.find(stream, namespace, at["body"]["parent"])
                if parent is None:
                    break
                at = parent
                kept.add(at["id"])
                missing.difference_update(at["body"]["values"])
        return kept

    aget_tuple = in_thread(get_tuple)
    aput = in_thread(put)
    aput_writes = in_thread(put_writes)
    adelete_thread = in_thread(delete_thread)
    adelete_for_runs = in_thread(delete_for_runs)
    acopy_thread = in_thread(copy_thread)
    aprune = in_thread(prune)

    # The rest of the interface

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return a greater version. Threads of LangGraph's own savers have texts as versions."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.{random.random():016}"  # noqa: S311
        return (current or 0) + 1

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> HoldfastSaver:
        if not isinstance(self.serde, JsonPlusSerializer):
            return self
        with self.enter():
            _ = self._threads  # which the clone shares
        clone = copy.copy(self)
        clone.serde = self.serde.with_msgpack_allowlist(extra_allowlist)
        return clone


def _stream_of(config: RunnableConfig) -> str:
    thread = config["configurable"].get("thread_id")
    return stream_of("" if thread is None else str(thread))


def _namespace_of(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns") or "")


def _describe_interrupts(asked: Sequence[Any]) -> dict[str, Any]:
    asks = "; ".join(str(getattr(one, "value", one)) for one in asked)
    return {
        "interrupts": [str(getattr(one, "id", "")) for one in asked],
        "asks": asks[:LONGEST_QUESTION],
    }


def _refuse_newer(checkpoint: Any, stream: str) -> None:
    """Refuse a checkpoint that a newer LangGraph wrote, where LangGraph itself is loaded."""
    newest = getattr(sys.modules.get("langgraph.pregel._checkpoint"), "LATEST_VERSION", None)
    if newest is not None and checkpoint.get("v", 0) > newest:
        raise HoldfastError(
            f"The thread {thread_of(stream)} was written by a newer LangGraph (format {checkpoint['v']}); this one knows {newest}.",
            hint="Install the newer LangGraph. Nothing was changed.",
            kind="newer_format",
        )
