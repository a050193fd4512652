"""One durable record through the library, redaction included, against append and fdatasync."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import apsw

from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from bench.peer_dbos import Worker
from bench.peer_langgraph import Saver
from bench.subject import ACTOR, STREAM, Latest, bench_writer, body
from holdfast.journal.sqlite import CHECKPOINT_PAGES
from holdfast.kernel import canonical_json, clock

FLOOR, OURS, SUSPECT = "append + fdatasync", "record", "suspect record"
# What SQLite takes for the same bytes in one page, and nothing else.
COMMIT = "one WAL commit of the same bytes"
LANGGRAPH, DBOS = "LangGraph SqliteSaver.put", "DBOS, a workflow of one step"


def measure(plan: Plan) -> list[Row]:
    contenders: dict[str, Contender] = {FLOOR: _floor(plan.folder)}
    contenders[COMMIT] = _commit(plan.folder)
    contenders[OURS] = _ours(plan.folder, OURS, suspect=False)
    contenders[SUSPECT] = _ours(plan.folder, SUSPECT, suspect=True)
    missing: dict[str, str] = {}
    try:
        contenders[LANGGRAPH] = _langgraph(plan.folder)
    except ImportError as error:
        missing[LANGGRAPH] = f"not installed ({error})"
    worker: Worker | None = None
    try:
        worker = Worker(plan.folder)
        contenders[DBOS] = _dbos(worker)
    except (RuntimeError, ValueError) as error:
        missing[DBOS] = str(error)
    try:
        samples = take_turns(
            "durable_record", contenders, plan.rounds(2000, 500), heavy=[DBOS] if worker else []
        )
    finally:
        if worker is not None:
            worker.close()
    suspect = samples.pop(SUSPECT)
    row = timed_row("durable record of 2 KB, p50", samples, ours=OURS, base=FLOOR, bar=1.2)
    row.peers.update(missing)
    row.remark = (
        "LangGraph syncs every put too (WAL, synchronous=FULL); it redacts nothing, chains nothing, compares "
        "no version, and lets its log grow to 1,000 pages before it copies them back, ours to "
        f"{CHECKPOINT_PAGES}"
    )
    second = timed_row(
        "the same, naming a task-007 and tokens",
        {FLOOR: samples[FLOOR], SUSPECT: suspect},
        ours=SUSPECT,
        base=FLOOR,
        bar=1.3,
    )
    second.remark = "literals of redaction rules occur in it, so the rules themselves run"
    return [row, second]


def _timed(action: Callable[[Any], object], bodies: Iterator[Any]) -> Contender:
    def contender() -> float:
        told = next(bodies)
        start = time.perf_counter()
        action(told)
        return time.perf_counter() - start

    return contender


def _floor(folder: str) -> Contender:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    descriptor = os.open(os.path.join(folder, "floor.jsonl"), flags, 0o600)
    # macOS has no fdatasync, and its fsync does not reach the disk; SQLite there does as we do here.
    sync = os.fsync if sys.platform == "darwin" else os.fdatasync

    def append(line: bytes) -> None:
        os.write(descriptor, line)
        sync(descriptor)

    return _timed(append, (f"{canonical_json.dumps(body(step))}\n".encode() for step in count()))


def _commit(folder: str) -> Contender:
    connection = apsw.Connection(os.path.join(folder, "commit.db"))
    for setting in ("page_size = 8192", "journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    connection.wal_autocheckpoint(CHECKPOINT_PAGES)
    connection.execute("CREATE TABLE plain (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")

    def insert(text: str) -> None:
        connection.execute("INSERT INTO plain (body) VALUES (?)", (text,))

    return _timed(insert, (canonical_json.dumps(body(step)) for step in count()))


def _ours(folder: str, name: str, *, suspect: bool) -> Contender:
    _, writer = bench_writer(repository(folder, name.replace(" ", "-")), Latest())

    def execute(told: Any) -> None:
        outcome = writer.execute(STREAM, told, actor=ACTOR, now=clock.now())
        if not outcome["records"]:
            raise RuntimeError(f"no record: {outcome}")

    return _timed(execute, (body(step, suspect=suspect) for step in count()))


def _langgraph(folder: str) -> Contender:
    saver = Saver(os.path.join(folder, "langgraph.db"))
    return _timed(saver.put, ({"told": body(step)} for step in count()))


def _dbos(worker: Worker) -> Contender:
    bodies = (body(step) for step in count())
    return lambda: worker(next(bodies))
