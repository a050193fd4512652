"""All agents in one table of up to hundreds, those that need attention first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.web import cards

if TYPE_CHECKING:
    from holdfast.web.cards import Card
    from holdfast.web.pages import PageContext

PER_PAGE = 100
LOUDEST = (
    *("dead", "corrupted", "blocked", "quiet", "slow"),
    *("waiting", "busy", "active", "done"),
)
_RANK = {word: rank for rank, word in enumerate(LOUDEST)}


def gather(page: PageContext) -> dict[str, Any]:
    agents: list[Card] = []
    away = page.read_all(
        lambda place: agents.extend(cards.list_agents(place, page.now, page.meter))
    )
    counts = {word: sum(one.word == word for one in agents) for word in LOUDEST}
    wanted = page.words.get("q", "").casefold().split()
    verdict = page.words.get("verdict", "")
    found = [one for one in agents if _fits(one, verdict, wanted)]
    found.sort(key=lambda one: one.seen_at, reverse=True)
    found.sort(key=lambda one: _RANK.get(one.word, len(LOUDEST)))
    first = min(page.number("from") or 0, len(found))
    shown = found[first : first + PER_PAGE]
    branches = cards.Branches()
    for one in shown:
        one.branch = branches.of(one.worktree) or one.branch
    return {
        "several": len(page.site) > 1,
        "machines": any(one.elsewhere for one in agents),
        "agents": [vars(one) for one in shown],
        "first": first,
        "found": len(found),
        "all": len(agents),
        "counts": {word: count for word, count in counts.items() if count},
        "cost": _sum(agents),
        "verdict": verdict if verdict in LOUDEST else "",
        "q": page.words.get("q", "")[:200],
        "older": first + PER_PAGE if first + PER_PAGE < len(found) else 0,
        "newer": max(first - PER_PAGE, 0) if first else None,
        "away": away,
    }


def _fits(one: Card, verdict: str, wanted: list[str]) -> bool:
    if verdict and one.word != verdict:
        return False
    if not wanted:
        return True
    parts = (
        *(one.name, one.about, one.doing, one.workspace, one.branch),
        *(one.machine, *one.why),
    )
    text = " ".join(parts).casefold()
    return all(word in text for word in wanted)


def _sum(agents: list[Card]) -> float | None:
    """What the agents spent together; None while no agent's spending is known."""
    known = [one.figures.get("at_least") or 0.0 for one in agents]
    return sum(known) or None
