"""Entries as CSV."""

from collections.abc import Iterable

from tally.entries import Entry

CSV_HEADER = "date,payee,account,value,currency"


def to_csv(entries: Iterable[Entry]) -> str:
    lines = [CSV_HEADER]
    for entry in entries:
        fields = [
            entry.day.isoformat(),
            entry.payee,
            entry.account,
            str(entry.amount.value),
            entry.amount.currency,
        ]
        lines.append(",".join(fields))
    return "\n".join(lines) + "\n"
