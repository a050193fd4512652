"""Files that are cut off, rotated, deleted, replaced or huge; and a tally that several share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients import lines as transcript_lines
from holdfast.clients.lines import NewLines, Unread
from holdfast.clients.usage import prices
from holdfast.clients.usage.reader import refresh
from holdfast.clients.usage.tally import FORGOTTEN_AFTER, open_tally
from tests import warm
from tests.clients.usage.conftest import NOW, ONE_ANSWER, Home, answer, close_to
from tests.privileges import modes_count


def test_a_line_without_its_end_is_read_when_it_has_one(home: Home) -> None:
    cut = len(answer(2)) // 2
    path = home.claude(answer(1) + answer(2)[:cut])
    assert home.spent()["cost"] == close_to(ONE_ANSWER)
    with path.open("a") as file:
        file.write(answer(2)[cut:])
    assert home.spent()["cost"] == close_to(2 * ONE_ANSWER)


def test_a_transcript_is_not_read_twice(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home.claude("".join(answer(number) for number in range(50)))
    home.spent()
    read: list[int] = []
    pread = os.pread

    def watched(descriptor: int, size: int, offset: int) -> bytes:
        found = pread(descriptor, size, offset)
        read.append(len(found))
        return found

    monkeypatch.setattr(os, "pread", watched)
    home.spent()
    assert read == []
    with path.open("a") as file:
        file.write(answer(50))
    assert home.spent()["cost"] == close_to(51 * ONE_ANSWER)
    assert sum(read) == len(answer(50)) + 2 * transcript_lines.TAIL  # 19,000 bytes were read before


def test_what_a_deleted_transcript_said_stays_spent(home: Home) -> None:
    path = home.claude(answer(1))
    home.spent("s")
    path.unlink()
    spent = home.spent("s")
    assert spent["cost"] == close_to(ONE_ANSWER)
    assert spent["sources"][0]["problem"] == "is gone; what it said stays counted"


def test_a_transcript_that_goes_while_it_is_read(home: Home) -> None:
    path = home.claude("".join(answer(number) for number in range(3)))
    lines = NewLines(str(path), None)
    reading = iter(lines)
    next(reading)
    path.unlink()
    assert len(list(reading)) == 2
    with pytest.raises(Unread, match="is gone"):
        NewLines(str(path), lines.mark).has_news()


def test_a_rotated_transcript_is_read_anew_and_counts_nothing_twice(home: Home) -> None:
    path = home.claude(answer(1) + answer(2))
    home.spent()
    path.rename(path.with_suffix(".old"))
    path.write_text(answer(2) + answer(3))
    assert home.spent()["cost"] == close_to(3 * ONE_ANSWER)


def test_a_truncated_transcript_is_read_anew(home: Home) -> None:
    path = home.claude(answer(1) + answer(2) + answer(3))
    home.spent()
    os.truncate(path, 0)
    assert home.spent()["cost"] == close_to(3 * ONE_ANSWER)
    with path.open("a") as file:
        file.write(answer(4))
    assert home.spent()["cost"] == close_to(4 * ONE_ANSWER)


def test_a_transcript_rewritten_in_place_is_noticed(home: Home) -> None:
    path = home.claude(answer(1) + answer(2))
    home.spent()
    with path.open("r+") as file:
        file.write(answer(7) + answer(8) + answer(9))
    assert home.spent()["cost"] == close_to(5 * ONE_ANSWER)


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link"])
def test_what_is_no_file_holds_nobody_up(home: Home, kind: str) -> None:
    path = home.claude(answer(1))
    home.spent("s")
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/nowhere")
    assert home.spent("s")["cost"] == close_to(ONE_ANSWER)


def test_a_transcript_that_may_not_be_read_is_named(home: Home) -> None:
    path = home.claude(answer(1))
    path.chmod(0)
    with modes_count():
        spent = home.spent()
    assert spent["cost"] is None
    assert spent["sources"][0]["problem"] == "Permission denied"


def test_a_line_without_end_does_not_fill_the_memory(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_lines, "LONGEST_LINE", 5000)
    monkeypatch.setattr(transcript_lines, "CHUNK", 512)
    path = home.claude(answer(1) + '{"type":"' + "x" * 9000 + '"}\n' + answer(2))
    assert home.spent()["cost"] == close_to(2 * ONE_ANSWER)
    lines = NewLines(str(path), None)
    assert max(map(len, lines)) < 5000
    assert lines.skipped == 1


def test_bytes_that_are_no_text_are_passed_over(home: Home) -> None:
    path = home.claude(answer(1))
    with path.open("ab") as file:
        file.write(b'\xff\xfe{"usage":\x00\n\n\r\n{"usage":[[[[\n' + answer(2).encode())
    assert home.spent()["cost"] == close_to(2 * ONE_ANSWER)


@given(
    numbers=st.lists(st.integers(0, 12), min_size=1, max_size=20),
    cuts=st.lists(st.integers(0, 100_000), max_size=8),
    rotate=st.integers(0, 30),
)
def test_cut_anywhere_the_sum_is_that_of_one_reading(
    numbers: list[int], cuts: list[int], rotate: int
) -> None:
    """A transcript that grows by any pieces, and is perhaps replaced on the way."""
    content = "".join(answer(number) for number in numbers).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        tally = open_tally(folder)
        source = {"client": "claude", "session": "s", "path": str(path), "agent": ""}
        ends = sorted({cut % (len(content) + 1) for cut in cuts} | {len(content)})
        for number, end in enumerate(ends):
            if number == rotate:
                # Another file takes the old one's place while that still has its inode.
                path.with_name("new").write_bytes(content[:end])
                path.with_name("new").replace(path)
            else:
                path.write_bytes(content[:end])
            refresh(tally, [source], NOW, str)  # type: ignore[list-item]
            whole = content[:end].count(b"\n")
            assert tally.total("claude:s")["messages"] == len(set(numbers[:whole]))
        assert tally.total("claude:s")["cost"] == close_to(len(set(numbers)) * ONE_ANSWER)
        tally.close()


LOOK = """
import sys
from holdfast.kernel.workspace import discover
from holdfast.usage import spending
sys.stdin.readline()
print(spending.measure_session(discover(), session="s", now=int(sys.argv[1]))["cost"])
"""


def test_several_processes_that_read_at_once_count_once(home: Home) -> None:
    home.claude("".join(answer(number) for number in range(300)))
    words = [sys.executable, "-c", LOOK, NOW]
    processes = [
        warm.start(words, cwd=home.repository, text=True, stdin=warm.PIPE, stdout=warm.PIPE)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("now\n")
        process.stdin.flush()
    costs = [float(process.communicate(timeout=120)[0]) for process in processes]
    assert costs == [close_to(300 * ONE_ANSWER)] * 4
    assert home.spent()["cost"] == close_to(300 * ONE_ANSWER)


@pytest.mark.parametrize("damage", [b"", b"no database" * 500])
def test_a_damaged_tally_is_made_again(home: Home, damage: bytes) -> None:
    home.claude(answer(1))
    home.spent()
    path = Path(home.workspace.home) / "usage.db"
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(damage)
    assert home.spent()["cost"] == close_to(ONE_ANSWER)
    assert path.stat().st_size > len(damage)


def test_a_tally_of_another_format_is_made_again(home: Home) -> None:
    home.claude(answer(1))
    home.spent()
    tally = open_tally(home.workspace.home)
    tally.connection.execute("PRAGMA user_version = 99")
    tally.close()
    assert home.spent()["cost"] == close_to(ONE_ANSWER)


def test_where_nothing_can_be_written_it_is_read_all_the_same(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.claude(answer(1))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert home.spent()["cost"] == close_to(ONE_ANSWER)
    assert not (Path(home.workspace.home) / "usage.db").exists()


SPENT = """
import sys
from holdfast.clients.usage import prices
prices.FILE = sys.argv[1]
from holdfast.usage import spending
from holdfast.kernel.workspace import discover
print(spending.measure_session(discover(), session="", now=int(sys.argv[2]))["cost"])
"""


def test_another_price_list_prices_the_past_anew(home: Home) -> None:
    home.claude(answer(1) + answer(2, model="claude-of-tomorrow-9"))
    assert home.spent()["cost"] is None
    changed = json.loads(Path(prices.FILE).read_text())
    changed["date"] = "2027-01-01"
    rate = {"input": 1, "output": 1, "cache_read": 1, "cache_write": 1}
    changed["providers"]["anthropic"].append(
        {"id": "new", "match": {"starts_with": "claude-of-tomorrow"}, "prices": [rate]}
    )
    newer = home.root / "prices.json"
    newer.write_text(json.dumps(changed))
    # A list comes with another version of holdfast, so another process reads it.
    done = subprocess.run(
        [sys.executable, "-c", SPENT, str(newer), str(NOW)], capture_output=True, check=True
    )
    assert float(done.stdout) == close_to(ONE_ANSWER + 1609 / 1e6)


def test_sessions_that_nobody_asks_for_are_forgotten(home: Home) -> None:
    home.claude(answer(1), "old")
    home.spent("old")
    home.claude(answer(1), "new")
    home.spent("new", now=NOW + FORGOTTEN_AFTER + 1)
    tally = open_tally(home.workspace.home)
    assert tally.keys("old") == []
    assert tally.keys("new") == ["claude:new"]
    assert tally.total("claude:old")["messages"] == 0
    tally.close()
    assert home.spent("old")["cost"] == close_to(ONE_ANSWER)


def test_what_an_older_version_counted_stays_counted_without_its_transcript(home: Home) -> None:
    path = home.claude(answer(1), "old")
    home.spent("old")
    with open_tally(home.workspace.home) as tally:
        tally.connection.execute("CREATE TABLE total(session TEXT)")
        tally.connection.execute("PRAGMA user_version = 3")
    path.unlink()
    with open_tally(home.workspace.home) as tally:
        assert tally.total("claude:old")["cost"] == close_to(ONE_ANSWER)


@pytest.mark.parametrize("answers", [4_000, pytest.param(20_000, marks=pytest.mark.proof)])
def test_a_transcript_of_many_lines(home: Home, answers: int) -> None:
    attachment = '{"type":"attachment","attachment":{"content":"%s"}}\n' % ("x" * 200)
    with home.claude("").open("w") as file:
        for number in range(answers):
            file.write(answer(number) + attachment * 4)
    spent = home.spent()
    assert spent["cost"] == close_to(answers * ONE_ANSWER)
    assert spent["tokens"]["output"] == answers * 42
