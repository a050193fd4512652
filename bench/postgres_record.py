"""PostgreSQL: one durable record against a plain insert, heads against a plain select, and a fleet."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import count
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from bench.harness import Plan, Row, environment, repository, say, take_turns, timed_row
from bench.subject import ACTOR, STREAM, Latest, bench_writer, body
from holdfast.journal.interface import Append
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness import Contender
    from holdfast.journal.postgres.journal import PostgresJournal

FLOOR, OURS, SAVER = "a plain psycopg insert", "record", "LangGraph PostgresSaver.put"
# The counter, the stream and the record in one prepared statement: what the server does for a record, without us.
STATEMENT = "the statement of a record alone"
HEADS, SELECT = "heads", "a plain select"
HEAD_AGENTS, FLEET, BEAT_SECONDS, MACHINES = 10_000, 1_000, 10, 2
WRITERS = 4
SYNC_SECONDS, SEGMENT = 0.05, 1 << 24


def measure(plan: Plan) -> list[Row]:
    from pathlib import Path

    from tests.journal.postgres.serve import Server

    os.chmod(os.path.dirname(plan.folder), 0o755)
    server = Server(Path(plan.folder) / "server", "fsync=on")
    server.make()
    server.start()
    try:
        url = server.url("postgres")
        return [_records(plan, url), _heads(plan, url), _fleet(plan, url)]
    finally:
        # Or the measurements after this one look for a server that is gone.
        os.environ.pop("HOLDFAST_URL", None)
        server.stop()


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _records(plan: Plan, url: str) -> Row:
    contenders: dict[str, Contender] = {
        FLOOR: _floor(url),
        OURS: _ours(plan, url),
        STATEMENT: _statement(url),
    }
    missing = {}
    try:
        contenders[SAVER] = _saver(url)
    except ImportError as error:
        missing[SAVER] = f"not installed ({error})"
    samples = take_turns("postgres_record", contenders, plan.rounds(2000, 500))
    row = timed_row(
        "durable record of 2 KB on PostgreSQL, p50", samples, ours=OURS, base=FLOOR, bar=1.3
    )
    row.peers.update(missing)
    return row


def _floor(url: str) -> Contender:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE plain (number bigserial PRIMARY KEY, body text NOT NULL)")
    bodies = (canonical_json.dumps(body(step)) for step in count())

    def insert() -> float:
        told = next(bodies)
        return _timed(lambda: connection.execute("INSERT INTO plain (body) VALUES (%s)", (told,)))

    return insert


def _ours(plan: Plan, url: str) -> Contender:
    os.environ["HOLDFAST_URL"] = url
    _, writer = bench_writer(repository(plan.folder, "ours"), Latest())
    bodies = (body(step) for step in count())

    def execute() -> float:
        told = next(bodies)
        return _timed(lambda: writer.execute(STREAM, told, actor=ACTOR, now=clock.now()))

    return execute


def _statement(url: str) -> Contender:
    from holdfast.journal.postgres import rows
    from holdfast.journal.postgres.connect import connect

    journal = _journal(url, "statement")
    (receipt,) = journal.commit([_append(1, "{}")])
    workspace, stream = journal.number(), receipt["stream"]
    previous = bytes.fromhex(receipt["records"][-1]["hash"])
    session = connect(url)
    steps = count(receipt["version"] + 1)

    def insert() -> float:
        nonlocal previous
        version, record_hash = next(steps), os.urandom(32)
        text = canonical_json.dumps(body(version))
        given = {
            "workspace": workspace,
            "epoch": session.epoch,
            "version": version,
            "hash": record_hash,
            "stream": stream,
            "at": clock.precise(clock.now()),
            "weight": len(text),
            "previous": previous,
            "fence": None,
            "id": new_id(),
            "actor": ACTOR,
            "kind": "stepped",
            "body": text,
            "salt": os.urandom(16),
            "body_hash": os.urandom(32),
        }
        start = time.perf_counter()
        written = session.execute(rows.APPEND, given).fetchone()
        taken = time.perf_counter() - start
        if written is None:
            raise RuntimeError("the statement wrote nothing")
        previous = record_hash
        return taken

    return insert


def _saver(url: str) -> Contender:
    import psycopg
    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    connection: Any = psycopg.connect(
        url, autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    saver: Any = PostgresSaver(connection)
    saver.setup()
    config: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
    steps = count(1)

    def put() -> float:
        nonlocal config
        step = next(steps)
        values = {"told": body(step)}
        checkpoint: Any = {
            **empty_checkpoint(),
            "channel_values": values,
            "channel_versions": {"told": step},
        }
        metadata = {"source": "loop", "step": step, "parents": {}}
        start = time.perf_counter()
        config = saver.put(config, checkpoint, metadata, {"told": step})
        return time.perf_counter() - start

    return put


def _journal(url: str, name: str) -> PostgresJournal:
    from holdfast.journal.postgres.journal import PostgresJournal

    return PostgresJournal(url, name, "bench")


def _append(agent: int, text: str) -> Append:
    return Append(
        f"agent:secondary_{agent:05d}",
        [
            {
                "id": new_id(),
                "kind": "beat",
                "body": None,
                "text": text,
                "at": clock.precise(clock.now()),
                "actor": ACTOR,
            }
        ],
        expected=None,
    )


def _heads(plan: Plan, url: str) -> Row:
    import psycopg

    journal = _journal(url, "heads")
    say(f"postgres_record: making {HEAD_AGENTS:,} agents")
    for start in range(0, HEAD_AGENTS, 500):
        journal.commit([_append(agent, "{}") for agent in range(start, start + 500)])
    plain = psycopg.connect(url, autocommit=True)
    plain.execute("ANALYZE holdfast.streams")
    number = journal.number()

    def select() -> int:
        return len(
            plain.execute(
                "SELECT name, version, fence, seen_at, closed_at, anchor_version"
                " FROM holdfast.streams WHERE workspace = %s ORDER BY name",
                (number,),
            ).fetchall()
        )

    def checked(read: Callable[[], int]) -> float:
        start = time.perf_counter()
        found = read()
        taken = time.perf_counter() - start
        if found != HEAD_AGENTS:
            raise RuntimeError(f"{found} agents instead of {HEAD_AGENTS}")
        return taken

    samples = take_turns(
        "heads",
        {
            HEADS: lambda: checked(lambda: len(journal.heads("agent:"))),
            SELECT: lambda: checked(select),
        },
        plan.rounds(60, 20),
    )
    plain.close()
    journal.close()
    return timed_row(
        f"heads of {HEAD_AGENTS:,} agents on PostgreSQL", samples, ours=HEADS, base=SELECT, bar=1.5
    )


def _fleet(plan: Plan, url: str) -> Row:
    """Machines with their share of the agents, each of which beats every ten seconds."""
    seconds = 10 if plan.quick else 60
    journal = _journal(url, "fleet")
    for start in range(0, FLEET, 500):
        journal.commit([_append(agent, "{}") for agent in range(start, start + 500)])
    journal.close()
    say(f"postgres_record: {FLEET:,} agents beat for {seconds} s")
    disk = _started("disk", plan.folder, seconds)
    machines = [_started("beat", url, seconds, number) for number in range(MACHINES)]
    taken = [each for machine in machines for each in _figures(machine)]
    synced = _figures(disk)
    row = Row(
        f"{FLEET:,} agents, a durable beat every {BEAT_SECONDS} s: p99",
        ours=quantiles(taken, n=100)[98] * 1000,
        base=median(taken) * 1000,
        base_name="its p50",
        unit="ms",
        bar=10,
    )
    # A beat is a sync of the disk and little else: how much of its tail is the disk's own?
    row.details["p99 to p50"] = {"beat": row.ratio, "the disk's own sync": _tail(synced)}
    row.details["the disk's sync, ms"] = {
        "p50": median(synced) * 1000,
        "p99": quantiles(synced, n=100)[98] * 1000,
    }
    row.details["records a second at most"] = {
        f"{spread} of {WRITERS} writers": _most(plan, url, names)
        for spread, names in (
            ("one workspace", ["crowd"] * WRITERS),
            ("a workspace for each", [f"crowd-{number}" for number in range(WRITERS)]),
        )
    }
    row.remark = f"{len(taken) / seconds:.0f} beats a second from {MACHINES} processes"
    return row


def _most(plan: Plan, url: str, names: list[str]) -> float:
    """How many records a second these writers get in when nobody of them rests."""
    seconds = 2 if plan.quick else 8
    writers = [_started("crowd", url, seconds, name, agent) for agent, name in enumerate(names)]
    return sum(len(_figures(writer)) for writer in writers) / seconds


def _started(*words: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.postgres_record", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())


def _figures(process: subprocess.Popen[str]) -> list[float]:
    said, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("one of the measuring processes failed")
    return [float(line) for line in said.splitlines()]


def _tail(taken: list[float]) -> float:
    return quantiles(taken, n=100)[98] / median(taken)


# What the processes do; each prints its figures at its end, because a full pipe would hold it up.


def _beat(url: str, seconds: float, machine: int) -> list[float]:
    """One machine's agents, each in its turn, at an instant that nobody else knows."""
    journal = _journal(url, "fleet")
    agents = range(machine, FLEET, MACHINES)
    text = canonical_json.dumps(body(0, 512))
    pause = BEAT_SECONDS / len(agents)
    chance = random.Random(machine)
    taken = []
    start = time.perf_counter()
    for beat in range(int(seconds / pause)):
        due = start + (beat + chance.random()) * pause
        time.sleep(max(0.0, due - time.perf_counter()))
        taken.append(
            _timed(partial(journal.commit, [_next(journal, agents[beat % len(agents)], text)]))
        )
    return taken


