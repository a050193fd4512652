"""Write `src/holdfast/clients/usage/prices.json` from genai-prices; `make prices` calls it."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
from pathlib import Path
from typing import Any

from genai_prices import data_snapshot, types

from holdfast.kernel.text import split_words

TARGET = Path(__file__).parent.parent / "src/holdfast/clients/usage/prices.json"
# Who makes the models that coding agents use, and one who sells them under names of their own.
PROVIDERS = split_words("anthropic openai google x-ai deepseek mistral moonshotai zhipuai aws")
UNITS = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_hour",
}
CLAUSES = ("equals", "starts_with", "ends_with", "contains", "regex")


def main() -> None:
    snapshot = data_snapshot.get_snapshot()
    providers: dict[str, Any] = {}
    for name in PROVIDERS:
        (provider,) = (each for each in snapshot.providers if each.id == name)
        listed = (_entry(model) for model in provider.models)
        providers[name] = [entry for entry in listed if entry]
    written = {
        "source": "genai-prices " + importlib.metadata.version("genai-prices") + " (MIT)",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "unit": "US dollars for a million tokens",
        "providers": providers,
    }
    lines = [
        f"{json.dumps(name)}: {json.dumps(written[name])}" for name in ("source", "date", "unit")
    ]
    groups = [
        f"{json.dumps(name)}: [\n"
        + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
        + "\n]"
        for name, entries in providers.items()
    ]
    text = "{\n" + ",\n".join(lines) + ',\n"providers": {\n' + ",\n".join(groups) + "\n}\n}\n"
    assert json.loads(text) == written
    TARGET.write_text(text, encoding="utf-8")
    print(f"{sum(map(len, providers.values()))} models, {len(text)} bytes: {TARGET.name}")


def _entry(model: types.ModelInfo) -> dict[str, Any] | None:
    """A model, if its tokens have prices. Where those go by the hour of the day, the dearest hour's."""
    listed: list[dict[str, Any]] = []
    dearest: dict[str, Any] = {}
    given = model.prices
    conditional = given if isinstance(given, list) else [types.ConditionalPrice(prices=given)]
    for each in conditional:
        if isinstance(each.constraint, types.TimeOfDateConstraint):
            for name, price in _rates(each.prices).items():
                dearest[name] = max(price, dearest.get(name, 0))
    for each in conditional:
        if isinstance(each.constraint, types.TimeOfDateConstraint):
            continue
        rates = _rates(each.prices)
        for name, price in dearest.items():
            rates[name] = max(price, rates[name])
        if "input" in rates and "output" in rates:
            if each.constraint is not None:
                rates = {"from": each.constraint.start_date.isoformat(), **rates}
            listed.append(rates)
    if not listed:
        return None
    entry: dict[str, Any] = {"id": model.id, "match": _clause(model.match), "prices": listed}
    if model.context_window:
        entry["window"] = model.context_window
    return entry


def _rates(prices: types.ModelPrice) -> dict[str, Any]:
    rates: dict[str, Any] = {}
    for unit, name in UNITS.items():
        price = getattr(prices, unit, None)
        if isinstance(price, types.TieredPrices):
            tiers = [[tier.start, _number(tier.price)] for tier in price.tiers]
            rates[name] = [_number(price.base), *sorted(tiers)]
        elif price is not None:
            rates[name] = _number(price)
    return rates


def _number(price: Any) -> float | int:
    number = float(price)
    return int(number) if number.is_integer() else number


def _clause(clause: Any) -> dict[str, Any]:
    for kind in ("or", "and"):
        inner = getattr(clause, f"{kind}_", None)
        if inner is not None:
            return {kind: [_clause(each) for each in inner]}
    for kind in CLAUSES:
        value = getattr(clause, kind, None)
        if value is not None:
            # A pattern may be compiled by then; a name is compared in lower case.
            return {kind: getattr(value, "pattern", value)}
    raise ValueError(f"no clause that we know: {clause!r}")


if __name__ == "__main__":
    main()
