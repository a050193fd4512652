"""The board: what needs a person, what runs, what is quiet, what is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast import registry
from holdfast.clients.table import title_of
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.money import dollars
from holdfast.maintenance import status
from holdfast.people.removed_stops import restore
from holdfast.registry import STOPPED
from holdfast.session.client_questions import list_waiting
from holdfast.usage import quotas, usage_limits
from holdfast.web.cards import DONE, NEEDS, QUIET, RUNNING, list_cards
from holdfast.web.figures import WIDE
from holdfast.web.table import Card, PageContext, asks, find_sections
from holdfast.web.workspaces import ServedWorkspace

if TYPE_CHECKING:
    from holdfast.usage.quotas import ClientQuota


# Together they keep the page under 150 KB with 200 agents.
MOST_CARDS, MOST_SILENT, MOST_NOTICES = {RUNNING: 200, QUIET: 20, DONE: 8}, 24, 12
MOST_COSTS = 6
# The board's own parts, with their ranks among those of the features. The last column is the narrow one.
PARTS = (
    ("needs", "Needs you", 10),
    (RUNNING, "Running", 20),
    (QUIET, "Not at work", 25),
    (DONE, "Done", 35),
    ("costs", "What it costs", 40),
)
FIRST, LATER, BESIDE = 5, 32, 35
# From this percentage on, a usage limit of a client has another colour.
NEARLY = 80


def gather(page: PageContext) -> dict[str, Any]:
    places = [_gather_place(place, page) for place in page.site]

    def take_all(name: str) -> list[Any]:
        """Take what all workspaces have of one kind out of them."""
        return [one for place in places for one in place.pop(name)]

    lanes: dict[str, list[Card]] = {lane: [] for lane in (RUNNING, QUIET, DONE, NEEDS)}
    cards = [card for card in take_all("cards") if card.lane]
    for card in cards:
        lanes[card.lane].append(card)
    silent = lanes.pop(NEEDS)
    for shown in lanes.values():
        shown.sort(key=lambda card: card.seen_at, reverse=True)
    lanes[QUIET].sort(key=lambda card: not card.why)
    waiting = {ask.name: sorted(take_all(ask.name), key=lambda one: one["at"]) for ask in asks()}
    # The same command for the same workspace is shown once.
    notices: dict[tuple[str, str], dict[str, Any]] = {}
    for one in take_all("notices"):
        notices.setdefault((one["workspace"], one["next"]), {**one, "more": -1})["more"] += 1
    found = {
        "workspaces": places,
        **waiting,
        "asks": list(waiting),
        "silent": [vars(card) for card in silent[:MOST_SILENT]],
        "notices": sorted(notices.values(), key=lambda one: not one["is_stop"])[:MOST_NOTICES],
        "costs": _find_costs(cards),
        **{
            lane: [vars(card) for card in shown[: MOST_CARDS[lane]]]
            for lane, shown in lanes.items()
        },
        "counts": {
            **{lane: len(shown) for lane, shown in lanes.items()},
            "silent": len(silent),
            "notices": len(notices),
            "needed": len(silent) + len(notices) + sum(map(len, waiting.values())),
        },
    }
    return {**found, "parts": _list_parts(found, page)}


def _list_parts(found: dict[str, Any], page: PageContext) -> list[dict[str, Any]]:
    """Return the parts of the board in order: its own ones that hold something, and the sections of the features."""
    fresh = [place for place in found["workspaces"] if place["is_new"]]
    is_all_new = len(fresh) == len(found["workspaces"])
    costs = found["costs"]
    counts: dict[str, Any] = {**found["counts"], "needs": found["counts"]["needed"]}
    counts["costs"] = dollars(costs["total"]) if costs["rows"] else 0
    parts = [
        {"name": name, "title": title, "rank": rank, "count": counts[name], "one": None}
        for name, title, rank in PARTS
        if counts[name] or (name in ("needs", RUNNING) and not is_all_new)
    ]
    if fresh:
        rank = FIRST if is_all_new else LATER
        parts.append({"name": "new", "title": "New here", "rank": rank, "count": None, "one": None})
    parts += find_sections("board", page)
    parts.sort(key=lambda part: part["rank"])
    return [{**part, "is_beside": part["rank"] >= BESIDE} for part in parts]


def _find_costs(cards: list[Card]) -> dict[str, Any]:
    """Return what the work on the board cost together, and the most expensive of it."""
    known = [
        (card.figures.get("cost") or card.figures.get("at_least") or 0.0, card) for card in cards
    ]
    known = sorted((pair for pair in known if pair[0]), key=lambda pair: -pair[0])
    return {
        "total": sum(cost for cost, _ in known),
        "rows": [
            {
                "name": card.name,
                "href": card.href,
                "cost": cost,
                "is_part": card.figures.get("cost") is None,
                "width": round(WIDE * cost / known[0][0]),
            }
            for cost, card in known[:MOST_COSTS]
        ],
    }


def _gather_place(place: ServedWorkspace, page: PageContext) -> dict[str, Any]:
    """Return what one workspace has. If its journal is away, the board says so and shows the others."""
    found: dict[str, Any] = {
        "key": place.key,
        "name": place.name,
        "root": place.root,
        "problem": "",
        "hint": "",
        "cards": [],
        "notices": [],
        "found": None,
        "is_new": False,
        **{ask.name: [] for ask in asks()},
    }
    try:
        place.look()
        workspace = place.workspace
        restore(workspace, now=page.now)
        found["cards"] = list(list_cards(place, page.now, page.meter))
        found["notices"] = [
            {"workspace": place.key, "is_stop": one.urgency == STOPPED, **status.show(one)}
            for one in status.list_attention(workspace)
            if not one.has_card
        ]
        for ask in asks():
            found[ask.name] = [{"workspace": place.key, **one} for one in ask.find(place, page)]
        if not any(card.lane for card in found["cards"]) and not any(
            found[ask.name] for ask in asks()
        ):
            found["is_new"] = True
            found["found"] = page.meter.found(place.root)
    except (HoldfastError, OSError) as error:
        found["problem"] = str(error)
        found["hint"] = getattr(error, "hint", "")
    return found


def list_clients(place: ServedWorkspace, page: PageContext) -> list[dict[str, Any]]:
    """Return the clients that wait for an answer at their own terminal, and not elsewhere."""
    elsewhere: set[str] = set()
    for find in registry.offers("answerable"):
        elsewhere |= set(find(place.workspace, page.now))
    waiting = list_waiting(place.workspace, page.now)
    return [
        {"title": title_of(one["client"]), **one}
        for one in waiting
        if one["session"] not in elsewhere
    ]


def list_limits(place: ServedWorkspace, page: PageContext) -> list[dict[str, Any]]:
    """Return the sessions that wait for the reset of a usage limit."""
    return [
        {
            "title": title_of(one["client"]),
            "state": usage_limits.describe(one, page.now),
            "command": usage_limits.command_for(one, "", page.now),
            **one,
        }
        for one in usage_limits.list_limited(place.workspace, page.now)
    ]


def find_quotas(page: PageContext) -> dict[str, Any] | None:
    """Return each usage limit once: the account is the same in all workspaces, and the newest reading counts."""
    told: list[ClientQuota] = []
    page.read_all(lambda place: told.extend(quotas.list_quotas(place.workspace, page.now)))
    newest = {(one["client"], one["name"]): one for one in sorted(told, key=lambda one: one["at"])}
    shown = [
        {
            **one,
            "title": title_of(one["client"]),
            "said": quotas.describe(one, page.now),
            "width": round(WIDE * min(one["percent"], quotas.FULL) / 100),
            "tone": "bad"
            if one["percent"] >= quotas.FULL
            else "wait"
            if one["percent"] >= NEARLY
            else "good",
        }
        for one in sorted(newest.values(), key=lambda one: (one["client"], -one["percent"]))
    ]
    return {"quotas": shown} if shown else None
