"""A restore is all or nothing: no kill and no other writer makes an acknowledged record go missing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import apsw
import pytest

from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from tests import warm
from tests.cli.conftest import Holdfast
from tests.dying import die_at
from tests.maintenance.copies import HOME, JOURNAL, prepare, texts_in, what_is_left

pytestmark = pytest.mark.usefixtures("repository")
# Past the workspace's lock, as a stream without files is written.
WRITER = """
from holdfast.journal.interface import Append
from holdfast.kernel.workspace import discover
from holdfast.testing.journal.examples import draft

journal = discover().journal
print("ready", flush=True)
for number in range(100_000):
    added = draft({"text": f"written {number}"}, kind="noted")
    journal.commit([Append("note:busy", [added], expected=None)])
    print(number, flush=True)
"""
TWO_NOTES = """
import sys, holdfast
with holdfast.open() as workspace:
    workspace.note("before", name="open")
    print("ready", flush=True)
    sys.stdin.readline()
    workspace.note("after", name="open")
"""


@pytest.mark.parametrize("point", ["before a restore is committed", "after a restore is committed"])
def test_a_restore_that_was_killed_leaves_the_old_journal_or_the_copy(
    holdfast: Holdfast, tmp_path: Path, point: str
) -> None:
    copy, old, new = prepare(holdfast, tmp_path)

    die_at(point, "backup", str(copy), "--restore")

    expected = old if "before" in point else new
    assert what_is_left() == expected
    assert holdfast("verify").code == 0, "nothing is reported as lost"
    assert holdfast("doctor").code == 0
    assert old <= what_is_left().union(*(texts_in(one) for one in HOME.glob("before-restore-*.db")))
    assert holdfast("note", "goes on", "--to", "kept").code == 0
    assert holdfast("backup", str(copy), "--restore").code == 0
    assert what_is_left() == new
    assert not (HOME / "restore.unfinished").exists()


def test_what_others_write_during_a_restore_is_in_the_journal_or_in_its_copy(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    copy, _, _ = prepare(holdfast, tmp_path)
    with warm.start([sys.executable, "-c", WRITER], stdout=warm.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        for _ in range(3):
            assert holdfast("backup", str(copy), "--restore").code == 0
        writer.kill()
        said = writer.stdout.read().split("\n")[:-1]
    kept = what_is_left().union(*(texts_in(one) for one in HOME.glob("before-restore-*.db")))
    assert said, "it wrote meanwhile"
    assert {f"written {number}" for number in said} <= kept
    assert holdfast("verify").code == 0


def test_a_number_and_a_fence_are_given_once_across_a_restore(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    copy, _, _ = prepare(holdfast, tmp_path)
    holdfast("agent", "start", "Secondary-A", "--feature", "f1")
    fence = holdfast("show", "agent:secondary_a", "--json").data["stream"]["fence"]
    with_all = discover().journal.latest(limit=1)[0]["seq"]
    assert holdfast("backup", str(copy), "--restore").code == 0
    holdfast("agent", "start", "Secondary-B", "--feature", "f2")
    assert holdfast("show", "agent:secondary_b", "--json").data["stream"]["fence"] > fence
    assert discover().journal.latest(limit=1)[0]["seq"] > with_all
    assert holdfast("verify").code == 0


def test_a_lost_log_is_noticed_also_after_a_restore(holdfast: Holdfast, tmp_path: Path) -> None:
    copy, _, _ = prepare(holdfast, tmp_path)
    assert holdfast("backup", str(copy), "--restore").code == 0
    connection = apsw.Connection(str(JOURNAL))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    holdfast("note", "only in the log", "--to", "kept")
    discover().close()
    Path(f"{JOURNAL}-wal").unlink()
    answer = holdfast("show", "note:kept")
    assert "Acknowledged records are missing in note:kept" in answer.err
    assert holdfast("verify").code == 1


def test_a_copy_whose_records_were_changed_is_not_restored(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    copy, old, _ = prepare(holdfast, tmp_path)
    connection = apsw.Connection(str(copy))
    connection.execute("UPDATE records SET actor = 'somebody' WHERE seq = 1")
    connection.execute("UPDATE recent SET actor = 'somebody' WHERE seq = 1")
    connection.close()
    answer = holdfast("backup", str(copy), "--restore")
    assert answer.code == 1
    assert "is damaged: note:kept: its header was changed" in answer.err
    assert what_is_left() == old


@pytest.mark.parametrize(
    "point", ["before the damaged log is moved", "before the salvaged journal is moved"]
)
def test_a_restore_over_a_damaged_journal_that_was_killed_is_repeated(
    holdfast: Holdfast, tmp_path: Path, point: str
) -> None:
    copy, _, new = prepare(holdfast, tmp_path)
    fence = discover().journal.get("fence")
    JOURNAL.write_bytes(b"garbage" * 5000)
    die_at(point, "backup", str(copy), "--restore")
    assert holdfast("history").code == 1, "still named as damaged"
    assert holdfast("backup", str(copy), "--restore").code == 0
    assert what_is_left() == new
    assert int(discover().journal.get("fence") or 0) > int(fence or 0)
    assert holdfast("verify").code == 0


def test_a_process_that_has_the_replaced_journal_open_writes_to_the_new_one(
    holdfast: Holdfast, tmp_path: Path
) -> None:
    """A page or an MCP server runs while a person makes a damaged journal whole."""
    copy, _, new = prepare(holdfast, tmp_path)
    with warm.start(
        [sys.executable, "-c", TWO_NOTES], stdin=warm.PIPE, stdout=warm.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        assert server.stdout.readline() == "ready\n"
        prepared = tmp_path / "new.db"
        prepared.write_bytes(copy.read_bytes())
        os.rename(prepared, JOURNAL)
        server.stdin.write("go\n")
        server.stdin.flush()
        assert server.wait(60) == 0
    assert what_is_left() >= {*new, "after"}


def test_a_commit_into_a_replaced_file_is_not_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    journal = SqliteJournal(str(path))
    SqliteJournal(str(tmp_path / "b.db")).close()
    with journal.transaction():
        os.rename(tmp_path / "b.db", path)
        with pytest.raises(HoldfastError) as refused:
            journal.connection()
    assert refused.value.kind == "journal_replaced"
    journal.close()
