"""Money: counted in millionths of a dollar, and shown in one way."""

from __future__ import annotations

# Sums of 0.1 must reach 25 exactly.
MILLIONTHS = 1_000_000


def millionths(amount: float) -> int:
    return round(amount * MILLIONTHS)


def from_millionths(amount: int) -> float:
    return amount / MILLIONTHS


def cut_off(value: float, digits: int = 2) -> str:
    """Return a number with so many decimals, cut off and not rounded: 24.999 must not look like a limit of 25."""
    return f"{millionths(value) * 10**digits // MILLIONTHS / 10**digits:.{digits}f}"


def dollars(value: float) -> str:
    """Return `$26.50`; below a dollar with up to two digits more, as `$0.0276`. Whatever shows money calls this."""
    if value >= 1:
        return f"${cut_off(value)}"
    if 0 < value < 0.0001:
        return "under $0.0001"
    text = cut_off(value, 4)
    return f"${text[:4]}{text[4:].rstrip('0')}"
