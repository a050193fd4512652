"""Threads of graphs in the words of people, what of them waits for a person, and what a purge finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from holdfast.contrib.langgraph.rules.thread import ThreadState
from holdfast.contrib.langgraph.store import Threads, list_newest, thread_of
from holdfast.kernel.erased_text import list_bytes
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import command, one_line, plural
from holdfast.kernel.workspace import Workspace
from holdfast.parts import Copies, Words
from holdfast.registry import WAITS, Attention

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


def _tell_put(record: Record, body: dict[str, Any]) -> str:
    new = sorted(channel for channel, entry in body["values"].items() if "part" in entry)
    step = "" if body["step"] is None else f"step {body['step']}"
    values = f"new: {', '.join(new)}" if new else ""
    return ", ".join(filter(None, (step, body["source"], body["ns"], values)))


def _tell_written(record: Record, body: dict[str, Any]) -> str:
    if body["asks"]:
        return f"asks: {body['asks']['asks']}"
    return ", ".join(sorted({channel for _, _, _, channel, _ in body["writes"]}))


def _tell_about(state: ThreadState) -> str:
    step = "" if state["step"] is None else f"step {state['step']}"
    waits = f"waits for a person: {state['waits']['asks']}" if state["waits"] else state["source"]
    return ", ".join(filter(None, (step, waits))) if state["greatest"] else "deleted"


def _find_records(workspace: Workspace, text: str) -> Iterator[str]:
    threads = Threads(open_writer(workspace), "holdfast")
    for stream in threads.list_threads():
        yield from threads.find_text(stream, list_bytes(text))


COPIES = Copies(find_records=_find_records)
WORDS = Words(
    about=_tell_about,
    hidden=("data",),
    words={"put": "checkpoint", "written": "writes"},
    texts={
        "put": _tell_put,
        "written": _tell_written,
        "pruned": lambda _, body: plural(body["checkpoints"], "checkpoint"),
        "deleted": lambda _, body: plural(body["records"], "record"),
    },
    tones={"written": lambda body: "wait" if body.get("asks") else "", "deleted": "bad"},
)


def find_waiting(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the threads whose graph waits for a person."""
    if workspace.exists():
        for stream, state in list_newest(workspace.journal):
            if state["waits"]:
                what = (
                    f"Graph thread {thread_of(stream)} waits for a person: {state['waits']['asks']}"
                )
                yield Attention(one_line(what), command("show", stream), WAITS)
