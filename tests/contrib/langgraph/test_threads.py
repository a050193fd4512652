"""Threads in the journal: values come back as they were put, growing values cost what they grow by."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contrib.langgraph.difference import apply_difference, find_difference
from holdfast.contrib.langgraph.store import Checkpoint, Threads, Write, stream_of, thread_of
from holdfast.kernel.errors import Conflict, HoldfastError, Usage
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import command
from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast

THREAD = stream_of("a/thread: with ünusual\nletters")
SECRET = "sk-ant-api03-" + "Zx9" * 30


def checkpoint(number: int, **values: bytes) -> Checkpoint:
    return Checkpoint(
        namespace="",
        id=f"{number:04}",
        parent=f"{number - 1:04}" if number else None,
        step=number,
        source="loop",
        run=f"run-{number // 2}",
        checkpoint=("msgpack", b"checkpoint %d" % number),
        metadata=("msgpack", b"metadata"),
        values={name: ("bytes", value) for name, value in values.items()},
        versions=dict.fromkeys(values, number),
    )


def growing(number: int) -> bytes:
    return number.to_bytes(3, "big") + b"".join(b"%02000d" % one for one in range(number))


@pytest.fixture
def threads(repository: Path) -> Iterator[Threads]:
    workspace = discover(str(repository))
    yield Threads(open_writer(workspace), "tester")
    workspace.close()


def read(threads: Threads, number: int) -> dict[str, bytes]:
    record = threads.find(THREAD, "", f"{number:04}")
    assert record is not None
    return {name: data for name, (_, data) in threads.open(record).values.items()}


@given(st.binary(min_size=600, max_size=900), st.binary(max_size=9), st.data())
def test_a_difference_gives_the_new_value(old: bytes, more: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(old)), min_size=2, max_size=2)))
    new = more + old[: cuts[0]] + more + old[cuts[1] :] + more
    found = find_difference(old, new)
    if found is not None:
        value = bytearray(old)
        apply_difference(value, *found)
        assert bytes(value) == new


def test_a_growing_value_costs_what_it_grows_by(threads: Threads) -> None:
    for number in range(120):
        threads.put(THREAD, checkpoint(number, items=growing(number), same=b"x" * 5000))
    for number in (0, 1, 63, 64, 65, 119):
        assert read(threads, number) == {"items": growing(number), "same": b"x" * 5000}
    sizes = [sum(one["body"]["sizes"]) for one in threads.list_records(THREAD)]
    assert sum(sizes) < 4 * len(growing(120)), "each value whole would be 60 times as much"
    other = Threads(threads._writer, "other")
    other.put(THREAD, checkpoint(120, items=growing(120)))
    (newest, *_) = other.list_records(THREAD)
    assert "from" in newest["body"]["values"]["items"], (
        "another process, too, stores what was added"
    )
    assert read(other, 120) == {"items": growing(120)}


def test_values_are_not_redacted_and_faces_do_not_show_them(
    threads: Threads, holdfast: Holdfast
) -> None:
    threads.put(THREAD, checkpoint(0, key=SECRET.encode()))
    asks = {"interrupts": ["i"], "asks": f"Is {SECRET} the right key?"}
    write = Write("task", "", 0, "key", ("bytes", SECRET.encode()))
    threads.put_writes(THREAD, "", "0000", [write], replace=False, asks=asks)
    assert read(threads, 0) == {"key": SECRET.encode()}
    assert threads.read_writes(THREAD, "", "0000") == [write]
    record = next(threads.list_records(THREAD))
    for words in (
        ["status"],
        ["history"],
        ["show", record["id"], "--json"],
        ["show", THREAD, "--json"],
    ):
        shown = holdfast(*words)
        assert shown.code == 0
        assert SECRET not in shown.out + shown.err
        assert record["body"]["data"] not in shown.out
    assert "waits for a person: Is [" in holdfast("status").out
    (about,) = [one["about"] for one in holdfast("status", "--json").data["streams"]]
    assert about.startswith("step 0, waits for a person: Is [")


def test_what_a_thread_asks_is_found_without_langgraph(
    threads: Threads, holdfast: Holdfast
) -> None:
    def found(question: str) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = holdfast("find", "--here", "--json", question).data["hits"]
        return hits

    threads.put(THREAD, checkpoint(0, key=b"a value"))
    assert found("zebra") == []
    asks = {"interrupts": ["i"], "asks": f"Ship the zebra migration with {SECRET}?"}
    write = Write("task", "", 0, "key", ("bytes", b"a write"))
    threads.put_writes(THREAD, "", "0000", [write], replace=False, asks=asks)
    (hit,) = found("zebra")
    assert (hit["client"], hit["session"]) == ("LangGraph", THREAD)
    assert hit["request"].startswith("Ship the zebra migration")
    assert SECRET not in str(hit)
    assert not hit["is_kept"]
    assert hit["open"] == command("show", THREAD)
    assert holdfast("show", THREAD).code == 0
    threads.delete(THREAD)
    assert found("zebra") == []


def test_a_purge_reaches_values_also_where_only_a_part_was_added(
    threads: Threads, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, rest = b"y" * 2000 + SECRET[:40].encode(), SECRET[40:].encode()
    threads.put(THREAD, checkpoint(0, text=b"y" * 2000))
    threads.put(THREAD, checkpoint(1, text=begun))
    threads.put(THREAD, checkpoint(2, text=begun + rest))
    threads.put(THREAD, checkpoint(3, other=b"z", text=begun + rest))
    threads.put_writes(
        THREAD, "", "0001", [Write("t", "", 0, "c", ("bytes", SECRET.encode()))], replace=False
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SECRET.encode())))
    done = holdfast("purge", "--matching", "--yes")
    assert done.code == 0, done.err
    assert threads.read_writes(THREAD, "", "0001") == []
    newest = threads.find_newest(THREAD, "")
    assert newest is not None
    assert newest["body"]["checkpoint"] == "0001", "the last one without the text"
    assert read(threads, 1) == {"text": begun}
    assert list(threads.find_text(THREAD, [SECRET.encode()])) == []


def test_who_writes_second_is_told(threads: Threads, repository: Path) -> None:
    threads.put(THREAD, checkpoint(0))
    workspace = discover(str(repository))
    other = Threads(open_writer(workspace), "other")
    assert threads.look(THREAD) == other.look(THREAD)
    threads.put(THREAD, checkpoint(1))
    with pytest.raises(Conflict, match="Another process wrote to this thread"):
        other.put(THREAD, checkpoint(2))
    with pytest.raises(Conflict):
        other.put_writes(THREAD, "", "0000", [], replace=False)
    other.look(THREAD)
    other.put(THREAD, checkpoint(2))
    assert [one["body"]["checkpoint"] for one in threads.list_records(THREAD)] == [
        "0002",
        "0001",
        "0000",
    ]
    workspace.close()


def test_what_stays_outlives_what_it_was_made_of(threads: Threads) -> None:
    for number in range(6):
        threads.put(THREAD, checkpoint(number, items=growing(number), kept=b"k" * 900))
    dropped = threads.drop(THREAD, lambda one: one["body"]["run"] != "run-2", why="test")
    assert dropped == 4
    assert {one["body"]["checkpoint"] for one in threads.list_records(THREAD)} == {"0004", "0005"}
    for number in (4, 5):
        assert read(threads, number) == {"items": growing(number), "kept": b"k" * 900}
    for number in (6, 7):
        threads.put(THREAD, checkpoint(number, items=growing(number)))
    threads.drop(THREAD, lambda one: one["body"]["checkpoint"] != "0007", why="test")
    assert read(threads, 7) == {"items": growing(7)}
    threads.delete(THREAD)
    assert list(threads.list_records(THREAD)) == []
    assert threads.find_newest(THREAD, "") is None


def test_values_that_another_process_pruned_are_not_built_on(
    threads: Threads, repository: Path
) -> None:
    for number in range(4):
        threads.put(THREAD, checkpoint(number, items=growing(number), kept=b"k" * 900))
    workspace = discover(str(repository))
    other = Threads(open_writer(workspace), "other")
    other.drop(THREAD, lambda one: one["body"]["checkpoint"] != "0003", why="test")
    workspace.close()
    with pytest.raises(Conflict):
        threads.put(THREAD, checkpoint(4, items=growing(4), kept=b"k" * 900))
    threads.look(THREAD)
    threads.put(THREAD, checkpoint(4, items=growing(4), kept=b"k" * 900))
    for number in (3, 4):
        assert read(threads, number) == {"items": growing(number), "kept": b"k" * 900}


def test_old_records_of_a_thread_outlive_gc(
    threads: Threads, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        threads.put(THREAD, checkpoint(number, value=b"%d" % number))
    monkeypatch.setenv("HOLDFAST_RETENTION_DAYS", "0")
    monkeypatch.setenv("HOLDFAST_RETENTION_KEEP", "0")
    holdfast("note", "old")
    assert holdfast("gc").code == 0
    assert [read(threads, number) for number in range(5)] == [
        {"value": b"%d" % one} for one in range(5)
    ]


def test_names_of_threads() -> None:
    for name in ("a/b", "../..", "a\nb", "ünï", "\udcff", "x" * 100):
        assert thread_of(stream_of(name)) == name
        assert "/" not in stream_of(name)
    for name in ("", "x" * 1000):
        with pytest.raises(Usage):
            stream_of(name)


def test_a_newer_format_is_refused(threads: Threads) -> None:
    threads.put(THREAD, checkpoint(0, value=b"v"))
    record = next(threads.list_records(THREAD))
    record["body"]["format"] = 2
    with pytest.raises(HoldfastError, match="records of format 2"):
        threads.open(record)


def test_hooks_load_nothing_of_it() -> None:
    code = "import sys, holdfast.hooks.run; from holdfast import registry; registry.features();"
    code += "print([one for one in sys.modules if 'contrib' in one])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
