"""A reader that waits is notified, and no commit waits for that."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.journal.interface import Append
from holdfast.journal.postgres import notify
from holdfast.journal.postgres.journal import PostgresJournal
from holdfast.testing.journal.examples import draft, write
from tests.journal.postgres.serve import Server

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from tests.journal.postgres.conftest import Open

LONG = 60.0


def test_what_comes_right_after_a_notification_is_not_overheard(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second record of a burst is sent without a word, and found by looking again."""
    monkeypatch.setattr(notify, "LOOK_SECONDS", LONG)
    monkeypatch.setattr(notify, "SILENT_SECONDS", LONG)
    writer, reader = open_journal(), open_journal()
    write(writer, "note:first")
    last = reader.latest(limit=1)[0]["seq"]
    looks, look = [], reader.since

    def since(seq: int, *, limit: int = 1000) -> list[Record]:
        found = look(seq, limit=limit)
        looks.append(len(found))
        if looks == [0, 0]:  # before it listened, and after
            write(writer, "note:second")
        return found

    monkeypatch.setattr(reader, "since", since)
    began = time.monotonic()
    assert reader.wait(last, LONG)
    assert looks == [0, 0, 1]
    assert time.monotonic() - began < LONG / 2


def test_a_notification_that_cannot_be_sent_undoes_nothing(
    open_journal: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "NOTIFY", "SELECT 1 / 0, %s::text")
    monkeypatch.setattr(notify, "SILENT_SECONDS", 0.0)
    journal = open_journal()
    for version in range(3):
        (receipt,) = journal.commit([Append("note:one", [draft()], expected=version)])
        assert (receipt["version"], receipt["duplicate"]) == (version + 1, False)


@pytest.mark.proof
def test_workspaces_do_not_wait_for_each_others_disk() -> None:
    """A disk of twenty milliseconds: four workspaces write about four times as much as one."""
    seconds = 4.0
    with tempfile.TemporaryDirectory(prefix="holdfast-bell-") as folder:
        Path(folder).chmod(0o755)
        slow = ("fsync=on", "commit_delay=20000", "commit_siblings=0")
        server = Server(Path(folder) / "server", *slow)
        server.make()
        server.start()
        try:
            url = server.url("postgres")
            alone = _written(url, ["alone"], seconds)
            together = _written(url, [f"one of four {number}" for number in range(4)], seconds)
        finally:
            server.stop()
    print(f"\none workspace: {alone} records in {seconds:.0f} s, four workspaces: {together}")
    assert together > 2 * alone


def _written(url: str, names: list[str], seconds: float) -> int:
    counts: list[int] = []

    def write_on(name: str) -> None:
        journal = PostgresJournal(url, name, "")
        end, count = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            journal.commit([Append("note:one", [draft()], expected=count)])
            count += 1
        journal.close()
        counts.append(count)

    writers = [threading.Thread(target=write_on, args=(name,)) for name in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return sum(counts)
