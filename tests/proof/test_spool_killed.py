"""Forwarders that are killed at any instant, two at a time, while hooks write and the server goes and
comes: everything is delivered once, and in each life's order."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from holdfast.journal.chain import verify
from holdfast.kernel.workspace import discover
from holdfast.processes.relaunch import command as itself
from tests.cli.conftest import Holdfast
from tests.remote import conftest as fixtures
from tests.remote.world import Machine, Outage

holdfast = fixtures.holdfast
url = fixtures.url
workspace_name = fixtures.workspace_name
outage = fixtures.outage
machine = fixtures.machine

SEED = int(os.environ.get("HOLDFAST_PROOF_SEED", "11"))
SECONDS = 20.0
LIVES = 4


@pytest.mark.proof
def test_forwarders_killed_at_random_deliver_everything_once(
    machine: Machine, outage: Outage, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(SEED)
    fences = []
    for number in range(LIVES):
        names = (f"Secondary-{'ABCD'[number]}", f"feature_0{number + 1}_x")
        started = holdfast("agent", "start", names[0], "--feature", names[1], "--json")
        assert started.code == 0, started
        fences.append(started.data["fence"])
    words = itself("journal", "forward", "-C", str(machine.root))
    running: list[subprocess.Popen[bytes]] = []
    beats = 0
    away = False
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end:
            for _ in range(chance.randrange(1, 8)):
                life = chance.randrange(LIVES)
                said = machine.beat(f"Secondary-{'ABCD'[life]}", step=f"step {beats}")
                assert "failed" not in said, said
                beats += 1
            machine.hook("Stop", session=f"s{chance.randrange(LIVES)}")
            while len(running) < 2:
                quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
                running.append(subprocess.Popen(words, **quiet))  # type: ignore[call-overload]
            time.sleep(chance.random() * 0.4)
            if chance.random() < 0.7:
                victim = running.pop(chance.randrange(len(running)))
                victim.kill()
                victim.wait()
            if chance.random() < 0.2:
                away = not away
                outage.begin() if away else outage.end()
    finally:
        for process in running:
            process.kill()
            process.wait()
    outage.end()
    machine.forward()
    assert machine.waiting()["records"] == 0
    journal = discover(str(machine.root)).on_server()
    delivered = []
    for number in range(LIVES):
        stream = f"agent:secondary_{'abcd'[number]}"
        steps = [
            int(record["body"]["set"]["current_step"].split()[1])
            for record in journal.read(stream)
            if record["kind"] == "beat"
        ]
        assert steps == sorted(steps), f"{stream} is out of order"
        delivered += steps
    assert sorted(delivered) == list(range(beats)), "each once"
    assert not [finding for finding in verify(journal) if finding["broken"]]
    assert journal.refusals() == []
    journal.close()
    assert not list(Path(machine.home).glob("hook-failures*"))
    print(f"{beats} beats, all once")
