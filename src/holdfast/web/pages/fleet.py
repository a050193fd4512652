"""All agents in one table of up to hundreds, those that need attention first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import HoldfastError
from holdfast.web import cards
from holdfast.web.record_text import number

if TYPE_CHECKING:
    from holdfast.web.background import SpendingMeter
    from holdfast.web.cards import Card
    from holdfast.web.workspaces import Site

PER_PAGE = 100
LOUDEST = (
    *("dead", "corrupted", "blocked", "quiet", "slow"),
    *("waiting", "busy", "active", "done"),
)
_RANK = {word: rank for rank, word in enumerate(LOUDEST)}


def gather(site: Site, words: Mapping[str, str], now: int, meter: SpendingMeter) -> dict[str, Any]:
    agents: list[Card] = []
    away: list[dict[str, str]] = []
    for place in site:
        try:
            place.look()
            agents += cards.agents(place, now, meter)
        except (HoldfastError, OSError) as error:
            away.append({"workspace": place.key, "problem": str(error)})
    counts = {word: sum(one["word"] == word for one in agents) for word in LOUDEST}
    wanted = words.get("q", "").casefold().split()
    verdict = words.get("verdict", "")
    found = [one for one in agents if _fits(one, verdict, wanted)]
    found.sort(key=lambda one: one["seen_at"], reverse=True)
    found.sort(key=lambda one: _RANK.get(one["word"], len(LOUDEST)))
    first = min(number(words, "from") or 0, len(found))
    shown = found[first : first + PER_PAGE]
    branches = cards.Branches()
    for one in shown:
        one["branch"] = branches.of(one["worktree"]) or one["branch"]
    return {
        "several": len(site) > 1,
        "machines": any(one["elsewhere"] for one in agents),
        "agents": shown,
        "first": first,
        "found": len(found),
        "all": len(agents),
        "counts": {word: count for word, count in counts.items() if count},
        "cost": _sum(agents),
        "verdict": verdict if verdict in LOUDEST else "",
        "q": words.get("q", "")[:200],
        "older": first + PER_PAGE if first + PER_PAGE < len(found) else 0,
        "newer": max(first - PER_PAGE, 0) if first else None,
        "away": away,
    }


def _fits(one: Card, verdict: str, wanted: list[str]) -> bool:
    if verdict and one["word"] != verdict:
        return False
    if not wanted:
        return True
    parts = (
        *(one["name"], one["about"], one["doing"], one["workspace"], one["branch"]),
        *(one["machine"], *one["why"]),
    )
    text = " ".join(parts).casefold()
    return all(word in text for word in wanted)


def _sum(agents: list[Card]) -> float | None:
    """What the agents spent together; None while no agent's spending is known."""
    known = [one["figures"].get("at_least") or 0.0 for one in agents]
    return sum(known) or None
