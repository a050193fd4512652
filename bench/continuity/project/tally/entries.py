"""One entry of a ledger."""

import datetime
from dataclasses import dataclass, field

from tally.amounts import Amount


@dataclass(frozen=True)
class Entry:
    day: datetime.date
    payee: str
    account: str
    amount: Amount
    tags: tuple[str, ...] = field(default=())

    @property
    def account_parts(self) -> list[str]:
        return self.account.split(":")


def top_account(entry: Entry) -> str:
    return entry.account_parts[0]
