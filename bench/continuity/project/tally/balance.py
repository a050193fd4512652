"""Balances of accounts."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from tally.entries import Entry

Balances = dict[tuple[str, str], Decimal]


def balances_of(entries: Iterable[Entry]) -> Balances:
    """The sum of each account in each currency."""
    totals: Balances = defaultdict(Decimal)
    for entry in entries:
        totals[entry.account, entry.amount.currency] += entry.amount.value
    return dict(totals)


def roll_up(balances: Balances, depth: int) -> Balances:
    """Sums of the accounts' first parts."""
    totals: Balances = defaultdict(Decimal)
    for (account, currency), value in balances.items():
        parent = ":".join(account.split(":")[:depth])
        totals[parent, currency] += value
    return dict(totals)
