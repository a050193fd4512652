"""A hook that is made to fail leaves the run unharmed, and somebody is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.real_clients.world import Client

pytestmark = pytest.mark.clients


def test_a_journal_that_cannot_be_read_harms_no_run(client: Client) -> None:
    client.install()
    client.holdfast("note", "something")
    journal = Path(".git/holdfast/journal.db")
    for leftover in journal.parent.glob("journal.db*"):
        leftover.unlink()
    journal.write_bytes(b"this is no database " * 1000)
    run = client.run("do it", [client.shell("touch the-tool-ran"), {"text": "I did."}])
    assert run.code == 0, run.told
    assert len(run.asked) == 2
    assert Path("the-tool-ran").exists()
    journal.unlink()
    told = client.run("and now")
    assert told.code == 0, told.told
    assert re.search(rf"\d hooks? failed, last {client.name} \w+ at", told.asked[0])
    assert f"last {client.name} " in client.holdfast("doctor", ends_with=0)
