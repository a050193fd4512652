"""Copies of the journal: as a database file, as JSON lines, and what can be read of a damaged one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.journal import salvage as files
from holdfast.journal import upkeep
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import SALVAGED, fold, has_everything
from holdfast.kernel.streams import open_writer, rules_of
from holdfast.kernel.text import plural
from holdfast.maintenance.history import (
    find_decisions,
    read_journal,
    require_journal,
    require_person,
)
from holdfast.remote.move import copy_to_file
from holdfast.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.salvage import Salvaged
    from holdfast.kernel.workspace import Workspace


class RestoredCopy(TypedDict):
    """`aside` is the copy of what the journal was before; empty when there was none."""

    file: str
    aside: str


# The new journal while it is written, and once it is complete.
UNFINISHED, COMPLETE = "salvage.unfinished", "salvage.db"


def backup(workspace: Workspace, file: str) -> int:
    """Write a consistent copy of the journal to a new file, also while others write. Return its bytes."""
    journal = require_journal(workspace)
    if isinstance(journal, SqliteJournal):
        upkeep.backup(journal, file)
    else:
        copy_to_file(workspace, file)
    return os.stat(file).st_size


def restore_copy(workspace: Workspace, file: str, *, now: int) -> RestoredCopy:
    """Make the journal what a copy of it is. The present journal is copied aside first."""
    upkeep.check_copy(file)
    if workspace.url:
        raise HoldfastError(
            "A copy is restored into a file, and this journal is on a server.",
            hint="Restore the database with PostgreSQL's own tools, or into an empty one: "
            'HOLDFAST_URL= holdfast backup FILE --restore, then holdfast journal move --to "$URL"',
            kind="on_a_server",
        )
    if workspace.exists():
        require_person(workspace, "restore a backup", _decided(workspace, file), now=now)
    with workspace.lock():
        aside = _replace(workspace, file, _stamp(now))
    return {"file": file, "aside": aside}


def _stamp(now: int) -> str:
    """Return a part of a file's name that no other copy has."""
    return f"{clock.stamp(now).replace(':', '')}-{new_id()[:8]}"


def _decided(workspace: Workspace, file: str) -> list[str]:
    """Return the streams of what people decided that a copy does not have as they are now. Of a journal that
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


def _replace(workspace: Workspace, file: str, stamp: str) -> str:
    """Make the journal what a copy is. Return where the present one is kept; empty if there is none."""
    had_one = workspace.exists()
    kept, damaged = (
        os.path.join(workspace.home, f"{prefix}{stamp}.db") for prefix in upkeep.COPY_PREFIXES
    )
    try:
        upkeep.restore(workspace.file(), file, aside=kept if had_one else "")
        return kept if had_one else ""
    except HoldfastError as error:
        if error.kind != "journal_damaged":
            raise
        workspace.close()
        upkeep.replace_damaged(workspace.journal_path, file, damaged)
        return damaged


def export(workspace: Workspace) -> Iterator[str]:
    """Return everything that the journal holds, as JSON lines: a header, then every record in order."""
    if not workspace.exists():
        return
    journal = workspace.journal
    header = {"holdfast_export": 1, "holdfast": __version__, "streams": journal.heads()}
    yield json.dumps(header, ensure_ascii=False)
    for record in read_journal(journal):
        yield json.dumps(record, ensure_ascii=False)


def salvage(workspace: Workspace, *, actor: str, now: int) -> Salvaged:
    """Make a new journal of what can be read of the damaged one, which is kept beside it. Each stream
    that lost something gets a record that says so."""
    if workspace.url:
        raise HoldfastError(
            "The journal is on a server, and is not a file that can be salvaged.",
            hint="Restore the database with PostgreSQL's own tools.",
            kind="on_a_server",
        )
    workspace.close()
    unfinished = os.path.join(workspace.home, UNFINISHED)
    complete = os.path.join(workspace.home, COMPLETE)
    aside = os.path.join(workspace.home, f"{upkeep.COPY_PREFIXES[1]}{_stamp(now)}.db")
    with workspace.lock():
        if os.path.exists(complete):
            # A salvage was killed before its last step. The damaged file may lack its log by now.
            done = _count_saved(complete)
        else:
            files.remove_leftovers(unfinished)
            done = files.salvage(workspace.journal_path, unfinished, _can_fold, has_everything)
            reached("salvaged")
            os.replace(unfinished, complete)
        done["aside"] = aside
        upkeep.replace(workspace.journal_path, complete, aside)
    writer = open_writer(workspace)
    for lost in done["lost"]:
        body = {"lost": lost["records"], "unreadable": lost["bodies"]}
        order = Order(lost["stream"], Decision([(SALVAGED, body)]))
        try:
            commit(writer, [order], actor=actor, now=now)
        except HoldfastError:
            continue  # a stream that was ended takes no more records; the report names it
    return done


def _count_saved(complete: str) -> Salvaged:
    journal = SqliteJournal(complete)
    heads = journal.heads()
    journal.close()
    records = sum(head["version"] - head["anchor_version"] for head in heads)
    return {"records": records, "streams": len(heads), "lost": [], "rows": 0, "aside": ""}


def describe(done: Salvaged) -> str:
    """Return what was saved and what was lost, in one sentence each."""
    saved = f"{plural(done['records'], 'record')} in {plural(done['streams'], 'stream')} saved"
    lost = []
    for one in done["lost"]:
        count = one["records"] + one["bodies"]
        lost += [f"{one['stream']} lost {plural(count, 'record')}"] if count else []
        if one["has_new_chain"]:
            lost.append(
                f"{one['stream']} has a new chain, because its records did not fit the old one"
            )
    if done["rows"]:
        lost.append(f"{plural(done['rows'], 'row')} beside the records could not be read")
    what = "; ".join(lost) if lost else "nothing that is known of was lost"
    return f"{saved}; {what}. The damaged file is kept: {done['aside']}"


def _can_fold(stream: str, snapshot: Any, events: list[Any]) -> bool:
    """Return whether the rules make a state of these records, and can show it."""
    try:
        rules = rules_of(stream)
        state = rules.initial(stream) if snapshot is None else snapshot
        rules.render(fold(rules, state, events))
    except Exception:  # any rule may trip over a record whose predecessor is lost
        return False
    return True
