"""Fifty open pages and two hundred agents that beat for a minute: nothing missed, memory flat."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.fleet import agents, updates
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import find
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.web.live import MOST_STREAMS
from holdfast.web.urls import Address
from tests.web.world import Stream

AGENTS, PAGES, SECONDS = 200, 50, 60
# Python gives memory back late; what leaks would grow with each of the thousand updates.
MOST_GROWTH = 1.25


def memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


@pytest.mark.proof
def test_fifty_pages_and_two_hundred_agents(repository: Path) -> None:
    workspace = discover(str(repository))

    def context() -> FleetContext:
        return FleetContext(find(workspace), workspace, actor="proof", now=clock.now())

    names = [
        f"Secondary-{chr(65 + number // 26)}{chr(65 + number % 26)}" for number in range(AGENTS)
    ]
    for number, name in enumerate(names):
        agents.start(context(), name, f"feature_{number:03}")
    begun = workspace.journal.latest(limit=1)[0]["seq"]
    # As many people as it takes: each may have a few pages open at once.
    people = math.ceil(PAGES / MOST_STREAMS)
    command = [sys.executable, "-m", "tests.proof.pages", str(repository), str(people)]
    root = Path(__file__).parent.parent.parent
    server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    told = json.loads(server.stdout.readline())
    address = Address("http", "127.0.0.1", told["port"])
    cookies = told["cookies"]
    last = f"step of {names[-1]}, the last of all"
    seen: list[int] = []
    reached: list[int] = []

    def read_records(wanted: threading.Event) -> None:
        where = (address, "/records.events", cookies[0], f"repository:{begun}")
        with closing(Stream(*where)) as stream:
            while not (wanted.is_set() and seen and seen[-1] >= newest[0]):
                seen.append(json.loads(stream.next()["data"])["seq"])

    def read_page(number: int) -> None:
        with closing(Stream(address, "/board.events", cookies[number // MOST_STREAMS])) as stream:
            while last not in stream.next()["data"]:
                pass
        reached.append(number)

    newest, finished = [sys.maxsize], threading.Event()
    readers = [threading.Thread(target=read_page, args=(number,)) for number in range(PAGES)]
    readers.append(threading.Thread(target=read_records, args=(finished,)))
    for reader in readers:
        reader.start()
    sizes, beats, end = [], 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        name = names[beats % AGENTS]
        updates.update(context(), name, {"do": "beat", "set": {"current_step": f"step {beats}"}})
        beats += 1
        if beats % 50 == 0:
            sizes.append(memory(server.pid))
        time.sleep(0.02)
    newest[0] = workspace.journal.latest(limit=1)[0]["seq"] + 1
    finished.set()
    updates.update(context(), names[-1], {"do": "beat", "set": {"current_step": last}})
    for reader in readers:
        reader.join(60)
    server.send_signal(signal.SIGINT)
    server.wait(30)
    server.stdout.close()
    settled = sizes[len(sizes) // 3 :]
    print(f"{beats} beats, {PAGES} pages: memory in MB {sizes}")
    assert sorted(reached) == list(range(PAGES))
    assert seen == list(range(begun + 1, seen[-1] + 1))
    assert seen[-1] >= newest[0]
    assert max(settled) <= settled[0] * MOST_GROWTH
    workspace.close()
