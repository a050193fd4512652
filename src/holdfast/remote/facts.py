"""How things stand between this machine and its server, for people: nothing is asked of the server."""

from __future__ import annotations

import os

from holdfast.kernel import clock, inbox
from holdfast.kernel.durations import describe_minutes
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import plural
from holdfast.kernel.workspace import worktrees
from holdfast.remote.offline import path_of
from holdfast.remote.spool import Spool
from holdfast.runner.folder import is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.journal.postgres.journal import PostgresJournal
    from holdfast.kernel.workspace import Workspace
    from holdfast.remote.spool import ServerLoss

    class SpoolFacts(TypedDict):
        """`heard_at` is when a forwarder last heard the server, empty for never; `undelivered` counts
        the records that are here alone, `commands` those that wait for the server to decide, and
        `refused` what it could not take for what it is."""

        heard_at: str
        undelivered: int
        streams: int
        oldest: str
        commands: int
        refused: int
        forwarder: bool


# Milliseconds after which what a forwarder brought is called old.
OLD_AFTER = clock.MINUTE
# So long people are told that the server lost records.
LOSS_SHOWN = 7 * clock.DAY


def gather(workspace: Workspace) -> SpoolFacts:
    facts: SpoolFacts = {
        "heard_at": "",
        "undelivered": 0,
        "streams": 0,
        "oldest": "",
        "commands": sum(len(inbox.list_waiting(root)) for root in worktrees(workspace)),
        "refused": 0,
        "forwarder": is_running(workspace),
    }
    if not os.path.exists(workspace.journal_path):
        return facts
    try:
        file = workspace.file()
    except HoldfastError:
        return facts
    try:
        spool = Spool(file)
        waiting = spool.waiting()
        facts["heard_at"] = spool.heard()["at"]
        facts["undelivered"], facts["streams"] = waiting["records"], waiting["streams"]
        facts["oldest"] = waiting["oldest"]
        facts["refused"] = len(file.refusals())
    finally:
        if workspace.url:
            file.close()
    return facts


def notice_loss(workspace: Workspace, server: PostgresJournal) -> None:
    """Compare how far the server has got with what this machine had seen of it, when it is opened."""
    try:
        is_here = os.path.exists(workspace.journal_path)
        if is_here and Spool(workspace.spool_file()).look_for_loss(server, clock.now()):
            server.suspect()
    except (HoldfastError, OSError):
        return  # a file that cannot be read or written is named by other checks


def find_loss(workspace: Workspace, now: int) -> ServerLoss | None:
    """The loss of the server that this machine found in the last week."""
    if not workspace.url or not os.path.exists(workspace.journal_path):
        return None
    try:
        found = Spool(workspace.spool_file()).loss()
    except HoldfastError:
        return None
    is_late = found is not None and found["at"] < clock.precise(now - LOSS_SHOWN)
    return None if is_late else found


def loss_in_words(loss: ServerLoss) -> str:
    return (
        f"The server lost records: this machine had seen it at record {loss['had']}, which was not "
        f"there at {loss['at']}"
    )


def is_running(workspace: Workspace) -> bool:
    """Whether a forwarder is at work here."""
    return bool(is_held(path_of(workspace)))


def is_old(heard_at: str, now: int) -> bool:
    return not heard_at or now - clock.parse(heard_at) > OLD_AFTER


def how_long(heard_at: str, now: int) -> str:
    """`for 3 min`, or `yet` when this machine never heard it."""
    if not heard_at:
        return "yet"
    minutes = max(0, now - clock.parse(heard_at)) // clock.MINUTE
    if not minutes:
        return "for less than a minute"
    return f"for {describe_minutes(minutes)}"


def in_words(facts: SpoolFacts) -> str:
    """What waits here, in one sentence; empty when nothing does."""
    parts = []
    if facts["undelivered"]:
        records = plural(facts["undelivered"], "record")
        lives = f"{facts['streams']} {'lives' if facts['streams'] != 1 else 'life'}"
        parts.append(f"{records} of {lives}")
    if facts["commands"]:
        parts.append(plural(facts["commands"], "command"))
    is_one = facts["undelivered"] + facts["commands"] == 1
    return f"{' and '.join(parts)} wait{'s' if is_one else ''} here for the server" if parts else ""
