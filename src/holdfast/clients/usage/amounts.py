"""From a tally to amounts: what a session cost, how sure that is, and what its parts cost."""

from __future__ import annotations

from holdfast.clients.table import title_of
from holdfast.clients.usage import prices
from holdfast.clients.usage.model import TOKENS
from holdfast.clients.usage.tally import SUMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, TypedDict

    from holdfast.clients.usage.tally import Tally, Total

    Sure = Literal["exact", "estimated", "unknown"]

    class Cost(TypedDict):
        """`cost` is None when it is not known; `cost_at_least` is the part of it that is, and `why`
        says where the number comes from."""

        cost: float | None
        cost_at_least: float
        sure: Sure
        why: str

    class Stretch(TypedDict):
        """What was spent from one moment to another, or by one subagent."""

        name: str
        started_at: str
        cost: float | None
        cost_at_least: float
        sure: Sure
        tokens: dict[str, int]
        messages: int


# Later than every time that a client writes.
_EVER = "9999"


def cost_of(tally: Tally, key: str) -> Cost:
    """The client's own total with what came after it, else the sum of all messages."""
    return _cost(tally, key, tally.session(key), tally.total(key))


def costs_of(tally: Tally, keys: Sequence[str]) -> dict[str, Cost]:
    """The same for several sessions."""
    data, totals = tally.sessions(keys), tally.totals(keys)
    nothing: Any = dict.fromkeys(SUMS, 0)
    return {key: _cost(tally, key, data.get(key, {}), totals.get(key, nothing)) for key in keys}


def _cost(tally: Tally, key: str, data: dict[str, Any], total: Total) -> Cost:
    name = title_of(key.partition(":")[0])
    if not data.get("known"):
        return _unknown(0.0, "nothing in its files is known to this holdfast")
    report = data.get("report")
    if report is not None:
        since = tally.total(key, report["at"])
        amount = data.get("before", 0.0) + report["cost"] + since["cost"]
        if report["has_unknown"]:
            return _unknown(amount, f"{name} itself does not know a model's price")
        if since["unpriced"]:
            return _unknown(amount, _unpriced(tally, key))
        if since["messages"]:
            return _known(amount, "estimated", f"{name}'s own figure, then {_listed()}")
        return _known(amount, "exact", f"{name}'s own figure ({report['what']})")
    if total["unpriced"]:
        return _unknown(total["cost"], _unpriced(tally, key))
    if total["messages"] and total["own"] == total["messages"]:
        return _known(total["cost"], "exact", f"{name}'s own figures")
    return _known(total["cost"], "estimated", _listed())


def _known(amount: float, sure: Sure, why: str) -> Cost:
    return {"cost": amount, "cost_at_least": amount, "sure": sure, "why": why}


def _unknown(at_least: float, why: str) -> Cost:
    return {"cost": None, "cost_at_least": at_least, "sure": "unknown", "why": why}


def _listed() -> str:
    return f"tokens at the list prices of {prices.date()}"


def _unpriced(tally: Tally, key: str) -> str:
    models = [model or "a model without a name" for model in tally.unpriced_models(key)]
    return f"no price is known for {', '.join(models)}"


def tokens_of(tally: Tally, key: str) -> dict[str, int]:
    """Our count, or the client's where it knows of answers that stand in no transcript."""
    report = tally.session(key).get("report")
    counted = _counts(tally.total(key))
    if report:
        since = _counts(tally.total(key, report["at"]))
        counted = {
            name: max(counted[name], report["tokens"].get(name, 0) + since[name]) for name in TOKENS
        }
    return {**counted, "total": sum(counted.values())}


def context_of(tally: Tally, key: str) -> tuple[int | None, int | None]:
    """How many tokens the model holds, and how many it can hold; None is unknown."""
    context = tally.session(key).get("context")
    if not context:
        return None, None
    window = context["window"] or prices.window_of(context["model"], provider=context["provider"])
    return context["tokens"], window or None


def by_time(tally: Tally, key: str, marks: Sequence[tuple[str, str]]) -> list[Stretch]:
    """What was spent from each (time, name) to the next; what came before the first has no name."""
    found = []
    bounds = [("", ""), *sorted(marks)]
    for number, (at, name) in enumerate(bounds):
        until = bounds[number + 1][0] if number + 1 < len(bounds) else _EVER
        total = tally.between(key, at, until)
        if total["messages"]:
            found.append(_stretch(name, at, total))
    return found


def by_agent(tally: Tally, key: str) -> list[Stretch]:
    """What the session itself spent, under the empty name, and each of its subagents."""
    return [
        _stretch(agent, "", tally.between(key, "", _EVER, agent=agent))
        for agent in tally.agents(key)
    ]


def _stretch(name: str, at: str, total: Total) -> Stretch:
    sure: Sure = "exact" if total["own"] == total["messages"] else "estimated"
    counted = _counts(total)
    return {
        "name": name,
        "started_at": at,
        "cost": None if total["unpriced"] else total["cost"],
        "cost_at_least": total["cost"],
        "sure": "unknown" if total["unpriced"] else sure,
        "tokens": {**counted, "total": sum(counted.values())},
        "messages": total["messages"],
    }


def _counts(total: Any) -> dict[str, int]:
    return {name: int(total[name]) for name in TOKENS}
