"""A damaged journal without a backup: `doctor --fix` saves what can be read, and work goes on."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Holdfast
from tests.dying import die_at

pytestmark = pytest.mark.usefixtures("repository")

HOME = Path(".git/holdfast")
JOURNAL = HOME / "journal.db"
PAGE = 8192


def fill(holdfast: Holdfast, count: int = 40) -> None:
    for number in range(count):
        holdfast("note", f"note number {number} " + "x" * 3000, "--to", f"n{number % 4}")
    holdfast("checkpoint", "--task", "Renderer", "--status", "half done")
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    flush()


def flush() -> None:
    """Bring the log into the file, so that damage to the file is damage to the records."""
    connection = apsw.Connection(str(JOURNAL))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


def damage(at: int, length: int, seed: int = 7) -> None:
    with JOURNAL.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(seed).randbytes(length))


def texts(holdfast: Holdfast) -> set[str]:
    records = holdfast("history", "-n", "1000", "note:*", "--json").data["records"]
    return {record["body"]["text"].split(" x")[0] for record in records if "text" in record["body"]}


def test_the_work_goes_on_after_one_damaged_page(holdfast: Holdfast) -> None:
    fill(holdfast)
    before = texts(holdfast)
    size = JOURNAL.stat().st_size
    damage(size // PAGE // 2 * PAGE, PAGE)
    assert holdfast("doctor").code == 1
    answer = holdfast("doctor", "--fix")
    assert "saved" in answer.out
    assert "The damaged file is kept: " in answer.out
    assert answer.code == 0
    assert list(HOME.glob("damaged-*.db"))
    kept = texts(holdfast)
    assert kept <= before
    assert len(kept) >= len(before) - 10, "a page holds a few records, not all"
    assert holdfast("note", "goes on").code == 0
    assert holdfast("checkpoint", "--status", "three quarters").code == 0
    assert holdfast("verify").code == 0
    assert holdfast("doctor").code == 0


# The tables' and indexes' own pages come first, the records' pages after them.
PAGES = [
    pytest.param(page, marks=[] if page in (1, 2, 4, 8, 12, 17) else pytest.mark.proof)
    for page in range(1, 18)
]


@pytest.mark.parametrize("page", PAGES)
def test_each_page_may_be_the_damaged_one(holdfast: Holdfast, page: int) -> None:
    fill(holdfast, 12)
    assert page * PAGE < JOURNAL.stat().st_size, "the journal has this page"
    damage(page * PAGE, PAGE, seed=page)
    holdfast("doctor", "--fix")
    assert holdfast("note", "goes on").code == 0
    assert holdfast("doctor").code == 0
    assert holdfast("verify").code == 0


@pytest.mark.parametrize("compacted", [False, True])
def test_a_damaged_first_page_loses_nothing(holdfast: Holdfast, compacted: bool) -> None:
    fill(holdfast)
    before = texts(holdfast)
    if compacted:
        holdfast("gc")
        connection = apsw.Connection(str(JOURNAL))
        connection.execute("VACUUM")
        connection.close()
        flush()
    damage(0, 3000)
    assert holdfast("doctor").code == 1
    answer = holdfast("doctor", "--fix")
    assert answer.code == 0, answer.out
    assert texts(holdfast) == before
    assert "lost" not in answer.out.replace("nothing that is known of was lost", "")


def test_what_was_lost_is_named_in_its_stream(holdfast: Holdfast) -> None:
    fill(holdfast)
    connection = apsw.Connection(str(JOURNAL))
    connection.execute("DELETE FROM records WHERE seq = 10")
    connection.execute("PRAGMA writable_schema = ON").fetchall()
    connection.close()
    flush()
    damage(0, 3000)
    out = holdfast("doctor", "--fix").out
    assert "note:n1 lost 1 record" in out
    (record,) = holdfast("history", "note:n1", "--kind", "salvaged", "--json").data["records"]
    assert record["body"] == {"lost": 1, "unreadable": 0}
    assert holdfast("verify").code == 0


def test_an_unreadable_body_is_lost_and_nothing_else(holdfast: Holdfast) -> None:
    fill(holdfast)
    before = texts(holdfast)
    connection = apsw.Connection(str(JOURNAL))
    connection.execute("UPDATE records SET body = '{\"text' WHERE seq = 10")
    connection.close()
    answer = holdfast("doctor", "--fix")
    assert "lost 1 record" in answer.out
    records = holdfast("history", "-n", "1000", "note:*", "--json").data["records"]
    assert sum(record["erased"] for record in records) == 1
    assert len(before) == len({r["id"] for r in records if r["kind"] == "noted"})
    assert holdfast("doctor").code == 0


def test_nothing_readable_is_no_circle(holdfast: Holdfast) -> None:
    holdfast("note", "one")
    for name in ("journal.db-wal", "journal.db-shm"):
        (HOME / name).unlink(missing_ok=True)
    JOURNAL.write_bytes(b"garbage" * 10_000)
    assert holdfast("history").code == 1
    assert "doctor --fix" in holdfast("history").err
    answer = holdfast("doctor", "--fix")
    assert "0 records in 0 streams saved" in answer.out
    assert holdfast("note", "goes on").code == 0
    assert holdfast("doctor").code == 0
    assert "one" in Path(".notes/default.md").read_text(), "what the file still shows comes back"


@pytest.mark.parametrize(
    "point",
    ["salvaged", "before the damaged log is moved", "before the salvaged journal is moved"],
)
def test_a_salvage_that_was_killed_goes_on(holdfast: Holdfast, point: str) -> None:
    fill(holdfast)
    before = texts(holdfast)
    holdfast("note", "only in the log", "--to", "n0")
    damage(0, 3000)
    die_at(point, "doctor", "--fix")
    assert holdfast("doctor", "--fix").code == 0
    assert texts(holdfast) == {*before, "only in the log"}
    assert holdfast("verify").code == 0


def test_a_fence_is_never_given_twice(holdfast: Holdfast) -> None:
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    first = int(holdfast("show", "agent:secondary_a", "--json").data["stream"]["fence"])
    flush()
    connection = apsw.Connection(str(JOURNAL))
    connection.execute("DELETE FROM meta")
    connection.close()
    flush()
    damage(0, 3000)
    holdfast("doctor", "--fix")
    holdfast("agent", "start", "Secondary-B", "--feature", "f2")
    assert int(holdfast("show", "agent:secondary_b", "--json").data["stream"]["fence"]) > first
