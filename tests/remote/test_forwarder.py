"""The forwarder as a process: started by a hook, one a workspace, and it outlives a lost server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.hooks.run import command
from holdfast.kernel import failures, latch
from holdfast.kernel.workspace import discover
from holdfast.processes.relaunch import command as itself
from holdfast.remote import facts, forwarder
from holdfast.remote.forwarder import Forwarder
from holdfast.remote.offline import path_of, start_forwarder
from tests.cli.conftest import Holdfast
from tests.hooks.loaded import loaded_by_script
from tests.hooks.test_entry import ALLOWED, STARTUP
from tests.remote.world import Machine, Outage

PATIENCE = 60.0  # seconds; a loaded machine is slow, not wrong

PROBE = """
import sys
sys.path[0:0] = sys.argv[1:3]
from holdfast.hooks.run import respond
answer = respond(["claude", "Stop"])
print(" ".join(sys.modules))
"""


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.fixture
def running(machine: Machine) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Starts forwarders as a service would, and ends them."""
    started: list[subprocess.Popen[bytes]] = []

    def begin() -> subprocess.Popen[bytes]:
        words = itself("journal", "forward", "-C", str(machine.root))
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def send(event: str, **facts: object) -> subprocess.CompletedProcess[bytes]:
    payload = {"session_id": "s1", "cwd": os.getcwd(), **facts}
    content = json.dumps(payload).encode()
    return subprocess.run(command("claude", event), input=content, capture_output=True)


def test_a_hook_starts_one_that_brings_it_over_and_back(
    machine: Machine, another: Machine, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.go()
    monkeypatch.setenv("HOLDFAST_JOURNAL_FORWARDER", "true")
    monkeypatch.setenv("PYTHONPATH", "/somewhere/else")
    assert send("Stop").stdout == b""
    until(lambda: facts.is_running(machine.hooks))
    try:
        until(lambda: machine.on_server("session:s1"))
        monkeypatch.setenv("HOLDFAST_JOURNAL_FORWARDER", "false")
        another.go()
        holdfast("estop", "--reason", "Wrong branch")
        until(lambda: latch.read(machine.hooks))
        assert not start_forwarder(machine.hooks), "there is one"
    finally:
        _end_forwarder(machine)


def _end_forwarder(machine: Machine) -> None:
    """The one whose command line names this workspace, and no other."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if "forward" in words and str(machine.root) in words:
                os.kill(int(folder.name), signal.SIGKILL)
    until(lambda: not facts.is_running(machine.hooks))


def test_a_second_one_goes_at_once(
    machine: Machine, running: Callable[[], subprocess.Popen[bytes]], holdfast: Holdfast
) -> None:
    running()
    until(lambda: facts.is_running(machine.hooks))
    ended = holdfast("journal", "forward", "--json")
    assert (ended.code, ended.data["ended"]) == (0, "another")


def test_it_goes_when_nobody_needs_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, outage: Outage
) -> None:
    monkeypatch.setattr(forwarder, "IDLE_SECONDS", 0.0)
    machine.hook("Stop")
    assert Forwarder(str(machine.root)).run() == "idle"
    assert machine.waiting()["records"] == 0, "but not before everything is delivered"
    monkeypatch.setattr(forwarder, "AWAY_IDLE_SECONDS", 0.0)
    outage.begin()
    machine.hook("SessionEnd", reason="exit")
    assert Forwarder(str(machine.root)).run() == "idle"
    assert machine.waiting()["records"] > 0
    assert failures.read(machine.hooks) == [], "a server that is away is no failure"


def test_it_goes_with_its_workspace(
    machine: Machine, running: Callable[[], subprocess.Popen[bytes]], outage: Outage
) -> None:
    machine.hook("Stop")
    process = running()
    until(lambda: facts.is_running(machine.hooks))
    outage.begin()
    os.unlink(path_of(machine.hooks))
    process.wait(PATIENCE)


def test_a_hook_that_comes_as_it_goes_is_not_missed(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hook saw a forwarder and started none; so the one that is going stays."""
    rounds = []

    def is_done(_: object) -> bool:
        """It found that no hook came for long, and asks whether anything is left to deliver."""
        rounds.append(1)
        if len(rounds) == 1:
            time.sleep(0.01)
            assert not start_forwarder(machine.hooks)
        return True

    monkeypatch.setattr(forwarder, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(forwarder.ServerLink, "is_done", is_done)
    assert Forwarder(str(machine.root)).run() == "idle"
    assert len(rounds) == 2


def test_a_clock_that_is_set_back_does_not_end_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.makedirs(machine.home, exist_ok=True)
    lock = forwarder.ForwarderLock(machine.hooks, stays=False)
    os.utime(path_of(machine.hooks), (1 << 33, 1 << 33))
    assert not lock.is_unneeded(1000.0)
    os.utime(path_of(machine.hooks), (1, 1))
    assert not lock.is_unneeded(1000.0)
    lock.close()


def test_it_waits_for_a_server_and_goes_on_when_it_is_back(
    machine: Machine, outage: Outage, running: Callable[[], subprocess.Popen[bytes]]
) -> None:
    outage.begin()
    machine.hook("Stop")
    process = running()
    until(lambda: facts.is_running(machine.hooks))
    assert machine.waiting()["records"] == 1
    outage.end()
    until(lambda: machine.waiting()["records"] == 0)
    outage.network.cut()
    machine.hook("SessionEnd", reason="exit")
    until(lambda: machine.waiting()["records"] == 0)
    assert process.poll() is None


def test_a_server_that_does_not_let_it_in_is_named_to_a_person(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    from tests.journal.postgres.database import at_database

    monkeypatch.setattr(forwarder, "AWAY_IDLE_SECONDS", 0.0)
    monkeypatch.setenv("HOLDFAST_URL", at_database(url, "nowhere"))
    machine.hook("Stop")
    assert Forwarder(str(machine.root)).run() == "idle"
    [failure] = failures.read(machine.hooks)
    assert (failure["hook"], "no such database" in failure["reason"]) == ("forwarder", True)
    assert "pass" not in failure["reason"]


def test_a_bug_of_ours_is_named_too(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarder, "AWAY_IDLE_SECONDS", 0.0)
    monkeypatch.setattr(forwarder.ServerLink, "work", lambda _: 1 / 0)
    assert Forwarder(str(machine.root)).run() == "idle"
    [failure] = failures.read(machine.hooks)
    assert "ZeroDivisionError" in failure["reason"]


def test_a_hook_with_a_server_loads_nothing_of_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    send("Stop")
    words = command("claude", "Stop")
    libraries = [words[3].rpartition("/holdfast/")[0], words[4]]
    payload = json.dumps({"session_id": "s1", "cwd": str(machine.root)}).encode()
    loaded = loaded_by_script(words[:3], PROBE, *libraries, payload=payload)
    assert "holdfast.kernel.writer" in loaded
    assert not any(name.startswith(("psycopg", "asyncio")) for name in loaded)
    assert {name for name in loaded if name[:8] != "holdfast"} - STARTUP - ALLOWED == set()


def test_without_a_server_nobody_is_started_and_nothing_more_is_loaded(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_JOURNAL_FORWARDER", "true")
    send("Stop")
    workspace = discover(local=True)
    assert not os.path.exists(path_of(workspace))
    words = command("claude", "Stop")
    libraries = [words[3].rpartition("/holdfast/")[0], words[4]]
    payload = json.dumps({"session_id": "s1", "cwd": str(repository)}).encode()
    done = subprocess.run(
        [*words[:3], "-c", PROBE, *libraries], input=payload, capture_output=True, check=True
    )
    loaded = done.stdout.decode()
    for name in ("forwarding", "journal.spool", "journal.delivery", "journal.adoption"):
        assert f"holdfast.{name}" not in loaded.replace("kernel.", "")


def test_where_the_url_is_taken_away_nobody_is_started_again(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.makedirs(machine.home, exist_ok=True)
    Path(path_of(machine.hooks)).touch()
    monkeypatch.setenv("HOLDFAST_URL", "")
    assert not start_forwarder(machine.hooks)
    assert not os.path.exists(path_of(machine.hooks))


def test_the_page_does_the_same_work(machine: Machine) -> None:
    from holdfast.remote.forwarder import run_forwarders

    machine.hook("Stop")
    with run_forwarders([str(machine.root)]):
        until(lambda: machine.waiting()["records"] == 0)
        until(lambda: facts.is_running(machine.hooks))
    assert not facts.is_running(machine.hooks)
