"""The export of version 0.2. Nothing uses it any more."""

from tally.entries import Entry


def legacy_lines(entries: list[Entry]) -> list[str]:
    return [f"{entry.day};{entry.payee};{entry.amount.value}" for entry in entries]
