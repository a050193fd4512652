"""What was acknowledged and is gone is named, and comes back as far as files still show it."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import apsw
import pytest

from holdfast.journal.chain import verify
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.testing.journal.examples import drafts, write
from tests.session import world
from tests.session.world import Holdfast

holdfast = world.holdfast


def copy_log_back(path: str) -> None:
    connection = apsw.Connection(path)
    connection.execute("SELECT count(*) FROM streams").fetchall()
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


def note_and_lose(holdfast: Holdfast) -> None:
    """Three notes in the journal, and two whose log is removed."""
    path = discover().journal_path
    for text in ("one", "two", "three"):
        holdfast("note", text)
    copy_log_back(path)
    for text in ("four", "five"):
        holdfast("note", text)
    Path(f"{path}-wal").unlink()


def test_verify_and_doctor_name_the_records_that_went_with_the_log(
    repository: Path, holdfast: Holdfast
) -> None:
    note_and_lose(holdfast)

    for _ in range(2):  # to look does not make it forgotten
        answer = holdfast("verify")
        assert answer.code == 1
        assert "missing: note:default version 4: noted" in answer.out
        assert "missing: note:default version 5: noted" in answer.out
        assert "3 records in 1 chain, 2 missing." in answer.out
    [check] = [c for c in holdfast("doctor", "--json").data["checks"] if c["id"] == "lost"]
    assert check["status"] == "problem"
    assert check["what"].startswith("2 acknowledged records are missing")
    assert check["what"].endswith("in note:default")


def test_what_a_file_still_shows_is_brought_back(repository: Path, holdfast: Holdfast) -> None:
    note_and_lose(holdfast)

    holdfast("note", "six")
    holdfast("doctor", "--fix")

    shown = [
        line.rpartition(": ")[2] for line in Path(".notes/default.md").read_text().splitlines()
    ]
    assert shown[2:] == ["one", "two", "three", "four", "five", "six"]
    assert holdfast("verify").code == 0
    [kept] = (Path(discover().quarantine)).iterdir()
    assert "note:default" in kept.read_text(), "the list of what was lost is kept"


def test_a_whole_journal_loses_nothing_by_any_maintenance(
    repository: Path, holdfast: Holdfast, tmp_path: Path
) -> None:
    holdfast("note", "one")
    copy = tmp_path / "copy.db"
    assert holdfast("backup", str(copy)).code == 0
    for number in range(40):
        holdfast("note", f"later {number}")
    for words in (("gc",), ("backup", str(copy), "--restore", "--yes"), ("note", "again")):
        holdfast(*words)
        answer = holdfast("verify")
        assert answer.code == 0, (words, answer.out)


def damage_log(log: Path, how: random.Random) -> str:
    """One of the ways in which a disk, a program or a person damages the file; what was done."""
    content = bytearray(log.read_bytes())
    at = how.randrange(len(content))
    kind = how.choice(["flip", "zero", "cut", "tear", "swap", "remove", "empty", "head"])
    if kind == "flip":
        content[at] ^= 1 << how.randrange(8)
    elif kind == "zero":
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    elif kind == "cut":
        del content[at:]
    elif kind == "tear":
        content[at : at + 4096] = how.randbytes(len(content[at : at + 4096]))
    elif kind == "swap":
        half = len(content) // 2
        content = content[half:] + content[:half]
    elif kind == "empty":
        content.clear()
    elif kind == "head":
        content[: how.randrange(1, 64)] = b""
    if kind == "remove":
        log.unlink()
    else:
        log.write_bytes(content)
    return f"{kind} at {at}"


def looked_at(path: Path) -> tuple[dict[str, str], bool]:
    """The records that a damaged journal still gives, and whether it says that something is wrong."""
    try:
        journal = SqliteJournal(str(path))
        kept = {record["id"]: record["hash"] for record in journal.since(0)}
        broken = [found["broken"] for found in verify(journal) if found["broken"]]
        problems = [*journal.damage(), *journal.lost(), *broken]
        journal.close()
    except HoldfastError as error:
        return {}, error.kind == "journal_damaged"
    return kept, bool(problems)


@pytest.mark.parametrize("with_index", [True, False])
def test_no_damage_of_the_log_is_silent(tmp_path: Path, with_index: bool) -> None:
    """Forty damages of the log, each of a journal whose newest records are only there: what is missing
    or changed is named, by the loss, the chain or the damage."""
    source = tmp_path / "source"
    source.mkdir()
    journal = SqliteJournal(str(source / "journal.db"))
    write(journal, "note:a", *drafts(30))
    copy_log_back(str(source / "journal.db"))
    for number in range(12):
        write(journal, f"note:{'ab'[number % 2]}")
    acknowledged = {record["id"]: record["hash"] for record in journal.since(0)}
    journal.close()
    assert len(acknowledged) == 42
    silent, named = [], 0
    for seed in range(40):
        place = tmp_path / str(seed)
        shutil.copytree(source, place)
        done = damage_log(place / "journal.db-wal", random.Random(seed))
        if not with_index:
            (place / "journal.db-shm").unlink()
        kept, is_named = looked_at(place / "journal.db")
        named += is_named
        if kept != acknowledged and not is_named:
            silent.append((seed, done, len(kept)))
    assert silent == []
    assert named > 10


@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"[1,2]\n[\xff\n{}\n[[[[", b"x" * 100_000])
def test_a_damaged_mark_says_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.db"
    journal = SqliteJournal(str(path))
    write(journal, "note:a", *drafts(3))
    journal.close()
    Path(f"{path}-mark").write_bytes(content)

    journal = SqliteJournal(str(path))

    assert [found["broken"] for found in verify(journal)] == [""]
    assert journal.lost() == []
    journal.close()


def test_a_folder_or_link_in_the_place_of_the_mark_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "0.db-mark").mkdir()
    (tmp_path / "1.db-mark").symlink_to("/dev/zero")
    for number in range(2):
        path = tmp_path / f"{number}.db"
        journal = SqliteJournal(str(path))
        write(journal, "note:a")
        assert [found["broken"] for found in verify(journal)] == [""]
        journal.close()
