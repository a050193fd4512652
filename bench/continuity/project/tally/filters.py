"""Which entries a command looks at."""

from collections.abc import Iterable, Iterator

from tally.dates import in_month
from tally.entries import Entry


def by_month(entries: Iterable[Entry], month: str) -> Iterator[Entry]:
    return (entry for entry in entries if in_month(entry.day, month))


def by_account(entries: Iterable[Entry], prefix: str) -> Iterator[Entry]:
    """Entries of an account and the accounts below it."""
    return (entry for entry in entries if entry.account.startswith(prefix))


def by_payee(entries: Iterable[Entry], words: str) -> Iterator[Entry]:
    return (entry for entry in entries if words in entry.payee)
