"""Set a stop or an alert again whose file a program removed, and tell people.

The records say what holds; files beside the journal make it hold for hooks. Most workspaces have no such records, and
load no rules for it. Nothing here fails its caller.
"""

from __future__ import annotations

import time

from holdfast import registry
from holdfast.kernel import config, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.stops import find_own_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.kernel.workspace import Workspace

    # What it is in words (none if no program removed it), and what sets it again.
    Missing = tuple[str, Callable[[], object]]

# Seconds in which the forwarder has set the latch of a stop that it brought.
FOLLOWED_SECONDS = 0.2


def restore(workspace: Workspace, *, now: int) -> list[str]:
    """Set again what holds by the records and has no file, in the repository's own home, too. Return what it
    was, in words."""
    found = []
    own = find_own_home(workspace)
    for each in (workspace, own) if own is not None else (workspace,):
        here = each
        try:
            here = each.offline() if each.url else each
            restored = set_again(here, now=now)
            if restored:
                _record_removal(each, restored, now)
                found += restored
        except (HoldfastError, OSError):
            continue
        finally:
            if here is not workspace:
                here.close()
    return found


def set_again(workspace: Workspace, *, now: int) -> list[str]:
    """Set what is missing. Return what it was, in words. Beside a server, this machine's copy of its streams
    tells what holds."""
    if not workspace.exists() or not any(
        workspace.journal.head(stream) for stream, _ in _holding()
    ):
        return []
    if workspace.journal.read_only:
        return []
    is_copy = workspace.local and bool(config.load(workspace, workspace.journal)["journal.url"])
    missing = _list_missing(workspace, now, is_copy=is_copy)
    if missing and is_copy:
        # The forwarder brings a stop first and sets its latch a moment later.
        time.sleep(FOLLOWED_SECONDS)
        missing = _list_missing(workspace, now, is_copy=is_copy)
    for _, set_one in missing:
        set_one()
    return [what for what, _ in missing if what]


def _holding() -> list[tuple[str, str]]:
    return [held for feature in registry.features() for held in feature.holds.items()]


def _list_missing(workspace: Workspace, now: int, *, is_copy: bool) -> list[Missing]:
    """What holds by the records and has no file. A stop that hides another comes first."""
    missing: list[Missing] = []
    is_held = latch.read(workspace) is not None
    for stream, lists in _holding():
        head = workspace.journal.head(stream)
        # In a file beside a server, only a stream that was brought says what holds now.
        if head is not None and (not is_copy or head["anchor_version"] == head["version"]):
            missing += registry.load(lists)(workspace, now, is_held=is_held, is_copy=is_copy)
            is_held = is_held or bool(missing)
    return missing


def _record_removal(workspace: Workspace, found: list[str], now: int) -> None:
    from holdfast.people.notices import tell_people
    from holdfast.people.person import refuse

    for what in found:
        refuse(workspace, f"lift {what}", "its file was removed; it is set again", now=now)
    tell_people(workspace, f"The file of {', '.join(found)} was removed. It is set again.", now=now)
