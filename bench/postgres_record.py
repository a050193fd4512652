"""PostgreSQL: one durable record against a plain insert, heads against a plain select, and a fleet."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from itertools import count
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from bench.harness import Plan, Row, environment, repository, say, take_turns, timed_row
from bench.subject import ACTOR, STREAM, Latest, body, open_writer
from holdfast.kernel import clock, jsontext
from holdfast.kernel.digest import new_id
from holdfast.kernel.journal.interface import Append

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.harness import Contender
    from holdfast.kernel.journal.postgres.journal import PostgresJournal

FLOOR, OURS, SAVER = "a plain psycopg insert", "record", "LangGraph PostgresSaver.put"
HEADS, SELECT = "heads", "a plain select"
HEAD_AGENTS, FLEET, BEAT_SECONDS, MACHINES = 10_000, 1_000, 10, 2


def measure(plan: Plan) -> list[Row]:
    from pathlib import Path

    from tests.postgres.serve import Server

    os.chmod(os.path.dirname(plan.folder), 0o755)
    server = Server(Path(plan.folder) / "server", "fsync=on")
    server.make()
    server.start()
    try:
        url = server.url("postgres")
        return [_records(plan, url), _heads(plan, url), _fleet(plan, url)]
    finally:
        server.stop()


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _records(plan: Plan, url: str) -> Row:
    contenders: dict[str, Contender] = {FLOOR: _floor(url), OURS: _ours(plan, url)}
    missing = {}
    try:
        contenders[SAVER] = _saver(url)
    except ImportError as error:
        missing[SAVER] = f"not installed ({error})"
    samples = take_turns("postgres_record", contenders, plan.rounds(2000, 500))
    row = timed_row(
        "durable record of 2 KB on PostgreSQL, p50", samples, ours=OURS, base=FLOOR, bar=1.4
    )
    row.peers.update(missing)
    return row


def _floor(url: str) -> Contender:
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE plain (number bigserial PRIMARY KEY, body text NOT NULL)")
    bodies = (jsontext.dumps(body(step)) for step in count())

    def insert() -> float:
        told = next(bodies)
        return _timed(lambda: connection.execute("INSERT INTO plain (body) VALUES (%s)", (told,)))

    return insert


def _ours(plan: Plan, url: str) -> Contender:
    os.environ["HOLDFAST_URL"] = url
    _, writer = open_writer(repository(plan.folder, "ours"), Latest())
    bodies = (body(step) for step in count())

    def execute() -> float:
        told = next(bodies)
        return _timed(lambda: writer.execute(STREAM, told, actor=ACTOR, now=clock.now()))

    return execute


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
    from holdfast.kernel.journal.postgres.journal import PostgresJournal

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
    seconds = 30 if not plan.quick else 10
    command = [sys.executable, "-m", "bench.postgres_record", url, str(seconds)]
    say(f"postgres_record: {FLEET:,} agents beat for {seconds} s")
    machines = [
        subprocess.Popen(
            [*command, str(number)], stdout=subprocess.PIPE, text=True, env=environment()
        )
        for number in range(MACHINES)
    ]
    taken: list[float] = []
    plain: list[float] = []
    for machine in machines:
        said, _ = machine.communicate()
        if machine.returncode:
            raise RuntimeError("a machine's agents failed")
        for line in said.splitlines():
            beat, insert = line.split()
            taken.append(float(beat))
            plain.append(float(insert))
    row = Row(
        f"{FLEET:,} agents, a durable beat every {BEAT_SECONDS} s: p99",
        ours=quantiles(taken, n=100)[98] * 1000,
        base=median(taken) * 1000,
        base_name="its p50",
        unit="ms",
        bar=10,
    )
    # How much of it is the disk's: an insert of the same bytes after each beat.
    row.details["p99 to p50"] = {
        "beat": row.ratio,
        "plain insert": quantiles(plain, n=100)[98] / median(plain),
    }
    row.remark = f"{len(taken) / seconds:.0f} beats a second from {MACHINES} processes"
    return row


def _beat(url: str, seconds: float, machine: int) -> None:
    import psycopg

    journal = _journal(url, "fleet")
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("CREATE TABLE IF NOT EXISTS beats (number bigserial PRIMARY KEY, body text)")
    agents = range(machine, FLEET, MACHINES)
    for agent in agents:
        journal.commit([_append(agent, "{}")])
    text = jsontext.dumps(body(0, 512))
    pause = BEAT_SECONDS / len(agents)
    start = time.perf_counter()
    for beat in range(int(seconds / pause)):
        due = start + beat * pause
        time.sleep(max(0.0, due - time.perf_counter()))
        append = _append(agents[beat % len(agents)], text)
        append.expected = _version(journal, append.stream)
        taken = _timed(partial(journal.commit, [append]))
        plain = partial(connection.execute, "INSERT INTO beats (body) VALUES (%s)", (text,))
        print(taken, _timed(plain))


def _version(journal: PostgresJournal, stream: str) -> int:
    head: Any = journal.head(stream)
    return int(head["version"])


if __name__ == "__main__":
    _beat(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
