"""What a session's transcript says: a pack from a long one, and a turn after a long or a short one.

The transcripts repeat sessions that were recorded with the real clients (`bench/continuity`).
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import time
from itertools import cycle

import holdfast
from bench.harness import Contender, Plan, Row, repository, take_turns, timed_row
from holdfast.clients.discovery import session_at
from holdfast.clients.usage.tally import FILE
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.pack import pack
from holdfast.session import observation
from holdfast.usage import spending

RECORDINGS = os.path.join(os.path.dirname(__file__), "continuity", "recordings")
CLIENTS = {"claude": "Claude Code", "codex": "Codex"}
LARGE = 50 << 20
BUDGET = 6_000
OURS, BASE = "pack", "json.loads of every line"
LONG, SHORT = "after 100,000 lines", "after 100 lines"
LINES = {LONG: 100_000, SHORT: 100}
# So many lines of a transcript are one turn.
TURN = 20
START = clock.parse("2026-11-15T18:00:00Z")


def measure(plan: Plan) -> list[Row]:
    return [
        row
        for client in CLIENTS
        for row in (_pack_of_a_large_one(plan, client), _turn(plan, client))
    ]


def _pack_of_a_large_one(plan: Plan, client: str) -> Row:
    path = os.path.join(plan.folder, f"{client}.jsonl")
    content = b"\n".join(_recorded(client)) + b"\n"
    with open(path, "wb") as file:
        for number in range(LARGE // len(content) + 1):
            # No call comes twice in a transcript.
            mark = b"_%d_0" % number
            again = content.replace(b'"toolu_0', b'"toolu' + mark)
            file.write(again.replace(b'"call_0', b'"call' + mark))
    found = session_at(path)
    if found is None:
        raise RuntimeError(f"{path} is not taken for a transcript")

    def ours() -> float:
        start = time.perf_counter()
        seen = observation.read_once(found)
        if seen is None or not pack.render({"seen": seen}, BUDGET):
            raise RuntimeError("there is no pack")
        return time.perf_counter() - start

    def base() -> float:
        start = time.perf_counter()
        with open(path, "rb") as file:
            for line in file:
                json.loads(line)
        return time.perf_counter() - start

    contenders: dict[str, Contender] = {OURS: ours, BASE: base}
    samples = take_turns("observation", contenders, plan.rounds(12, 4))
    what = f"a pack from 50 MB of {CLIENTS[client]}'s transcript, p50"
    return timed_row(what, samples, ours=OURS, base=BASE, bar=1.0)


def _turn(plan: Plan, client: str) -> Row:
    contenders = {name: _growing(plan.folder, client, name, lines) for name, lines in LINES.items()}
    samples = take_turns("observation", contenders, plan.rounds(200, 60))
    what = f"a turn of {CLIENTS[client]} observed {LONG}, p50"
    return timed_row(what, samples, ours=LONG, base=SHORT, bar=1.2)


def _growing(folder: str, client: str, name: str, lines: int) -> Contender:
    """A transcript that grows by a turn before each look, and is as long as before after it."""
    place = f"{client}-{name.replace(' ', '-').replace(',', '')}"
    root = repository(folder, place)
    holdfast.open(root).note("begun")
    workspace = discover(root)
    # The name says whose transcript it is.
    path = os.path.join(folder, f"rollout-{place}.jsonl" if client == "codex" else f"{place}.jsonl")
    source = cycle(_recorded(client))
    with open(path, "wb") as file:
        file.writelines(next(source) + b"\n" for _ in range(lines))
    observation.look_at(workspace, spending.sources_at(path), now=START)
    size, tally = os.path.getsize(path), os.path.join(workspace.home, FILE)
    shutil.copyfile(tally, f"{tally}-before")
    # Both grow by the same lines.
    coming = cycle(_recorded(client))

    def contender() -> float:
        os.truncate(path, size)
        shutil.copyfile(f"{tally}-before", tally)
        with open(path, "ab") as file:
            file.writelines(next(coming) + b"\n" for _ in range(TURN))
        start = time.perf_counter()
        looked = observation.look_at(workspace, spending.sources_at(path), now=START)
        taken = time.perf_counter() - start
        if looked is None:
            raise RuntimeError("nothing was observed")
        return taken

    return contender


def _recorded(client: str) -> list[bytes]:
    folder = os.path.join(RECORDINGS, client)
    lines: list[bytes] = []
    for name in sorted(os.listdir(folder)):
        with gzip.open(os.path.join(folder, name)) as file:
            lines += file.read().splitlines()
    return lines
