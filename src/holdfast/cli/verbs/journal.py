"""holdfast journal"""

from __future__ import annotations

import sys
import time

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural, safe
from holdfast.moving import LOCAL
from holdfast.moving import move as move_journal

# Seconds between two words on how far it is.
SPOKEN_EVERY = 0.2


@click.group()
def command() -> None:
    """Where the journal is: a file of this machine, or a server for many."""


@command.command("move")
@click.option(
    "--to", required=True, metavar="URL", help="postgresql://USER@HOST/DATABASE, or local."
)
@click.option("--dry-run", is_flag=True, help="Say what would be moved, and change nothing.")
@verb
def move(call: Call, to: str, dry_run: bool) -> Reply:
    """Copy this workspace's journal to a PostgreSQL database, or back to a file with --to local.

    Every record keeps its hash and is compared with its copy. If it is interrupted, run it again: it
    goes on where it was. The file stays as it is; a server that was moved away from takes no more.
    A password belongs into ~/.pgpass or PGPASSWORD: others can see a command's words.
    """
    progress = Progress(call)
    try:
        moved = move_journal(call.workspace, to, call.now, dry_run=dry_run, progress=progress)
    finally:
        progress.end()
    what = f"{plural(moved['records'], 'record')} in {plural(moved['streams'], 'stream')}"
    place = safe(moved["target"])
    if dry_run:
        return Reply({**moved}, [f"Would copy {what} to {place}, as {safe(moved['workspace'])}"])
    lines = [f"Moved {what} to {place}, every record compared."]
    if moved["aside"]:
        lines.append(f"What the file was is in {safe(moved['aside'])}")
    if to == LOCAL:
        lines.append(
            "Take HOLDFAST_URL out of the environment, and journal.url out of the settings."
        )
        return Reply({**moved}, lines, next=["unset HOLDFAST_URL"])
    lines.append(f"It is called {safe(moved['workspace'])} there.")
    lines.append("Set HOLDFAST_URL, or journal.url in holdfast.toml, on every machine.")
    return Reply({**moved}, lines, next=[f"export HOLDFAST_URL={place}"])


class Progress:
    """How far it is, for a person who watches: one line, gone when it is done."""

    def __init__(self, call: Call) -> None:
        self._is_watched = not call.as_json and sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, done: int, total: int) -> None:
        if self._is_watched and time.monotonic() - self._last > SPOKEN_EVERY:
            self._last = time.monotonic()
            sys.stderr.write(f"\r{done:,} of {total:,} records copied")
            sys.stderr.flush()

    def end(self) -> None:
        if self._last:
            sys.stderr.write("\r\x1b[K")
