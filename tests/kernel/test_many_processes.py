"""Many processes write at once: nothing lost, nothing twice, no gaps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from holdfast.journal.chain import verify
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import workspace
from tests import warm
from tests.kernel import processes

COMMANDS = 6


def let_go_together(started: list[warm.Process]) -> None:
    """All are ready before the first begins; all succeed."""
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in started:
        process.communicate()
    assert [process.returncode for process in started] == [0] * len(started)


def assert_all_there(journal: SqliteJournal, expected: Counter[str]) -> None:
    heads = {head["stream"]: head["version"] for head in journal.heads()}
    assert heads == expected
    for stream, count in expected.items():
        versions = [record["version"] for record in journal.read(stream)]
        assert versions == list(range(1, count + 1)), f"{stream} has gaps"
    assert [found["broken"] for found in verify(journal) if found["broken"]] == []


@pytest.mark.parametrize(
    ("number", "records"), [(8, 40), pytest.param(32, 200, marks=pytest.mark.proof)]
)
def test_appends_of_many_processes_are_all_there_once(
    tmp_path: Path, number: int, records: int
) -> None:
    path = str(tmp_path / "journal.db")
    actors = [f"process-{index}" for index in range(number)]

    let_go_together([processes.start("append_to_both", path, records, actor) for actor in actors])

    journal = SqliteJournal(path)
    own = Counter({f"note:{actor}": records // 2 for actor in actors})
    assert_all_there(journal, own + Counter({"note:shared": number * records // 2}))
    everything = journal.since(0, limit=number * records + 1)
    written = Counter((record["body"]["by"], record["body"]["number"]) for record in everything)
    assert set(written.values()) == {1}
    assert len(written) == number * records
    for actor in actors:
        numbers = [r["body"]["number"] for r in everything if r["actor"] == actor]
        assert numbers == sorted(numbers), "the order of one writer is the order of its records"
    journal.close()


@pytest.mark.parametrize("number", [8, pytest.param(32, marks=pytest.mark.proof)])
def test_commands_of_many_processes_are_all_there_once(repository: Path, number: int) -> None:
    actors = [f"process-{index}" for index in range(number)]

    let_go_together([processes.start("execute", repository, COMMANDS, actor) for actor in actors])

    here = workspace.discover(str(repository))
    own = Counter({f"note:{actor}": COMMANDS // 2 for actor in actors})
    assert_all_there(here.file(), own + Counter({"note:shared": number * COMMANDS // 2}))
    said = [record["body"]["text"] for record in here.journal.since(0)]
    assert sorted(said) == sorted(
        f"{actor} {index}" for actor in actors for index in range(COMMANDS)
    )
    lines = (repository / ".notes" / "shared.md").read_text().splitlines()
    shown = [line.partition(": ")[2] for line in lines if line.startswith("- ")]
    assert shown == [record["body"]["text"] for record in here.journal.read("note:shared")]
    here.close()