def _crowd(url: str, seconds: float, name: str, agent: int) -> list[float]:
    journal = _journal(url, name)
    text = canonical_json.dumps(body(0, 512))
    journal.commit([_append(agent, text)])
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        append = _append(agent, text)
        append.expected = len(taken) + 1
        taken.append(_timed(partial(journal.commit, [append])))
    return taken


def _next(journal: PostgresJournal, agent: int, text: str) -> Append:
    """Behind what is there, as the write path loads it before it decides."""
    append = _append(agent, text)
    head: Any = journal.load(append.stream)["head"]
    append.expected = head["version"]
    return append


def _sync(folder: str, seconds: float) -> list[float]:
    """What the disk under the server takes for eight kilobytes, so rarely that nobody is disturbed."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(SEGMENT))
        os.fsync(file.fileno())
        taken = []
        for turn in range(int(seconds / SYNC_SECONDS)):
            time.sleep(SYNC_SECONDS)
            os.pwrite(file.fileno(), bytes(8192), turn * 8192 % SEGMENT)
            taken.append(_timed(partial(os.fdatasync, file.fileno())))
        return taken


def main(what: str, place: str, seconds: str, *rest: str) -> None:
    if what == "disk":
        figures = _sync(place, float(seconds))
    elif what == "beat":
        figures = _beat(place, float(seconds), int(rest[0]))
    else:
        figures = _crowd(place, float(seconds), rest[0], int(rest[1]))
    print(*figures, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
