"""Save what can be read of a damaged journal, so that the work goes on without a backup."""

from __future__ import annotations

import os

from holdfast.journal import salvage as files
from holdfast.journal.sqlite import SqliteJournal
from holdfast.journal.upkeep import COPY_PREFIXES
from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.crash import reached
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import SALVAGED, fold
from holdfast.streams import open_writer, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.salvage import Salvaged
    from holdfast.kernel.workspace import Workspace

# The new journal while it is written, and once it is complete.
UNFINISHED, COMPLETE = "salvage.unfinished", "salvage.db"


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
    stamp = f"{clock.stamp(now).replace(':', '')}-{new_id()[:8]}"
    aside = os.path.join(workspace.home, f"{COPY_PREFIXES[1]}{stamp}.db")
    with workspace.lock():
        if os.path.exists(complete):
            # A salvage was killed before its last step. The damaged file may lack its log by now.
            done = _count_saved(complete)
        else:
            files.remove_leftovers(unfinished)
            done = files.salvage(workspace.journal_path, unfinished, _can_fold)
            reached("salvaged")
            os.replace(unfinished, complete)
        done["aside"] = aside
        files.replace(workspace.journal_path, complete, aside)
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
    return {"records": records, "streams": len(heads), "lost": [], "aside": ""}


def describe(done: Salvaged) -> str:
    """What was saved and what was lost, in one sentence each."""
    saved = f"{_count(done['records'], 'record')} in {_count(done['streams'], 'stream')} saved"
    lost = [
        f"{one['stream']} lost {_count(one['records'] + one['bodies'], 'record')}"
        for one in done["lost"]
    ]
    what = "; ".join(lost) if lost else "nothing that is known of was lost"
    return f"{saved}; {what}. The damaged file is kept: {done['aside']}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _can_fold(stream: str, snapshot: Any, events: list[Any]) -> bool:
    """Whether the rules make a state of these records, and can show it."""
    try:
        rules = rules_of(stream)
        state = rules.initial(stream) if snapshot is None else snapshot
        rules.render(fold(rules, state, events))
    except Exception:  # any rule may trip over a record whose predecessor is lost
        return False
    return True
