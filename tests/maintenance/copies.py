"""A journal with more in it than its copy has."""

from __future__ import annotations

import json
from pathlib import Path

import apsw

from holdfast.kernel.workspace import discover
from tests.cli.conftest import Holdfast

HOME = Path(".git/holdfast")
JOURNAL = HOME / "journal.db"


def prepare(holdfast: Holdfast, folder: Path) -> tuple[Path, set[str], set[str]]:
    """A copy, the notes that the journal has now, and those of the copy."""
    for number in range(3):
        holdfast("note", f"early {number} " + "x" * 4000, "--to", "kept")
    copy = folder / "copy.db"
    assert holdfast("backup", str(copy)).code == 0
    new = what_is_left()
    for number in range(40):
        holdfast("note", f"late {number}", "--to", "kept" if number % 2 else "later")
    return copy, what_is_left(), new


def what_is_left() -> set[str]:
    """The notes of the journal."""
    workspace = discover()
    try:
        records = workspace.journal.since(0)
    finally:
        workspace.close()
    return {record["body"]["text"] for record in records if record["kind"] == "noted"}


def texts_in(copy: Path) -> set[str]:
    """The notes of a copy."""
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {
            json.loads(str(body))["text"]
            for table in ("records", "recent")
            for (body,) in connection.execute(f"SELECT body FROM {table} WHERE kind = 'noted'")
        }
    finally:
        connection.close()
