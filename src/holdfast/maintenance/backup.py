"""Copies of the journal: a database file that can be restored, and JSON lines for other programs."""

from __future__ import annotations

import json
import os

from holdfast.journal import upkeep
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance.decisions import find_decisions, require_person
from holdfast.maintenance.history import require_journal
from holdfast.remote.move import copy_to_file
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace

    class RestoredCopy(TypedDict):
        """`aside` is the copy of what the journal was before; empty when there was none."""

        file: str
        aside: str


def backup(workspace: Workspace, file: str, *, dry_run: bool = False) -> int:
    """Write a consistent copy of the journal to a new file, also while others write; its bytes."""
    journal = require_journal(workspace)
    if dry_run:
        upkeep.refuse_existing(file)
        return 0
    if isinstance(journal, SqliteJournal):
        upkeep.backup(journal, file)
    else:
        copy_to_file(workspace, file)
    return os.stat(file).st_size


def restore_copy(
    workspace: Workspace, file: str, *, now: int, dry_run: bool = False
) -> RestoredCopy:
    """Make the journal what a copy of it is. The present journal is copied aside first."""
    upkeep.check_copy(file)
    if dry_run:
        return {"file": file, "aside": ""}
    if workspace.url:
        raise HoldfastError(
            "A copy is restored into a file, and this journal is on a server.",
            hint="Restore the database with PostgreSQL's own tools, or into an empty one: "
            'HOLDFAST_URL= holdfast backup FILE --restore, then holdfast journal move --to "$URL"',
            kind="on_a_server",
        )
    if workspace.exists():
        require_person(workspace, "restore a backup", _decided(workspace, file), now=now)
    aside = ""
    with workspace.lock():
        if workspace.exists():
            stamp = clock.stamp(now).replace(":", "")
            aside = _keep_present(workspace, f"{stamp}-{new_id()[:8]}")
        upkeep.restore(workspace.file(), file)
    return {"file": file, "aside": aside}


def _decided(workspace: Workspace, file: str) -> list[str]:
    """The streams of what people decided that a copy does not have as they are now. Of a journal that
    is too damaged to be read, none: a person's decisions cannot be read from it either."""
    try:
        present = {head["stream"]: head["version"] for head in workspace.journal.heads()}
    except HoldfastError:
        return []
    copy = SqliteJournal(file, read_only=True)
    try:
        kept = {head["stream"]: head["version"] for head in copy.heads()}
    finally:
        copy.close()
    changed = [name for name, version in present.items() if kept.get(name) != version]
    return find_decisions([*changed, *(name for name in kept if name not in present)])


def _keep_present(workspace: Workspace, stamp: str) -> str:
    """Copy the journal as it is, or move its file when it is too damaged to be copied."""
    aside = os.path.join(workspace.home, f"{upkeep.COPY_PREFIXES[0]}{stamp}.db")
    try:
        upkeep.backup(workspace.file(), aside)
        return aside
    except HoldfastError as error:
        if error.kind != "journal_damaged":
            raise
        workspace.close()
        return upkeep.set_aside(workspace.journal_path, stamp)


def export(workspace: Workspace) -> Iterator[str]:
    """Everything that the journal holds, as JSON lines: a header, then every record in order."""
    return _lines(workspace.journal) if workspace.exists() else iter(())


def export_to_file(workspace: Workspace, file: str) -> int:
    """Write the export to a new file; how many lines. The file appears when it is complete."""
    if os.path.exists(file):
        raise HoldfastError(f"{file} exists already.", hint="Name a file that does not.")
    count = 0
    with open(f"{file}.unfinished", "w", encoding="utf-8") as unfinished:
        for line in export(workspace):
            unfinished.write(f"{line}\n")
            count += 1
        unfinished.flush()
        os.fsync(unfinished.fileno())
    os.rename(f"{file}.unfinished", file)
    return count


def _lines(journal: Journal) -> Iterator[str]:
    header = {"holdfast_export": 1, "holdfast": __version__, "streams": journal.heads()}
    yield json.dumps(header, ensure_ascii=False)
    last = 0
    while batch := journal.since(last):
        for record in batch:
            yield json.dumps(record, ensure_ascii=False)
        last = batch[-1]["seq"]
