"""Move a journal from one machine's file to a server, and back; find records that were left behind."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from holdfast.journal import transfer, upkeep
from holdfast.journal.migrate import LOGS, remove_database
from holdfast.journal.postgres.url import without_password
from holdfast.journal.sqlite import SqliteJournal
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.plain_file import read_plain, write_synced
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import MOVED_FILE
from holdfast.remote.address import check
from holdfast.remote.identity import is_alike, is_named_by_setting, name_of
from holdfast.remote.spool import Spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypedDict

    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace

    class Moved(TypedDict):
        """What became of a move, or would."""

        source: str
        target: str
        workspace: str
        records: int
        streams: int
        copied: int
        aside: str
        dry_run: bool


# Where a move back goes: the file that this machine's journal is without a server.
LOCAL = "local"
UNFINISHED = "moving.db"


class Astray(NamedTuple):
    """Records that are not where the commands of this workspace look, and what to do."""

    what: str
    why: str
    fix: str


def move(
    workspace: Workspace,
    to: str,
    now: int,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Moved:
    """Copy the workspace's journal to a server, or back to this machine's file."""
    if to != LOCAL:
        check(to, "--to")
    source = workspace.journal
    if (to == LOCAL) == (not workspace.url) or (
        to != LOCAL and without_password(to) == source.place
    ):
        raise Usage(
            f"The journal is there already: {source.place}.",
            hint="From the file: HOLDFAST_URL= holdfast journal move --to postgresql://...; "
            "from a server: --to local.",
        )
    heads = source.heads()
    total = sum(head["version"] - head["anchor_version"] for head in heads)
    moved: Moved = {
        "source": source.place,
        "target": workspace.journal_path if to == LOCAL else without_password(to),
        "workspace": name_of(workspace),
        "records": total,
        "streams": len(heads),
        "copied": 0,
        "aside": "",
        "dry_run": dry_run,
    }

    def count(batch: int) -> None:
        moved["copied"] += batch
        progress(moved["copied"], total)

    if to == LOCAL:
        if not dry_run:
            moved["records"], moved["aside"] = _to_file(workspace, source, count, now)
        return moved
    target = workspace.on_server(to)
    try:
        if not dry_run:
            with workspace.lock():
                moved["records"] = transfer.copy(source, target, count)
                _mark_moved(workspace, source, target, now)
        return moved
    finally:
        target.close()


def _to_file(
    workspace: Workspace, source: Journal, count: Callable[[int], None], now: int
) -> tuple[int, str]:
    """Into a file of its own first: the journal's file becomes what it is in one step."""
    unfinished = os.path.join(workspace.home, UNFINISHED)
    with workspace.lock():
        records = _copy_into(unfinished, source, count)
        had_one = os.path.exists(workspace.journal_path)
        file = workspace.file()
        try:
            aside = _name_copy(workspace, now) if had_one else ""
            upkeep.restore(file, unfinished, aside=aside)
        finally:
            file.close()
        remove_database(unfinished, ("", *LOGS, "-mark"))
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(workspace.home, MOVED_FILE))
    return records, aside


def copy_aside(workspace: Workspace, file: SqliteJournal, now: int) -> str:
    """Copy the file beside it, for a person, before its records make room for the server's; the copy's path."""
    path = _name_copy(workspace, now)
    upkeep.backup(file, path)
    return path


def _name_copy(workspace: Workspace, now: int) -> str:
    stamp = clock.stamp(now).replace(":", "")
    name = f"{upkeep.COPY_PREFIXES[0]}{stamp}-{new_id()[:8]}.db"
    return os.path.join(workspace.home, name)


def copy_to_file(workspace: Workspace, path: str) -> None:
    """A copy of a journal on a server as one file, which `backup --restore` takes."""
    upkeep.refuse_existing(path)
    unfinished = os.path.join(workspace.home, f"backup-{new_id()[:8]}.db")
    try:
        _copy_into(unfinished, workspace.journal, lambda _: None, stays=True)
        copy = SqliteJournal(unfinished)
        try:
            upkeep.backup(copy, path)
        finally:
            copy.close()
    finally:
        remove_database(unfinished, ("", *LOGS, "-mark"))


def _copy_into(
    path: str, source: Journal, count: Callable[[int], None], *, stays: bool = False
) -> int:
    target = SqliteJournal(path)
    try:
        place = f"a file on {os.uname().nodename}"
        return transfer.copy(source, target, count, place=place, stays=stays)
    finally:
        target.close()


def _mark_moved(workspace: Workspace, source: Journal, target: Journal, now: int) -> None:
    if workspace.url:
        return  # from server to server: the old one's own row says it
    assert isinstance(source, SqliteJournal)
    Spool(source).settle_all()
    mark = {"to": target.place, "at": clock.stamp(now)}
    path = os.path.join(workspace.home, MOVED_FILE)
    write_synced(path, canonical_json.dumps(mark).encode(), 0o644)


def astray(workspace: Workspace) -> Astray | None:
    """Records in this machine's file though the journal is on a server, or the other way round."""
    try:
        moved = canonical_json.loads(read_plain(os.path.join(workspace.home, MOVED_FILE)).decode())
    except (OSError, ValueError):
        moved = {}
    if not workspace.url:
        if not moved:
            return None
        return Astray(
            f"The journal was moved to {moved.get('to')}, and commands here use the file.",
            "The server does not have the records that are written here.",
            f"Set HOLDFAST_URL, or journal.url in holdfast.toml, to {moved.get('to')}",
        )
    if not os.path.exists(workspace.journal_path):
        return None
    try:
        journal = workspace.file()
    except HoldfastError:
        return None
    try:
        count = Spool(journal).left_behind()
    finally:
        journal.close()
    if not count:
        return None
    return Astray(
        f"{count} record{'s are' if count != 1 else ' is'} in this machine's file and not at "
        f"{workspace.journal.place}",
        "A command without the URL writes to the file; only sessions and agents go over by themselves.",
        "HOLDFAST_URL= holdfast history",
    )


def list_alike(workspace: Workspace, journal: Journal) -> list[str]:
    """Other workspaces on the server that may be the same project under another name. None where a person
    has named this one."""
    from holdfast.journal.postgres.journal import PostgresJournal

    if not isinstance(journal, PostgresJournal) or is_named_by_setting(workspace):
        return []
    return [other for other in journal.others() if is_alike(journal.workspace, other)]


def join_hint(alike: list[str]) -> str:
    """How to use one of them instead."""
    return (
        f"If it is the same project: export HOLDFAST_JOURNAL_WORKSPACE={quote(alike[0])}, or set "
        "journal.workspace in holdfast.toml, in every clone."
    )


def server_of(journal: Journal) -> str:
    """The server behind a journal, in one line."""
    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.journal.postgres.upkeep import describe

    assert isinstance(journal, PostgresJournal)
    return journal.steadily("reading the journal", describe)
