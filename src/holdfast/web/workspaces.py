"""The workspaces that a page shows, and how far the journal of each has come."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from holdfast.kernel.errors import HoldfastError, NotFound, StoreAway
from holdfast.kernel.workspace import Workspace, discover
from holdfast.remote.identity import name_of

LONGEST_KEY = 40
AWAY = "away"
Identity = tuple[int, int, int, int]


class Place:
    """One workspace. Its journal is opened anew when its file was replaced or changed."""

    def __init__(self, key: str, root: str, file: Identity | None = None) -> None:
        self.key = key
        self.root = root
        # By the last look: whoever only helps the page writes nothing there meanwhile.
        self.is_away = False
        self._workspace: Workspace | None = None
        self._file = file

    @property
    def name(self) -> str:
        """The folder's name, with its number where two have the same."""
        folder = os.path.basename(self.root) or self.root
        return folder if self.key == _key_of(folder) else f"{folder} ({self.key})"

    @property
    def workspace(self) -> Workspace:
        """The workspace, for the one thread that reads; StoreAway when it cannot be looked at."""
        try:
            if self._workspace is None:
                self._workspace = self.opened()
            file = self._known(self._workspace)
        except StoreAway:
            self.close()
            raise
        if file != self._file:
            # Also when only its content changed: what a connection remembers of it may be no more.
            self._workspace.close()
            self._file = file
        return self._workspace

    def opened(self) -> Workspace:
        """The workspace for a thread of its own, which closes it; StoreAway where it is missed."""
        self._refuse_gone()
        workspace = discover(self.root)
        self._known(workspace)
        return workspace

    def _refuse_gone(self) -> None:
        if not os.path.isdir(self.root):
            raise StoreAway(f"The folder {self.root} is gone.", kind="workspace_gone")

    def _known(self, workspace: Workspace) -> Identity | None:
        """Its journal's file, by a look at the folders alone: opening it would drop SQLite's locks."""
        self._refuse_gone()
        file = look_at(workspace)
        if file is None and self._file is not None and not workspace.url:
            raise StoreAway(
                f"Its journal, {workspace.journal_path}, is gone.",
                hint="Put it back, or begin anew with whatever is written next.",
                kind="journal_gone",
            )
        return file

    def look(self) -> int:
        """The sequence of the newest record; StoreAway when nobody can tell."""
        try:
            workspace = self.workspace
            newest = workspace.journal.latest(limit=1) if workspace.exists() else []
        except (HoldfastError, OSError) as error:
            self.is_away = True
            raise away(error) from error
        self.is_away = False
        return newest[0]["seq"] if newest else 0

    def position(self) -> int | str:
        try:
            return self.look()
        except StoreAway:
            return AWAY

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()


def look_at(workspace: Workspace) -> Identity | None:
    """The journal's file; None where there is none yet. StoreAway for one that only looks like one:
    to open it would be to write it."""
    if workspace.url:
        return None
    try:
        seen = os.stat(workspace.journal_path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreAway(
            f"Its journal may not be read: {error.strerror}.",
            hint=f"Make {workspace.home} readable for whoever runs the page.",
            kind="unreadable",
        ) from error
    if not seen.st_size:
        raise StoreAway(
            f"Its journal, {workspace.journal_path}, is an empty file.",
            hint="Put the journal back; or remove the file, and the next record begins a new one.",
            kind="journal_empty",
        )
    return seen.st_dev, seen.st_ino, seen.st_mtime_ns, seen.st_size


def is_away(error: HoldfastError) -> bool:
    """Whether it is the journal that fails, and not what was asked for."""
    return isinstance(error, StoreAway) or error.kind in ("journal_damaged", "journal_error")


def away(error: HoldfastError | OSError) -> StoreAway:
    """A journal that cannot be read, whatever the reason: 503, and the page looks again."""
    if isinstance(error, StoreAway):
        return error
    message = getattr(error, "message", "") or f"Its journal cannot be read: {error}"
    hint = getattr(error, "hint", "") or "holdfast doctor says more."
    return StoreAway(message, hint=hint, kind=getattr(error, "kind", "io_error"))


class Site:
    """Everything that is served. `figures` tells what is known of a session's spending."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._places: dict[str, Place] = {}
        journals: set[str] = set()
        for root in roots:
            workspace = discover(root)
            journal = _journal_of(workspace)
            if journal not in journals:
                journals.add(journal)
                key = self._free_key(os.path.basename(workspace.root))
                file = None
                with contextlib.suppress(StoreAway):
                    file = look_at(workspace)
                self._places[key] = Place(key, workspace.root, file)

    def _free_key(self, name: str) -> str:
        """A word for the address: the folder's name, with a number where two have the same."""
        base = _key_of(name)
        key, number = base, 1
        while key in self._places:
            number += 1
            key = f"{base}-{number}"
        return key

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places.values())

    def __len__(self) -> int:
        return len(self._places)

    def place(self, key: str) -> Place:
        if key not in self._places:
            raise NotFound(
                f"There is no workspace {key} on this page.",
                hint=f"It shows: {', '.join(self._places)}.",
            )
        return self._places[key]

    def positions(self) -> dict[str, int | str]:
        return {place.key: place.position() for place in self}

    def close(self) -> None:
        for place in self:
            place.close()


def written(positions: dict[str, int | str]) -> str:
    """Positions as an event's id: `shop:120,api:44`."""
    return ",".join(f"{key}:{position}" for key, position in positions.items())


def read(text: str) -> dict[str, int]:
    """What an event's id says; nothing of what it does not."""
    found = {}
    for part in text.partition("/")[0].split(","):
        key, colon, number = part.rpartition(":")
        if colon and number.isascii() and number.isdigit() and len(number) < 19:
            found[key] = int(number)
    return found


def _journal_of(workspace: Workspace) -> str:
    """What two folders of one workspace have in common: clones may share a journal on a server."""
    try:
        return f"{workspace.url} {name_of(workspace)}" if workspace.url else workspace.home
    except HoldfastError:
        return workspace.home


def _key_of(name: str) -> str:
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    return plain.strip("-")[:LONGEST_KEY] or "workspace"
