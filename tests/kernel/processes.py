"""Other processes for the tests: `start("append", ...)` runs the function of that name in one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.journal.interface import Append
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import StoreAway
from holdfast.testing.journal.examples import NOON, draft
from tests import warm

PROJECT = Path(__file__).parents[2]


def start(name: str, *values: str | int | Path, **options: Any) -> warm.Process:
    """A process of its own that runs one of the functions below; it can be talked to."""
    command = [sys.executable, "-m", __name__, name, *map(str, values)]
    return warm.start(
        command,
        text=True,
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )


def run(name: str, *values: str | int | Path) -> str:
    """Start, wait, and say what it printed; a failure there is one here."""
    process = start(name, *values)
    output: str = process.communicate()[0]
    assert process.returncode == 0, f"{name} ended with {process.returncode}"
    return output


def say(line: str) -> None:
    print(line, flush=True)


def wait_for_line() -> None:
    sys.stdin.readline()


def insist(attempt: Callable[[], object]) -> None:
    """Try the same again while the store is busy, as the error says. Ids make that harmless."""
    while True:
        try:
            attempt()
            return
        except StoreAway as away:
            if away.kind != "store_busy":
                raise


def append(path: str, stream: str, count: str, actor: str) -> None:
    """One commit a record, whatever the version; the ids that were acknowledged."""
    journal = SqliteJournal(path)
    for number in range(int(count)):
        change = draft({"by": actor, "number": number}, actor=actor)
        journal.commit([Append(stream, [change], expected=None)])
        say(change["id"])
    journal.close()


def append_to_both(path: str, count: str, actor: str) -> None:
    """Half of the records go to a stream that all share, half to one's own."""
    journal = SqliteJournal(path)
    say("ready")
    wait_for_line()
    for number in range(int(count)):
        stream = "note:shared" if number % 2 else f"note:{actor}"
        change = draft({"by": actor, "number": number}, actor=actor)
        insist(partial(journal.commit, [Append(stream, [change], expected=None)]))
    journal.close()


def execute(root: str, count: str, actor: str) -> None:
    """The whole write path, on a shared note and on one's own."""
    from holdfast.kernel.redact import Redactor
    from holdfast.kernel.streams import rules_of
    from holdfast.kernel.workspace import discover
    from holdfast.kernel.writer import Writer

    writer = Writer(discover(root), rules_of, Redactor(environment={}))
    say("ready")
    wait_for_line()
    for number in range(int(count)):
        stream = "note:shared" if number % 2 else f"note:{actor}"
        command = {"add": f"{actor} {number}", "by": actor}
        insist(
            partial(writer.execute, stream, command, actor=actor, now=NOON + number, id=new_id())
        )


def append_until_told(path: str, stream: str, size: str) -> None:
    """Appends without a pause until a line comes in; how many were acknowledged."""
    import threading

    told = threading.Event()

    def listen() -> None:
        wait_for_line()
        told.set()

    threading.Thread(target=listen, daemon=True).start()
    journal = SqliteJournal(path)
    say("ready")
    count = 0
    while not told.is_set():
        journal.commit([Append(stream, [draft("x" * int(size))], expected=None)])
        count += 1
    journal.close()
    say(str(count))


def open_at(path: str, instant: str) -> None:
    """Open (and so migrate) a journal at an agreed instant, to meet the others there."""
    time.sleep(max(0, float(instant) - time.time() - 0.02))
    while time.time() < float(instant):
        pass
    append(path, "note:plan", "1", f"process-{os.getpid()}")


def hash_and_copy(folder: str, destination: str) -> None:
    """What a backup program, or a snapshot of the folder, does from outside."""
    for file in Path(folder).iterdir():
        hashlib.sha256(file.read_bytes()).digest()
    shutil.copytree(folder, destination)


def victim(path: str, raw: str) -> None:
    """Opens the database's own files as a hasher would, then commits until it is killed."""
    journal = SqliteJournal(path)
    journal.commit([Append("note:a", [draft("first")], expected=None)])
    for suffix in raw.split(","):
        with open(path + suffix, "rb") as file:
            file.read(100)
    say("open")
    wait_for_line()
    for number in range(50):
        change = draft({"number": number})
        journal.commit([Append("note:a", [change], expected=None)])
        say(change["id"])
    say("done")
    wait_for_line()


def forked(path: str) -> None:
    """Parent and child write through one journal object, opened before the fork."""
    journal = SqliteJournal(path)
    parents = journal.connection()
    journal.commit([Append("note:before", [draft()], expected=None)])
    child = os.fork()
    stream = "note:parent" if child else "note:child"
    for _ in range(50):
        journal.commit([Append(stream, [draft()], expected=None)])
    own = journal.connection()
    if child == 0:
        journal.close()
        os._exit(0 if own is not parents else 1)
    _, status = os.waitpid(child, 0)
    journal.commit([Append("note:parent", [draft()], expected=None)])
    say(f"{os.waitstatus_to_exitcode(status)} {own is parents}")


def orphan(path: str) -> None:
    """The child of a fork writes on after its parent is gone and a third process came and went."""
    journal = SqliteJournal(path)
    journal.commit([Append("note:a", [draft("first")], expected=None)])
    if os.fork():
        os._exit(0)
    journal.commit([Append("note:a", [draft("second")], expected=None)])
    say("open")
    wait_for_line()
    for number in range(50):
        journal.commit([Append("note:a", [draft({"number": number})], expected=None)])
    say("done")
    os._exit(0)


def _main(name: str, *values: str) -> None:
    function: Callable[..., None] = globals()[name]
    function(*values)


if __name__ == "__main__":
    _main(*sys.argv[1:])
