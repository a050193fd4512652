"""A workspace with everything in its journal, and the ways in which a disk or a program damages the file."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

import apsw

from tests import warm

HOME = Path(".git/holdfast")
JOURNAL = HOME / "journal.db"
PAGE = 8192
PATIENCE = 60
# What a person types to look at the work, and to go on with it.
LOOKS = (
    ("status",),
    ("history",),
    ("verify",),
    ("doctor",),
    ("resume",),
    ("agent", "list"),
    ("gate", "list"),
    ("guard", "check"),
)
WRITES = (
    ("note", "goes on", "--to", "n0"),
    ("checkpoint", "--status", "later", "--skip-git"),
    ("agent", "beat", "Secondary-A", "--step", "on"),
)


class Called:
    """One command as a process of its own."""

    def __init__(self, *words: str) -> None:
        done = warm.run(
            [sys.executable, "-m", "holdfast", *words],
            capture_output=True,
            timeout=PATIENCE,
            env={**os.environ, "HOLDFAST_ACTOR": "tester"},
        )
        self.words = words
        self.code: int = done.returncode
        self.out: str = done.stdout.decode()
        self.err: str = done.stderr.decode()

    @property
    def data(self) -> Any:
        return json.loads(self.out)["data"]

    @property
    def is_bug(self) -> bool:
        """Whether it ended as a bug, or showed a trace."""
        return self.code in (70, 120) or self.code < 0 or "Traceback" in self.err + self.out

    def __repr__(self) -> str:
        return f"{' '.join(self.words)}: {self.code}\n{self.out[-2000:]}\n{self.err[-2000:]}"


def fill() -> None:
    """Several streams of each kind, with snapshots, views, fences, refusals, and what waits to be sent."""
    for number in range(24):
        Called("note", f"note number {number} " + "x" * 2500, "--to", f"n{number % 2}")
    Called(
        "checkpoint", "--task", "Renderer", "--status", "half done", "--decision", "blanks first"
    )
    Called("agent", "start", "Secondary-A", "--feature", "f1")
    Called("agent", "start", "Secondary-B", "--feature", "f2")
    Called("gate", "decide", "--id", "colour", "--decision", "Which colour?", "--option", "red")
    Called("guard", "check")
    for number in range(6):
        Called("note", f"late {number}", "--to", "late")
    connection = apsw.Connection(str(JOURNAL))
    connection.execute(
        "INSERT INTO outbox VALUES ('e1', 'gate:colour', 'notify', 'k', '{\"text\":\"hello\"}',"
        " '2026-01-01T00:00:00.000Z', '2099-01-01T00:00:00.000Z', 0, '')"
    )
    connection.execute(
        "INSERT INTO refused VALUES ('r1', 'agent:secondary_a', '2026-01-01T00:00:00.000Z', 'a', 1,"
        " 'lost', '[]')"
    )
    connection.close()


def names() -> list[str]:
    """The streams of the journal."""
    connection = apsw.Connection(str(JOURNAL), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [row[0] for row in connection.execute("SELECT name FROM streams ORDER BY name")]
    finally:
        connection.close()


def show(stream: str) -> tuple[Called, Any]:
    """The state of a stream as a person sees it; None when it is refused."""
    called = Called("show", stream, "--json")
    return called, called.data["state"] if called.code == 0 else None


def put_back(kept: Path) -> None:
    """Make the folder what it was."""
    here = Path.cwd()
    for entry in here.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.copytree(kept, here, dirs_exist_ok=True, symlinks=True)


def damage_bytes(how: random.Random) -> str:
    """Change the file or its log as a disk does; what was done."""
    files = [JOURNAL, Path(f"{JOURNAL}-wal")]
    file = how.choice([one for one in files if one.exists() and one.stat().st_size > PAGE])
    content = bytearray(file.read_bytes())
    at = how.randrange(len(content))
    kind = how.choice(["flip", "flip", "overwrite", "zero", "swap", "letter", "letter"])
    if kind == "flip":
        content[at] ^= 1 << how.randrange(8)
    elif kind == "letter":  # in a text, so that it stays one
        texts = [
            place
            for place in range(at, min(at + PAGE, len(content)))
            if content[place] in b"0123456789abcdefx"
        ]
        at = texts[0] if texts else at
        content[at] = how.choice(b"0123456789abcdefx")
    elif kind == "overwrite":
        length = how.choice([2, 16, 200])
        content[at : at + length] = how.randbytes(len(content[at : at + length]))
    elif kind == "zero":
        content[at : at + 64] = bytes(len(content[at : at + 64]))
    else:
        one, other = (how.randrange(len(content) // PAGE) * PAGE for _ in range(2))
        content[one : one + PAGE], content[other : other + PAGE] = (
            content[other : other + PAGE],
            content[one : one + PAGE],
        )
    file.write_bytes(content)
    return f"{kind} of {file.name} at {at}"


def damage_cell(how: random.Random) -> str:
    """Change one value of one row as a program does; what was done."""
    connection = apsw.Connection(str(JOURNAL))
    tables = ["streams", "records", "recent", "snapshots", "meta", "views", "outbox", "refused"]
    try:
        filled = [
            table
            for table in tables
            if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()
        ]
        table = how.choice(filled)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        column = how.choice(columns)
        keys = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
        rows: Any = connection.execute(
            f"SELECT {', '.join(keys)}, {column} FROM {table} ORDER BY {', '.join(keys)}"
        ).fetchall()
        *key, value = how.choice(rows)
        changed = _other(how, value)
        where = " AND ".join(f"{one} = ?" for one in keys)
        try:
            connection.execute(
                f"UPDATE {table} SET {column} = ? WHERE {where}", (changed, *key)
            ).fetchall()
        except apsw.ConstraintError:
            return ""
        return f"{table}.{column} of {key}: {str(value)[:60]!r} to {str(changed)[:60]!r}"
    finally:
        connection.close()


def _other(how: random.Random, value: Any) -> Any:
    if how.random() < 0.1:
        return how.choice(["", "nonsense", 7, b"\xff\x00", "{}", "[]", -1])
    if isinstance(value, int):
        return value + how.choice([1, -1, 1000])
    if isinstance(value, (str, bytes)) and value:
        at = how.randrange(len(value))
        if isinstance(value, bytes):
            return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        return value[:at] + ("1" if value[at] != "1" else "2") + value[at + 1 :]
    return how.choice(["nonsense", 3])
