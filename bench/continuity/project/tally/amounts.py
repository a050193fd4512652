"""Amounts of money: a decimal number and a currency."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation


@dataclass(frozen=True)
class Amount:
    value: Decimal
    currency: str

    def __add__(self, other: "Amount") -> "Amount":
        if other.currency != self.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Amount(self.value + other.value, self.currency)

    def __neg__(self) -> "Amount":
        return Amount(-self.value, self.currency)


def parse_amount(text: str, currency: str) -> Amount:
    """Read `12.50` and the like."""
    try:
        return Amount(Decimal(text), currency)
    except InvalidOperation as error:
        raise ValueError(f"not an amount: {text}") from error


def format_amount(amount: Amount) -> str:
    return f"{amount.value:.2f} {amount.currency}"
