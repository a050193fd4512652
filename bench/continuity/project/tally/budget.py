"""What is left of the limits."""

from dataclasses import dataclass
from decimal import Decimal

from tally.balance import Balances


@dataclass(frozen=True)
class BudgetLine:
    account: str
    limit: Decimal
    spent: Decimal

    @property
    def remaining(self) -> Decimal:
        return self.limit - self.spent


def budget_lines(balances: Balances, limits: dict[str, Decimal], currency: str) -> list[BudgetLine]:
    lines = []
    for account, limit in sorted(limits.items()):
        spent = balances.get((account, currency), Decimal(0))
        lines.append(BudgetLine(account, limit, spent))
    return lines
