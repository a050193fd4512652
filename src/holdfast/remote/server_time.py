"""What time it is by the server's clock, where the journal is on one.

Machines that share a journal compare each other's times, and some of them have a clock that is wrong by
hours. The server says the time at every connection; from there on it is counted by the time since this
machine's boot, which cannot be set. The last answer is kept beside the lock, for hooks, which never connect.
"""

from __future__ import annotations

import os
import time

from holdfast.kernel import clock
from holdfast.kernel.clock import Anchor
from holdfast.kernel.errors import StoreAway
from holdfast.kernel.plain_file import read_plain, write_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

FILE = "server-time"
# Another text after each start of the machine; Linux alone has it.
BOOT_ID = "/proc/sys/kernel/random/boot_id"
# What is kept is written anew when it is off by more than this, in milliseconds.
TOLERATED = 1000


def now(workspace: Workspace) -> int:
    """The time that the whole fleet agrees on: the server's, or this machine's where the journal is a
    file. A server that is away is not waited for."""
    if not workspace.local and not workspace.url:
        return clock.now()
    if not workspace.local:
        from holdfast.journal.postgres.journal import PostgresJournal

        try:
            journal = workspace.journal
        except StoreAway:
            journal = None
        if isinstance(journal, PostgresJournal):
            return journal.now()
    return known(workspace, clock.now())


def known(workspace: Workspace, now: int) -> int:
    """The same for a hook, which never connects: by the server's last answer, if there is one."""
    kept = _kept(workspace)
    return now if kept is None else kept.now()


def ahead(workspace: Workspace) -> int:
    """How far the agreed time is ahead of this machine's clock, by which files are stamped and agents
    that write them by themselves go, in milliseconds."""
    if not workspace.local and not workspace.url:
        return 0
    return now(workspace) - time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000


def keep(workspace: Workspace, anchor: Anchor) -> None:
    """For those who do not connect; where it cannot be kept, they go by the machine's clock."""
    known = _kept(workspace)
    boot = _boot()
    if not boot or not os.path.isdir(workspace.home):
        return
    if known is not None and abs(known.now() - anchor.now()) <= TOLERATED:
        return
    text = f"{anchor.server} {anchor.elapsed} {boot}\n"
    try:
        write_aside(os.path.join(workspace.home, FILE), text.encode("ascii"))
    except OSError:
        pass


def _kept(workspace: Workspace) -> Anchor | None:
    """The last answer, if it was given since this machine's boot."""
    try:
        kept = read_plain(os.path.join(workspace.home, FILE), 200).decode("ascii")
        server, elapsed, boot = kept.split()
        return Anchor(int(server), int(elapsed)) if boot == _boot() else None
    except (OSError, ValueError):
        return None


def _boot() -> str:
    """Which boot of the machine this is; empty where the system does not say, and then no time is kept."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
