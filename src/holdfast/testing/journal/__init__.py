"""What every journal must do, whatever keeps it. docs/how-to/own-store-or-client.md shows how to prove one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


class Store(Protocol):
    """One kind of journal: how to open an empty one, and how to tamper with it behind its back."""

    name: str

    def open(self, folder: Path) -> Journal:
        """Open the journal of a folder; a new one where there is none."""

    def change_body(self, journal: Journal, id: str, text: str) -> None:
        """Replace the text of a record's body."""

    def change_actor(self, journal: Journal, id: str, actor: str) -> None:
        """Replace who wrote a record."""

    def remove(self, journal: Journal, id: str) -> None:
        """Remove a record."""

    def change_snapshot(self, journal: Journal, text: str) -> None:
        """Replace the text of the only snapshot of a state."""
