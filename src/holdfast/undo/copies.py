"""How gc and purge reach the kept states."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.git.repository import GitError
from holdfast.git.unreachable import list_objects, remove_objects
from holdfast.kernel import clock, config
from holdfast.kernel.erased_text import list_bytes
from holdfast.kernel.errors import HoldfastError
from holdfast.parts import Copies
from holdfast.undo import ledger
from holdfast.undo.store import PLAIN_STORE, Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.kernel.workspace import Workspace


def find_copies(workspace: Workspace, streams: Sequence[str], text: str) -> Iterator[str]:
    """Return the files of the store of a folder without git, if a state holds the text. The states in a git repository
    are refs, which a purge finds by itself."""
    folder = os.path.join(workspace.home, PLAIN_STORE)
    if not text or not os.path.isdir(folder):
        return
    store = Store(workspace)
    if not store.is_plain or not _holds(store, text):
        return
    for path, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(path, name)


def _holds(store: Store, text: str) -> bool:
    words = ("rev-list", "--objects", "--no-object-names", "--no-walk", f"--glob={store.refs}/*")
    for name in set(store.git(*words).decode().split()):
        content = store.git("cat-file", "-p", name)
        if any(form in content for form in list_bytes(text)):
            return True
    return False


def free(workspace: Workspace, now: int, *, dry_run: bool) -> str:
    """Remove states that are older than `undo.days` or beyond `undo.largest_mb`. Return what that frees, in words."""
    try:
        return _free(workspace, now, dry_run=dry_run)
    except (HoldfastError, OSError):
        return ""


def _free(workspace: Workspace, now: int, *, dry_run: bool) -> str:
    store = Store(workspace)
    if not os.path.isdir(store.folder):
        return ""
    settings = config.load(workspace, workspace.journal)
    oldest = (now - int(settings["undo.days"]) * clock.DAY) // 1000
    states = store.list_states()
    kept = states[-1:]  # the next state is compared with the newest one
    most, total = int(settings["undo.largest_mb"]) * 1_000_000, 0
    for id, at in reversed(states[:-1]):
        total += _size(store, id, [other for other, _ in kept])
        if at < oldest or total > most:
            break
        kept.append((id, at))
    gone = [id for id, _ in states if id not in {other for other, _ in kept}]
    if not gone:
        return ""
    size = sum(_size(store, id, [other for other, _ in kept]) for id in gone)
    said = f"{len(gone)} states of prompts, {size / 1e6:.1f} MB"
    if dry_run:
        return said
    objects: set[str] = set()
    if not store.is_plain:
        objects = list_objects(store.place, [f"{store.refs}/{id}" for id in gone])
    entries = ledger.read(workspace)["entries"]
    lost = [
        one["id"]
        for one in entries
        if one["before"]["id"] in gone or (one["after"] and one["after"]["id"] in gone)
    ]
    if lost:
        ledger.write(workspace, {"do": "forget", "ids": lost}, actor="holdfast", now=now)
    store.drop(gone)
    try:
        if store.is_plain:
            store.git("gc", "--quiet", "--prune=now")
        else:
            remove_objects(store.place, objects, before=now / 1000 - 1)
    except GitError:
        pass
    return said


def _size(store: Store, id: str, others: Sequence[str]) -> int:
    """Return the bytes that only this state has, beside others and the branches."""
    words = ["rev-list", "--objects", "--disk-usage", f"{store.refs}/{id}", "--not", "--branches"]
    words += [f"{store.refs}/{other}" for other in others]
    return int(store.git(*words).decode().strip() or 0)


COPIES = Copies(find=find_copies, free=free)
