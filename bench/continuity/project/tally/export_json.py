"""Entries as JSON."""

import json
from collections.abc import Iterable
from typing import Any

from tally.entries import Entry


def entry_to_dict(entry: Entry) -> dict[str, Any]:
    return {
        "date": entry.day.isoformat(),
        "payee": entry.payee,
        "account": entry.account,
        "value": float(entry.amount.value),
        "currency": entry.amount.currency,
    }


def to_json(entries: Iterable[Entry]) -> str:
    return json.dumps([entry_to_dict(entry) for entry in entries], indent=2)
