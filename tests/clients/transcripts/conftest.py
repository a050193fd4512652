"""A home of its own, what the real clients wrote (see record.py), and files that are no transcripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from holdfast.clients import conversation
from holdfast.clients.conversation import SessionEvent
from holdfast.kernel.text import split_words

if TYPE_CHECKING:
    from holdfast.clients.conversation import ReaderState

SAMPLES = Path(__file__).parent / "samples"
HOMES = split_words(
    "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME XDG_DATA_HOME OPENCODE_DB XDG_STATE_HOME"
)
FILE = "/home/dev/proj/parser.py"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has used no client yet."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in HOMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    return folder


def told(events: list[SessionEvent]) -> list[tuple[str, ...]]:
    """Events in short: their kind, and what matters of it."""
    return [_short(event) for event in events]


def _short(event: SessionEvent) -> tuple[str, ...]:
    if event.kind == "edit":
        return (event.kind, event.path, event.change)
    if event.kind in ("read", "place"):
        return (event.kind, event.path)
    if event.kind == "result":
        return (event.kind, {True: "failed", False: "passed", None: "?"}[event.failed])
    if event.kind in ("tasks", "task"):
        return (event.kind, *(f"{task['text']}: {task['state']}" for task in event.tasks))
    return (event.kind, event.text)


# What both recorded sessions did; see record.py.
STORY = [
    ("prompt", "Keep the quotes in parser.py. Do not touch the tests."),
    ("read", FILE),
    ("result", "passed"),
    ("edit", FILE, "edited"),
    ("result", "passed"),
    ("tasks", "Edit parser.py: done", "Make the test pass: active"),
    ("result", "passed"),
    ("edit", "/home/dev/proj/new.py", "created"),
    ("result", "passed"),
    ("edit", FILE, "edited"),
    ("result", "failed"),
    ("run", "echo 'AssertionError: quotes were lost' >&2; exit 3"),
    ("result", "failed"),
    ("said", "The test still fails. Next: use shlex.split in parse()."),
]


def new_state() -> ReaderState:
    return conversation.new_state()


@pytest.fixture
def store(home: Path) -> Path:
    """opencode's database with the recorded session; closed in order, so without a log."""
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    path = folder / "opencode.db"
    with closing(apsw.Connection(str(path))) as database:
        sql(database, "PRAGMA journal_mode = WAL")
        sql(database, (SAMPLES / "opencode.sql").read_text(encoding="utf-8"))
    return path


def sql(database: apsw.Connection, text: str, *values: object) -> None:
    """Run all statements of a text."""
    for _ in database.execute(text, values or None):
        pass


Hostile = Callable[[Path], None]


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def _circle(path: Path) -> None:
    path.symlink_to(path)


def _empty(path: Path) -> None:
    path.touch()


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 64)


def _deep(path: Path) -> None:
    path.write_bytes(b'{"sessionId":' + b"[" * 100_000)


def _endless(path: Path) -> None:
    """A first line that does not end."""
    path.write_bytes(b'{"type":"user","content":"' + b"x" * 3_000_000)


def _cut_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\1" * 5000)


HOSTILE: tuple[Hostile, ...] = (
    _fifo,
    _folder,
    _dangling,
    _circle,
    _empty,
    _binary,
    _deep,
    _endless,
    _cut_database,
)


@pytest.fixture(params=HOSTILE, ids=lambda make: make.__name__.strip("_"))
def hostile(request: pytest.FixtureRequest) -> Hostile:
    """Puts something at a path that is no transcript."""
    make: Hostile = request.param
    return make
