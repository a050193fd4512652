"""HoldfastSaver beside LangGraph's own savers: a durable put, a state that grows, and the latest state of a long thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.growth import STEPS, _sizes
from bench.harness import Contender, Plan, Row, repository, say, take_turns, timed_row
from bench.peer_langgraph import Saver
from bench.subject import body
from holdfast.kernel import canonical_json

if TYPE_CHECKING:
    from holdfast.contrib.langgraph import HoldfastSaver

OURS, SQLITE, POSTGRES = "HoldfastSaver.put", "SqliteSaver.put", "PostgresSaver.put"
SHORT, LONG = 100, 100_000


class Thread:
    """One thread of checkpoints in a saver, each the child of the one before."""

    def __init__(self, saver: Any) -> None:
        from langgraph.checkpoint.base import empty_checkpoint

        self._empty, self.saver, self.step = empty_checkpoint, saver, 0
        self.start: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        self._config = self.start

    def put(self, values: dict[str, Any]) -> None:
        self.step += 1
        versions = dict.fromkeys(values, self.step)
        checkpoint = self._empty()
        checkpoint["channel_values"], checkpoint["channel_versions"] = values, versions
        metadata = {"source": "loop", "step": self.step, "parents": {}}
        self._config = self.saver.put(self._config, checkpoint, metadata, versions)

    def read(self) -> float:
        start = time.perf_counter()
        found = self.saver.get_tuple(self.start)
        taken = time.perf_counter() - start
        if found.metadata["step"] != self.step:
            raise RuntimeError(f"step {found.metadata['step']} after {self.step}")
        return taken


def measure(plan: Plan) -> list[Row]:
    return [_puts(plan), _puts_on_server(plan), *_growth(plan), _latest(plan)]


def _ours(plan: Plan, name: str) -> HoldfastSaver:
    from holdfast.contrib.langgraph import HoldfastSaver

    return HoldfastSaver(repository(plan.folder, name))


def _timed(put: Callable[[dict[str, Any]], None]) -> Contender:
    bodies = (body(step) for step in count())

    def contender() -> float:
        values = {"told": next(bodies)}
        start = time.perf_counter()
        put(values)
        return time.perf_counter() - start

    return contender


def _puts(plan: Plan) -> Row:
    ours = _ours(plan, "saver")
    contenders = {
        OURS: _timed(Thread(ours).put),
        SQLITE: _timed(Saver(os.path.join(plan.folder, "saver-langgraph.db")).put),
    }
    samples = take_turns("langgraph_store", contenders, plan.rounds(2000, 500))
    ours.close()
    return timed_row("durable put of 2 KB, p50", samples, ours=OURS, base=SQLITE, bar=1.1)


def _puts_on_server(plan: Plan) -> Row:
    from langgraph.checkpoint.postgres import PostgresSaver
    from tests.journal.postgres.serve import Server

    os.chmod(os.path.dirname(plan.folder), 0o755)
    server = Server(Path(plan.folder) / "saver-server", "fsync=on")
    server.make()
    server.start()
    try:
        os.environ["HOLDFAST_URL"] = url = server.url("postgres")
        ours = _ours(plan, "saver-on-server")
        with PostgresSaver.from_conn_string(url) as theirs:
            theirs.setup()
            contenders = {OURS: _timed(Thread(ours).put), POSTGRES: _timed(Thread(theirs).put)}
            samples = take_turns("langgraph_store, server", contenders, plan.rounds(1000, 300))
        ours.close()
    finally:
        os.environ.pop("HOLDFAST_URL", None)
        server.stop()
    what = "durable put of 2 KB on PostgreSQL, p50"
    return timed_row(what, samples, ours=OURS, base=POSTGRES, bar=1.1)


def _growth(plan: Plan) -> list[Row]:
    say(f"langgraph_store: {STEPS} growing steps")
    bodies = [body(step) for step in range(STEPS)]
    raw = sum(len(canonical_json.dumps(told).encode()) for told in bodies)
    saver, path = _ours(plan, "saver-growth"), os.path.join(plan.folder, "saver-growth.db")
    thread, theirs = Thread(saver), Saver(path)
    for step in range(STEPS):
        thread.put({"items": bodies[: step + 1]})
        theirs.put({"items": bodies[: step + 1]})
    journal = saver.workspace.journal_path
    saver.close()
    theirs.close()
    ours, peer = _sizes(journal), _sizes(path)
    return [
        Row(
            f"bytes for {STEPS} growing steps of a graph, {what}",
            ours=ours[key] / 1000,
            base=raw / 1000,
            base_name="raw bytes",
            unit="KB",
            bar=5.0,
            peers={"LangGraph SqliteSaver": peer[key] / raw},
        )
        for what, key in (("with the WAL, as left behind", "left"), ("WAL copied back", "settled"))
    ]


def _latest(plan: Plan) -> Row:
    threads = {}
    for length in (SHORT, LONG):
        say(f"langgraph_store: writing {length:,} steps")
        saver = _ours(plan, f"saver-{length}")
        thread = threads[f"after {length:,}"] = Thread(saver)
        thread.put({"told": body(0, 400)})
        # Only here: what is measured is the reading.
        journal: Any = saver.workspace.journal
        journal.connection().execute("PRAGMA synchronous = OFF").fetchall()
        while thread.step < length:
            thread.put({"told": body(thread.step, 400)})
    contenders = {name: thread.read for name, thread in threads.items()}
    samples = take_turns("langgraph_store, latest", contenders, plan.rounds(1000, 200))
    what = f"latest state of a graph after {LONG:,} steps"
    return timed_row(what, samples, ours=f"after {LONG:,}", base=f"after {SHORT}", bar=1.2)
