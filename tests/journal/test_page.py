"""What docs/journal.md says of the file format, read from a journal with nothing but SQLite and hashlib."""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import apsw

from holdfast.kernel.workspace import discover
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.conftest import Git

holdfast = command_line.holdfast
JOURNAL = ".git/holdfast/journal.db"
PAGE = Path(__file__).parents[2] / "docs" / "journal.md"


def connect() -> apsw.Connection:
    return apsw.Connection(JOURNAL, flags=apsw.SQLITE_OPEN_READONLY)


def test_the_chain_is_what_the_page_says(repository: Path, holdfast: Holdfast) -> None:
    for words in (["note", "one"], ["note", "zwei \u20ac"], ["checkpoint", "--task", "t"]):
        assert holdfast(*words).code == 0
    assert holdfast("agent", "start", "Secondary-A", "--feature", "f").code == 0
    connection = connect()
    assert connection.pragma("application_id") == 0x486F6C64
    assert f"The file format, version {connection.pragma('user_version')}\n" in PAGE.read_text()
    names: dict[int, str] = dict(connection.execute("SELECT number, name FROM streams"))
    fields = "seq, id, stream, version, at, actor, fence, kind, salt, body, hash"
    rows: list[Any] = [
        row
        for table in ("records", "recent")
        for row in connection.execute(f"SELECT {fields} FROM {table}")
    ]
    ends: dict[str, tuple[int, bytes]] = defaultdict(lambda: (0, bytes(32)))
    for _, id, number, version, at, actor, fence, kind, salt, body, known in sorted(rows):
        stream = names[number]
        before, previous = ends[stream]
        assert version == before + 1, "from 1, without gaps"
        assert (len(id), len(salt)) == (32, 16)
        header = [id, stream, version, at, actor, fence, kind]
        spelled = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        text = body.encode() if isinstance(body, str) else body
        inner = hashlib.sha256(salt + text).digest()
        assert hashlib.sha256(previous + spelled + inner).digest() == known, (stream, version)
        ends[stream] = version, known
    assert len(ends) >= 3
    assert any(row[6] is not None for row in rows), "one with a fence"


def test_git_touches_no_journal(repository: Path, git: Git, holdfast: Holdfast) -> None:
    assert holdfast("note", "one").code == 0
    discover().prepare_tool_folder()
    assert Path(".holdfast/.gitignore").read_text().split() == ["*"]
    git("stash", "--all")
    git("clean", "-fdxq")
    git("gc", "--quiet")
    assert not Path(".holdfast").exists()
    assert holdfast("verify").code == 0
    assert "one" in holdfast("note").out


def test_a_newer_format_is_refused_and_not_changed(repository: Path, holdfast: Holdfast) -> None:
    assert holdfast("note", "one").code == 0
    newer = apsw.Connection(JOURNAL)
    newer.pragma("user_version", 99)
    newer.close()
    before = os.stat(JOURNAL).st_mtime_ns
    for words in (["note", "two"], ["status"], ["resume"]):
        assert holdfast(*words).code != 0, words
    assert os.stat(JOURNAL).st_mtime_ns == before
    assert connect().pragma("user_version") == 99
