"""What a model's tokens cost, from a dated list; a model that is not on it is unknown, never free.

`make prices` writes the list anew from the package genai-prices.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prices.json")
MILLION = 1_000_000
# What is paid for tokens that have no price of their own.
_INSTEAD = {"cache_read": "input", "cache_write": "input", "cache_write_hour": "cache_write"}

_TESTS: dict[str, Any] = {
    "equals": str.__eq__,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains": str.__contains__,
}

_list: dict[str, Any] = {}
_known: dict[tuple[str, str], Any] = {}


def prices() -> dict[str, Any]:
    """The whole list: where it comes from, of which day, and its models by provider."""
    if not _list:
        with open(FILE, encoding="utf-8") as file:
            _list.update(canonical_json.loads(file.read()))
    return _list


def date() -> str:
    return str(prices()["date"])


def cost_of(
    model: str, tokens: Mapping[str, Any], *, provider: str = "", at: str = ""
) -> float | None:
    """Dollars for the tokens of one answer; None when the model's price is not known.

    `tokens` has input (without cache), output, cache_read, cache_write, and cache_write_hour, the
    part of cache_write that is kept for an hour.
    """
    entry = _entry(model, provider)
    rates = _rates(entry, at) if entry else None
    if rates is None:
        return None
    hour = tokens.get("cache_write_hour", 0)
    counts = {
        "input": tokens["input"],
        "cache_read": tokens["cache_read"],
        "cache_write": tokens["cache_write"] - hour,
        "cache_write_hour": hour,
    }
    # Some models cost more when a request is long: the whole of it, not what is above the line.
    length = sum(counts.values())
    counts["output"] = tokens["output"]
    dollars = sum(_rate(rates, name, length) * count for name, count in counts.items())
    return float(dollars / MILLION)


def window_of(model: str, *, provider: str = "") -> int:
    """How many tokens a model can hold; 0 when that is not known."""
    entry = _entry(model, provider)
    return int(entry.get("window", 0)) if entry else 0


def _entry(model: str, provider: str) -> dict[str, Any] | None:
    key = (model, provider)
    if key not in _known:
        _known[key] = _find(model, provider)
    found: dict[str, Any] | None = _known[key]
    return found


def _find(model: str, provider: str) -> dict[str, Any] | None:
    """In the provider's own list, else under the model's name wherever that is made."""
    lists = prices()["providers"]
    asked = model.lower().removesuffix("[1m]")
    # Routers and proxies say `anthropic/claude-…`.
    names = [asked, asked.rpartition("/")[2]] if "/" in asked else [asked]
    if "(" in asked:
        return None
    order = [provider, *(name for name in lists if name != provider)]
    for name in names if asked else ():
        for listed in order:
            for entry in lists.get(listed, ()):
                if _matches(entry["match"], name):
                    return dict(entry)
    return None


def _matches(clause: dict[str, Any], name: str) -> bool:
    ((kind, value),) = clause.items()
    if kind in ("or", "and"):
        return (any if kind == "or" else all)(_matches(each, name) for each in value)
    if kind in _TESTS:
        return bool(_TESTS[kind](name, value))
    import re

    return re.search(value, name) is not None


def _rates(entry: dict[str, Any], at: str) -> dict[str, Any] | None:
    """The prices that held on a day, or hold on the day of the list."""
    day, chosen = (at or date())[:10], None
    for rates in entry["prices"]:
        if rates.get("from", "") <= day:
            chosen = rates
    return chosen


def _rate(rates: dict[str, Any], name: str, length: int) -> float:
    value = rates.get(name)
    if value is None:
        return _rate(rates, _INSTEAD[name], length)
    if isinstance(value, list):
        base, *steps = value
        for start, price in steps:
            if length > start:
                base = price
        return float(base)
    return float(value)
