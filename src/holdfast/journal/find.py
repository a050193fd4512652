"""Ids by their unique beginning."""

from __future__ import annotations

from holdfast.kernel.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.journal.interface import Journal, Record


def find_record(journal: Journal, prefix: str) -> Record:
    """The record that an id or a unique prefix of one names."""
    found = journal.find(prefix.lower())
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFound(
            f"There is no record {prefix}.",
            hint="`holdfast history` lists the records and their ids.",
        )
    names = ", ".join(record["id"][:12] for record in found)
    raise NotFound(
        f"{prefix} is the beginning of several ids: {names}, ...",
        hint="Give one more letter.",
        kind="ambiguous",
    )
