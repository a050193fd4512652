"""The texts of threads for `holdfast find`: the messages and texts of each thread's newest checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from holdfast.contrib.langgraph.store import STREAMS, Threads, Typed
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import Workspace
from holdfast.parts import Searched

MOST_SEARCHED = 1000
SPEAKERS = {"HumanMessage": "asked", "AIMessage": "said"}
# What a message has beside its text.
FIELDS_LEFT_OUT = frozenset(("id", "type", "name", "response_metadata", "usage_metadata"))


class Named(NamedTuple):
    """An object of a class, which is not imported: the class's name and what it is made of."""

    name: str
    value: Any


def list_texts(workspace: Workspace) -> Iterator[Searched]:
    """Return the threads of a journal, those that were written to last first."""
    journal = workspace.journal
    threads = Threads(open_writer(workspace), "holdfast")
    for stream in journal.newest(STREAMS, limit=MOST_SEARCHED):
        head = journal.head(stream)
        if head is not None:
            read = partial(_read, threads, stream)
            yield Searched(
                title="LangGraph",
                stream=stream,
                version=head["version"],
                at=head["seen_at"],
                read=read,
            )


def _read(threads: Threads, stream: str) -> list[tuple[str, str]]:
    """Return the texts of a thread, each with who said it. What a tool answered is left out, as that of a client's is."""
    state, record = threads.look(stream), threads.find_newest(stream, "")
    try:
        values = threads.open(record).values if record is not None else {}
    except HoldfastError:  # erased
        values = {}
    found = [
        text
        for channel, value in values.items()
        if not channel.startswith(("branch:", "__pregel"))
        for text in _texts_in(_unpack(value), "noted")
    ]
    return [*found, ("said", state["waits"]["asks"])] if state and state["waits"] else found


def _unpack(value: Typed) -> Any:
    try:
        import ormsgpack
    except ModuleNotFoundError:  # LangGraph is in another environment
        return None

    def name(code: int, data: bytes) -> Any:
        found = unpack(data)
        if isinstance(found, list) and len(found) > 2 and isinstance(found[1], str):
            return Named(found[1], found[2])
        return None

    def unpack(data: bytes) -> Any:
        return ormsgpack.unpackb(data, ext_hook=name, option=ormsgpack.OPT_NON_STR_KEYS)

    try:
        return unpack(value[1]) if value[0] == "msgpack" else None
    except ValueError:
        return None


def _texts_in(value: Any, what: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Named):
        if value.name != "ToolMessage":
            yield from _texts_in(value.value, SPEAKERS.get(value.name, what))
    elif isinstance(value, str):
        if value.strip():
            yield what, value
    elif isinstance(value, list):
        for one in value:
            yield from _texts_in(one, what)
    elif isinstance(value, dict):
        for key, one in value.items():
            if key not in FIELDS_LEFT_OUT:
                yield from _texts_in(one, what)
