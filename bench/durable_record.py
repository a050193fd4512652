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
from holdfast.journal.mark import SLOT, SLOTS
from holdfast.journal.sqlite import CHECKPOINT_PAGES, SqliteJournal
from holdfast.journal.sqlite_rows import MOST_RECENT
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import digest, new_id
from holdfast.kernel.redact import Redactor

FLOOR, OURS, SUSPECT = "append + fdatasync", "record", "suspect record"
# What SQLite takes for the same bytes in one page, and nothing else.
COMMIT = "one WAL commit of the same bytes"
# The texts, hashes, rows and mark of a record in one function: nothing is decided, compared or remembered. It is
# what Python takes at least for a record that is redacted and chained.
WRITTEN_OUT = "a record written out in one function"
SUSPECT_WRITTEN_OUT = "a suspect record written out in one function"
LANGGRAPH, DBOS = "LangGraph SqliteSaver.put", "DBOS, a workflow of one step"


def measure(plan: Plan) -> list[Row]:
    contenders: dict[str, Contender] = {FLOOR: _floor(plan.folder)}
    contenders[COMMIT] = _commit(plan.folder)
    contenders[WRITTEN_OUT] = _written_out(plan.folder, "written-out", suspect=False)
    contenders[SUSPECT_WRITTEN_OUT] = _written_out(plan.folder, "written-out-2", suspect=True)
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
    suspects = {name: samples.pop(name) for name in (SUSPECT, SUSPECT_WRITTEN_OUT)}
    row = timed_row("durable record of 2 KB, p50", samples, ours=OURS, base=FLOOR, bar=1.2)
    row.peers.update(missing)
    row.remark = (
        "LangGraph syncs every put too (WAL, synchronous=FULL); it redacts nothing, chains nothing, compares "
        "no version, and lets its log grow to 1,000 pages before it copies them back, ours to "
        f"{CHECKPOINT_PAGES}; {WRITTEN_OUT!r} says what is left of the bar for deciding, comparing and remembering"
    )
    second = timed_row(
        "the same, naming a task-007 and tokens",
        {FLOOR: samples[FLOOR], **suspects},
        ours=SUSPECT,
        base=FLOOR,
        bar=1.3,
    )
    second.remark = "literals of redaction rules occur in it, so the rules themselves run"
    rows = [row, second]
    if LANGGRAPH in samples:
        what = "durable record of 2 KB beside LangGraph's, p50"
        rows.append(timed_row(what, samples, ours=OURS, base=LANGGRAPH, bar=1.1))
    return rows


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


def _written_out(folder: str, name: str, *, suspect: bool) -> Contender:
    journal = SqliteJournal(os.path.join(folder, f"{name}.db"))
    connection, redactor = journal.connection(), Redactor()
    mark = os.open(os.path.join(folder, f"{name}.mark"), os.O_WRONLY | os.O_CREAT, 0o600)
    insert = f"INSERT INTO recent VALUES ({', '.join('?' * 15)})"
    steps, previous = count(1), bytes(32)
    connection.execute(
        "INSERT INTO streams (name, version, hash, fence, seen_at, anchor_hash) VALUES (?, 0, ?, 0, '', ?)",
        (STREAM, previous, previous),
    )

    def record(told: Any) -> None:
        nonlocal previous
        step, id, salt, at = next(steps), new_id(), os.urandom(16), clock.precise(clock.now())
        text = canonical_json.dumps(told)
        if redactor.value(told, text) is not told:
            raise RuntimeError("nothing in it is a secret")
        body_hash = digest(salt, text.encode())
        header = canonical_json.dumps([id, STREAM, step, at, ACTOR, None, "stepped"]).encode()
        previous = digest(previous, header, body_hash)
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(
            insert,
            (
                step,
                id,
                1,
                step,
                previous,
                at,
                len(text),
                0,
                at,
                ACTOR,
                None,
                "stepped",
                salt,
                text,
                body_hash,
            ),
        )
        if step % MOST_RECENT == 0:
            connection.execute("DELETE FROM recent")
        connection.execute("COMMIT")
        line = canonical_json.dumps([step, STREAM, step, id, "stepped", at, previous.hex()])
        os.pwrite(mark, line.encode().ljust(SLOT), step % SLOTS * SLOT)

    return _timed(record, (body(step, suspect=suspect) for step in count()))


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
