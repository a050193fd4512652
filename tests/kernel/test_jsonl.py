"""Files of JSON lines: what a process knows of a file from its own last append holds only while the file is the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from holdfast.kernel.jsonl import LineFile
from holdfast.kernel.tree_file import TreeFile


def is_event(value: Any) -> bool:
    return isinstance(value.get("version"), int)


def append(path: Path, *versions: int) -> None:
    with LineFile(TreeFile(str(path.parent), path.name), is_event) as file:
        file.append([{"version": version} for version in versions])


def last(path: Path) -> Any:
    with LineFile(TreeFile(str(path.parent), path.name), is_event) as file:
        return file.last()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


def test_the_last_line_is_that_of_the_last_append(path: Path) -> None:
    assert last(path) is None
    append(path, 1, 2)
    append(path, 3)
    assert last(path) == {"version": 3}
    assert path.read_text() == '{"version": 1}\n{"version": 2}\n{"version": 3}\n'


def test_a_line_that_another_program_appended_is_seen(path: Path) -> None:
    append(path, 1)
    with path.open("a") as file:
        file.write('{"version": 2}\n')
    assert last(path) == {"version": 2}


def test_a_file_of_the_same_size_in_its_place_is_read(path: Path) -> None:
    append(path, 1)
    other = path.with_name("other")
    other.write_text('{"version": 7}\n')
    os.rename(other, path)
    assert last(path) == {"version": 7}


def test_a_file_that_was_cut_or_removed_is_read(path: Path) -> None:
    append(path, 1, 2)
    os.truncate(path, len('{"version": 1}\n'))
    assert last(path) == {"version": 1}
    path.unlink()
    assert last(path) is None


def test_a_line_that_was_torn_after_our_append_stays_a_line_of_its_own(path: Path) -> None:
    append(path, 1)
    with path.open("a") as file:
        file.write('{"version": 2, "ev')
    append(path, 3)
    assert path.read_text().splitlines() == [
        '{"version": 1}',
        '{"version": 2, "ev',
        '{"version": 3}',
    ]
    assert last(path) == {"version": 3}
