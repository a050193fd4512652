"""Tell a person elsewhere that a client waits for them; in a process that no client waits for."""

from __future__ import annotations

import fcntl
import os
import time

from holdfast import registry
from holdfast.clients.table import title_of
from holdfast.hooks.run import command
from holdfast.kernel import clock, config
from holdfast.kernel.digest import id_of
from holdfast.kernel.workspace import discover
from holdfast.people.notices import tell_people
from holdfast.processes import relaunch
from holdfast.session import client_questions
from holdfast.usage import usage_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.workspace import Workspace
    from holdfast.usage.usage_limits import LimitedSession

# Seconds in which a person who sits there has answered. A client that notifies by itself has waited.
GRACE = 10.0
# So often a process that waits for a reset looks at the clock: a machine that slept has missed nothing.
LOOK_EVERY = 20.0
# In the worktree: what people were told of each limit. They are not told twice, whichever process does it.
FOLDER = "told"
AT_LIMIT, AT_RESET = "limit", "reset"
NO_RESET = "never"
FORGOTTEN_AFTER = 60 * clock.DAY


def tell_waiting(
    workspace: Workspace, session: str, *, grace: float = GRACE, look_every: float = LOOK_EVERY
) -> bool:
    """Send one notification, unless the person has answered by then; whether it was sent. For a usage
    limit with a reset, stay until then and send a second one."""
    sweep(workspace, clock.now())
    limited = usage_limits.read(workspace, session)
    if limited is not None:
        with ToldOnce(workspace, key_of(limited)) as told:
            return told is not None and tell_limit(workspace, limited, told, look_every=look_every)
    asked = client_questions.read(workspace, session)
    if asked is None:
        return False
    if asked["event"] != client_questions.ECHO:
        time.sleep(grace)
    if client_questions.read(workspace, session) != asked:
        return False
    where = f"{title_of(asked['client'])} {session[:8]} in {asked['root']}"
    title = f"Holdfast: {title_of(asked['client'])} waits for you"
    can_answer = any(
        session in find(workspace, clock.now()) for find in registry.offers("answerable")
    )
    part = f"/waits/{session}" if can_answer else f"waits-{session}"
    tell_people(workspace, f"{asked['asks']}\n\n{where}", title=title, now=clock.now(), part=part)
    return True


def tell_limit(
    workspace: Workspace, limited: LimitedSession, told: ToldOnce, *, look_every: float
) -> bool:
    """Tell that a limit ended a turn, and at its reset that the work can go on, unless it did by then."""
    name = title_of(limited["client"])
    where = f"{name} {limited['session'][:8]} in {limited['root']}"

    def tell(what: str, title: str) -> None:
        now = clock.now()
        next = usage_limits.command_for(limited, "", now)
        text = f"{where} {usage_limits.describe(limited, now)}\n\n{next}"
        part = f"waits-{limited['session']}"
        if what not in told.words and tell_people(
            workspace, text, title=f"Holdfast: {title}", now=now, part=part
        ):
            told.add(what)

    if not limited["resets_at"] or clock.now() < clock.parse(limited["resets_at"]):
        tell(AT_LIMIT, f"{name} is at a usage limit")
    if not limited["resets_at"]:
        return True
    while clock.now() < clock.parse(limited["resets_at"]):
        left = (clock.parse(limited["resets_at"]) - clock.now()) / 1000
        time.sleep(min(look_every, max(0.01, left)))
        current = usage_limits.read(workspace, limited["session"])
        if current is None or current["at"] != limited["at"]:
            return True  # the work went on; for a limit after that another process waits
        limited = current
    tell(AT_RESET, f"the usage limit of {name} was reset")
    return True


def key_of(limited: LimitedSession) -> str:
    return f"{limited['session']} {limited['at']}"


class ToldOnce:
    """What people were told of one thing, in a file; held by one process at a time. None in its place says
    that another process holds it."""

    def __init__(self, workspace: Workspace, key: str) -> None:
        self._path = os.path.join(workspace.prepare_private(FOLDER), id_of(key))
        self._descriptor = -1
        self.words: list[str] = []

    def __enter__(self) -> ToldOnce | None:
        self._descriptor = os.open(
            self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        self.words = os.read(self._descriptor, 4096).decode("utf-8", "replace").split()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def add(self, word: str) -> None:
        os.write(self._descriptor, f"{word}\n".encode())
        self.words.append(word)


def wake_tellers(workspace: Workspace, limited: Sequence[LimitedSession]) -> int:
    """See to it that a process waits for the reset of each limit, also after the machine was restarted, and
    for a client whose hooks did not tell; how many were started."""
    journal = workspace.journal if workspace.exists() else None
    if not limited or not config.load(workspace, journal)["notify.urls"]:
        return 0
    started = 0
    for one in limited:
        tree = workspace if one["root"] == workspace.root else discover(one["root"], local=True)
        if usage_limits.read(tree, one["session"]) is None:
            usage_limits.keep(
                tree,
                one["client"],
                one["session"],
                {
                    "says": one["says"],
                    "at": clock.parse(one["at"]),
                    "resets_at": clock.parse(one["resets_at"]) if one["resets_at"] else 0,
                },
            )
        with ToldOnce(tree, key_of(one)) as told:
            is_due = told is not None and AT_RESET not in told.words
            is_due = is_due and (bool(one["resets_at"]) or AT_LIMIT not in told.words)  # type: ignore[union-attr]
        if is_due:
            started += relaunch.leave(command("tell-waiting", one["session"], tree.root))
    return started


def sweep(workspace: Workspace, now: int) -> None:
    """Remove what is too old to be told again."""
    folder = os.path.join(workspace.private, FOLDER)
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if os.stat(path).st_mtime_ns // 1_000_000 < now - FORGOTTEN_AFTER:
            os.unlink(path)
