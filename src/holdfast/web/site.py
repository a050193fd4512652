"""The workspaces that a page shows, and how far the journal of each has come."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.journal.identity import name_of
from holdfast.kernel.workspace import Workspace, discover

LONGEST_KEY = 40
AWAY = "away"


class Place:
    """One workspace. Its journal is opened anew when another file took its place."""

    def __init__(self, key: str, root: str) -> None:
        self.key = key
        self.root = root
        self._workspace: Workspace | None = None
        self._file: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or self.root

    @property
    def workspace(self) -> Workspace:
        """The workspace, for the one thread that reads."""
        if self._workspace is None:
            self._workspace = discover(self.root)
        # By a look at the folder alone: opening the file would drop SQLite's locks.
        file = _identity(self._workspace.journal_path)
        if file != self._file:
            self._workspace.close()
            self._file = file
        return self._workspace

    def position(self) -> int | str:
        """The sequence of the newest record."""
        try:
            workspace = self.workspace
            newest = workspace.journal.latest(limit=1) if workspace.exists() else []
        except (HoldfastError, OSError):
            return AWAY
        return newest[0]["seq"] if newest else 0

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()


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
                self._places[key] = Place(key, workspace.root)

    def _free_key(self, name: str) -> str:
        """A word for the address: the folder's name, with a number where two have the same."""
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
        base = plain.strip("-")[:LONGEST_KEY] or "workspace"
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


def _identity(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino
