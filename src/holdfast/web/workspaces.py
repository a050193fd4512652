"""The workspaces of a page, and the position of each journal."""

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
_OF_THE_JOURNAL = ("journal_damaged", "journal_error", "journal_gone")


class ServedWorkspace:
    """One workspace. Its journal is opened again when its file was replaced."""

    def __init__(self, key: str, root: str, file: Identity | None = None) -> None:
        self.key = key
        self.root = root
        # At the last look; threads beside the page write nothing there meanwhile.
        self.is_away = False
        self._workspace: Workspace | None = None
        self._file = file

    @property
    def name(self) -> str:
        """The folder's name, with a number if two have the same."""
        folder = os.path.basename(self.root) or self.root
        return folder if self.key == _key_of(folder) else f"{folder} ({self.key})"

    @property
    def workspace(self) -> Workspace:
        """The workspace, for the thread that reads; StoreAway if it cannot be read."""
        try:
            if self._workspace is None:
                self._workspace = self.open()
            file = self._known(self._workspace)
        except StoreAway:
            self.close()
            raise
        if file != self._file:
            # Also when only its content changed: what a connection remembers of it may be no more.
            self._workspace.close()
            self._file = file
        return self._workspace

    def open(self) -> Workspace:
        """The workspace for another thread, which closes it; StoreAway if it is gone."""
        self._refuse_gone()
        workspace = discover(self.root)
        self._known(workspace)
        return workspace

    def _refuse_gone(self) -> None:
        if not os.path.isdir(self.root):
            raise StoreAway(f"The folder {self.root} is gone.", kind="workspace_gone")

    def _known(self, workspace: Workspace) -> Identity | None:
        """The journal's file, found without opening it: that would drop SQLite's locks."""
        self._refuse_gone()
        file = look_at(workspace)
        if file is None and self._file is not None and not workspace.url:
            raise StoreAway(
                f"Its journal, {workspace.journal_path}, is gone.",
                hint="Put it back, or begin again with whatever is written next.",
                kind="journal_gone",
            )
        # Nor does one begin anew when the file goes away after this look.
        workspace.begins_journal = file is None
        return file

    def look(self) -> int:
        """The sequence of the newest record; StoreAway if it cannot be read."""
        try:
            workspace = self.workspace
            newest = workspace.journal.latest(limit=1) if workspace.exists() else []
        except (HoldfastError, OSError) as error:
            self.is_away = True
            raise as_away(error) from error
        self.is_away = False
        return newest[0]["seq"] if newest else 0

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()


@contextlib.contextmanager
def opened_to_read(root: str) -> Iterator[Workspace]:
    """The workspace of a folder for a reader beside the page. Errors tell why it cannot be read. It begins no
    journal, also when the file goes away after this look."""
    workspace = discover(root)
    workspace.begins_journal = False
    try:
        look_at(workspace)
        yield workspace
    finally:
        workspace.close()


def look_at(workspace: Workspace) -> Identity | None:
    """The journal's file; None if there is none yet. StoreAway for a file that is not a journal: to
    open it would write it."""
    if workspace.url:
        return None
    try:
        seen = os.stat(workspace.journal_path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreAway(
            f"Its journal may not be read: {error.strerror}.",
            hint=f"Make {workspace.home} readable for the user who runs the page.",
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
    """Whether the error is about the journal, and not about the request."""
    return isinstance(error, StoreAway) or error.kind in _OF_THE_JOURNAL


def as_away(error: HoldfastError | OSError) -> StoreAway:
    """The error for a journal that cannot be read: 503, and the page tries again."""
    if isinstance(error, StoreAway):
        return error
    message = getattr(error, "message", "") or f"Its journal cannot be read: {error}"
    hint = getattr(error, "hint", "") or "holdfast doctor says more."
    return StoreAway(message, hint=hint, kind=getattr(error, "kind", "io_error"))


class Site:
    """All workspaces of the page. `figures` gives what a session spent."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._places: dict[str, ServedWorkspace] = {}
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
                self._places[key] = ServedWorkspace(key, workspace.root, file)

    def _free_key(self, name: str) -> str:
        """The name of a workspace in addresses: the folder's name, with a number if two have the
        same."""
        base = _key_of(name)
        key, number = base, 1
        while key in self._places:
            number += 1
            key = f"{base}-{number}"
        return key

    def __iter__(self) -> Iterator[ServedWorkspace]:
        return iter(self._places.values())

    def __len__(self) -> int:
        return len(self._places)

    def place(self, key: str) -> ServedWorkspace:
        if key not in self._places:
            raise NotFound(
                f"There is no workspace {key} on this page.",
                hint=f"It shows: {', '.join(self._places)}.",
            )
        return self._places[key]

    def positions(self) -> dict[str, int | str]:
        """The newest record of each workspace, or that it is away."""
        found: dict[str, int | str] = {}
        for place in self:
            try:
                found[place.key] = place.look()
            except StoreAway:
                found[place.key] = AWAY
        return found

    def close(self) -> None:
        for place in self:
            place.close()


def format_positions(positions: dict[str, int | str]) -> str:
    """Positions as the id of an event: `shop:120,api:44`."""
    return ",".join(f"{key}:{position}" for key, position in positions.items())


def parse_positions(text: str) -> dict[str, int]:
    """The positions in an event's id; nothing for what it does not name."""
    found = {}
    for part in text.partition("/")[0].split(","):
        key, colon, number = part.rpartition(":")
        if colon and number.isascii() and number.isdigit() and len(number) < 19:
            found[key] = int(number)
    return found


def _journal_of(workspace: Workspace) -> str:
    """What identifies the journal of a folder: clones may share a journal on a server."""
    try:
        return f"{workspace.url} {name_of(workspace)}" if workspace.url else workspace.home
    except HoldfastError:
        return workspace.home


def _key_of(name: str) -> str:
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    return plain.strip("-")[:LONGEST_KEY] or "workspace"
