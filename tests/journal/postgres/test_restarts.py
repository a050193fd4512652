"""A server that is shot every second or two under load: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from holdfast.journal.chain import verify
from holdfast.journal.postgres.journal import PostgresJournal
from tests.journal.postgres.serve import Server

WRITERS, SECONDS = 3, 20.0

WRITER = """
import sys, time
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import StoreAway
from holdfast.journal.interface import Append
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.testing.journal.examples import draft

url, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
end, journal, version = time.monotonic() + seconds, None, 0
while time.monotonic() < end:
    append = Append(f"note:{name}", [draft(actor=name)], expected=version)
    shared = Append("note:shared", [draft(actor=name)], expected=None)
    for kind, order in (("own", append), ("shared", shared)):
        while True:
            try:
                journal = journal or PostgresJournal(url, "under fire", name)
                [receipt] = journal.commit([order])
                break
            except StoreAway:
                time.sleep(0.05)
        print(order.drafts[0]["id"], flush=True)
        if kind == "own":
            version = receipt["records"][0]["version"]
"""


@pytest.mark.proof
def test_a_server_under_fire_loses_and_doubles_nothing() -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-fire-") as folder:
        Path(folder).chmod(0o755)
        server = Server(Path(folder) / "server", "fsync=on")
        server.make()
        server.start()
        url = server.url("postgres")
        PostgresJournal(url, "under fire", "").close()
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, url, f"writer-{number}", str(SECONDS)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(WRITERS)
        ]
        shots, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(random.uniform(0.5, 2))
            server.stop(random.choice([signal.SIGQUIT, signal.SIGINT]))
            server.start()
            shots += 1
        acknowledged: list[str] = []
        for writer in writers:
            said, _ = writer.communicate(timeout=120)
            assert writer.returncode == 0
            acknowledged += said.split()
        journal = PostgresJournal(url, "under fire", "")
        records = journal.since(0, limit=1_000_000)
        assert [finding for finding in verify(journal) if finding["broken"]] == []
        journal.close()
        server.stop()
    there = Counter(record["id"] for record in records)
    assert set(there.values()) == {1}
    assert set(acknowledged) <= set(there)
    assert len(records) - len(acknowledged) == 0, "every writer ended with an answer"
    numbers = [record["seq"] for record in records]
    assert numbers == sorted(set(numbers))
    print(f"{shots} restarts, {len(records)} records, none lost, none twice")
