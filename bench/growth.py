"""Bytes on disk for a state that grows by 2 KB a step over 300 steps, against the raw bytes."""

from __future__ import annotations

import os
import sqlite3

import apsw

from bench.harness import Plan, Row, repository, say
from bench.peer_langgraph import Saver
from bench.subject import ACTOR, STREAM, Growing, bench_writer, body
from holdfast.kernel import canonical_json, clock

STEPS = 300
LANGGRAPH = "LangGraph SqliteSaver"


def measure(plan: Plan) -> list[Row]:
    bodies = [body(step) for step in range(STEPS)]
    raw = sum(len(canonical_json.dumps(told).encode()) for told in bodies)
    say(f"growth: {STEPS} steps of ours")
    ours = _ours(repository(plan.folder, "growth"), bodies)
    peers: dict[str, dict[str, int]] = {}
    reason = ""
    say(f"growth: {STEPS} steps of LangGraph's")
    try:
        peers[LANGGRAPH] = _langgraph(os.path.join(plan.folder, "growth-langgraph.db"), bodies)
    except ImportError as error:
        reason = f"not installed ({error})"
    rows = []
    for what, key in (
        ("with the WAL, as left behind", "left"),
        ("the database alone, as left behind", "database"),
        ("WAL copied back", "settled"),
    ):
        rows.append(
            Row(
                f"bytes for 300 growing steps, {what}",
                ours=ours[key] / 1000,
                base=raw / 1000,
                base_name="raw bytes",
                unit="KB",
                bar=3.0,
                peers={LANGGRAPH: peers[LANGGRAPH][key] / raw if LANGGRAPH in peers else reason},
            )
        )
    return rows


def _ours(folder: str, bodies: list[dict[str, object]]) -> dict[str, int]:
    workspace, writer = bench_writer(folder, Growing())
    for told in bodies:
        writer.execute(STREAM, told, actor=ACTOR, now=clock.now())
    path = workspace.journal_path
    workspace.close()
    return _sizes(path)


def _langgraph(path: str, bodies: list[dict[str, object]]) -> dict[str, int]:
    saver = Saver(path)
    for step in range(len(bodies)):
        saver.put({"items": bodies[: step + 1]})
    saver.close()
    # An ordinary close of the last connection copies the WAL back and removes it.
    connection = sqlite3.connect(path)
    (count,) = connection.execute("SELECT count(*) FROM checkpoints").fetchone()
    connection.close()
    if count != len(bodies):
        raise RuntimeError(f"{count} checkpoints after {len(bodies)} steps")
    return _sizes(path)


def _sizes(path: str) -> dict[str, int]:
    """As the run left it, and once a checkpoint has copied what the WAL holds into the database."""
    database, wal = _size(path), _size(f"{path}-wal")
    connection = apsw.Connection(path)
    # A connection that has read nothing knows of no WAL, and its checkpoint does nothing.
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    if _size(f"{path}-wal"):
        raise RuntimeError("the WAL was not copied back")
    return {"database": database, "left": database + wal, "settled": _size(path)}


def _size(path: str) -> int:
    return os.stat(path).st_size if os.path.exists(path) else 0
