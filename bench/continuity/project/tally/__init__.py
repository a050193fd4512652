"""A plain-text ledger."""

from tally.entries import Entry
from tally.reader import read_entries

__all__ = ["Entry", "read_entries"]
