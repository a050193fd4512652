"""The report of a month."""

from collections.abc import Iterable

from tally.amounts import Amount, format_amount
from tally.balance import balances_of
from tally.entries import Entry
from tally.filters import by_month
from tally.table import render_table


def month_report(entries: Iterable[Entry], month: str) -> str:
    """A table of the accounts with their sums."""
    chosen = list(by_month(entries, month))
    balances = balances_of(chosen)
    rows = [
        [account, format_amount(Amount(value, currency))]
        for (account, currency), value in sorted(balances.items())
    ]
    return render_table(rows)
