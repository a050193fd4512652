"""What is killed: six ways in which one capture meets a workspace."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

from holdfast.hooks import run as hooks
from holdfast.journal.sqlite import CHECKPOINT_PAGES
from holdfast.kernel import canonical_json, clock
from tests.kernel.views.scene import VIEW, Scene

ID = "0123456789abcdef" * 2
TEXT = "the note of the killed process"
EDIT = "written by hand"
QUEUED = "left by a sandboxed process"
WAITING = "2026-01-01T000000.000Z-f.json"

# Says ACK when the command is done, or which of our own errors it ended with.
CAPTURE = f"""
import os, sys
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.kernel.streams import open_writer

try:
    outcome = open_writer(discover(sys.argv[1])).execute(
        "note:default", {{"add": {TEXT!r}, "by": "child"}}, actor="child", now=clock.now(), id={ID!r}
    )
    line = "QUEUED" if outcome["queued"] else "ACK"
    code = 0
except HoldfastError as error:
    line = "FAILED " + error.message
    code = error.exit_code
os.write(1, (line + "\\n").encode())
os._exit(code)
"""


class Subject(NamedTuple):
    """How a workspace is prepared, what is started in it, and what its journal may hold then."""

    prepare: Callable[[Scene], None]
    command: Callable[[Path], list[str]]
    # Records beside `noted` that belong there, and texts that must be there once in the end.
    kinds: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()
    is_hook: bool = False
    # A file without whose change the subject would not be what its name says.
    touches: str = VIEW


def prepared(subject: Subject, template: Path, root: Path) -> Path:
    """A new workspace for one run. Not a copy of a prepared one: a view is known by its inode."""
    shutil.copytree(template, root)
    scene = Scene(root)
    subject.prepare(scene)
    scene.close()
    return root


def _nothing(scene: Scene) -> None:
    return


def _notes(scene: Scene) -> None:
    for number in range(3):
        scene.note(f"prepared {number}")


def _full_log(scene: Scene) -> None:
    """One commit more, and the write-ahead log is copied back into the database."""
    _notes(scene)
    journal = scene.workspace.file()
    connection = journal.connection()
    connection.wal_autocheckpoint(0)
    connection.execute("PRAGMA synchronous = OFF").fetchall()
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    # Each of these is one page, and so is the commit that follows.
    for number in range(CHECKPOINT_PAGES - 1):
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('filler', ?)", (str(number),))


def _edited(scene: Scene) -> None:
    _notes(scene)
    scene.view.write_text(scene.text() + f"- {EDIT}\n\n## My own section\n")


def _waiting(scene: Scene) -> None:
    _notes(scene)
    folder = Path(scene.workspace.prepare_tool_folder("inbox"))
    queued = {
        "id": "f" * 32,
        "stream": "note:default",
        "command": {"add": QUEUED, "by": "agent"},
        "actor": "agent",
        "fence": None,
        "at": clock.precise(clock.now()),
    }
    (folder / WAITING).write_text(canonical_json.dumps(queued))


def _capture(root: Path) -> list[str]:
    return [sys.executable, "-c", CAPTURE, str(root)]


def _hook(root: Path) -> list[str]:
    return hooks.command("note")


PAYLOAD = canonical_json.dumps({"text": TEXT, "by": "agent", "id": ID})

SUBJECTS = {
    "a capture": Subject(_notes, _capture),
    "the first capture of a workspace": Subject(_nothing, _capture),
    "a capture that checkpoints the log": Subject(
        _full_log, _capture, touches=".git/holdfast/journal.db"
    ),
    "a capture that meets an edit": Subject(
        _edited, _capture, kinds=frozenset({"edited_outside"}), texts=(EDIT,)
    ),
    "a capture that takes in a waiting note": Subject(
        _waiting, _capture, texts=(QUEUED,), touches=f".holdfast/inbox/{WAITING}"
    ),
    "a hook": Subject(_notes, _hook, is_hook=True),
}
