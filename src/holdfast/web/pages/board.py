"""The board: what needs a person, what runs, what is quiet, what is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.budgets.alerts import restore
from holdfast.budgets.rules import budget as budgets
from holdfast.budgets.rules.boxes import amount, name_of
from holdfast.budgets.rules.thresholds import STOP, UNITS, number_at
from holdfast.clients.table import title_of
from holdfast.gates import lookup
from holdfast.gates.rules import gate as gates
from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.maintenance import status
from holdfast.session import quotas, usage_limits
from holdfast.session.client_questions import list_waiting
from holdfast.web.cards import DONE, NEEDS, QUIET, RUNNING, list_cards

if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.quotas import ClientQuota
    from holdfast.web.cards import Card
    from holdfast.web.pages import PageContext
    from holdfast.web.workspaces import ServedWorkspace

# Together they keep the page under 150 KB with 200 agents; the fleet's page has them all.
MOST_CARDS, MOST_SILENT = {RUNNING: 200, QUIET: 80, DONE: 24}, 24
# What `status` says in one line, and this page with cards of their own.
TOLD_APART = ("holdfast gate list", "holdfast guard ack", "cd ", "holdfast resume --in")
LONGEST_TYPED = 40
# From so many percent on, a usage limit of a client has another colour.
NEARLY = 80


def gather(page: PageContext) -> dict[str, Any]:
    places = [_place(place, page) for place in page.site]

    def take_all(name: str) -> list[Any]:
        """What all workspaces have of one kind; it is taken out of each."""
        return [one for place in places for one in place.pop(name)]

    lanes: dict[str, list[Card]] = {lane: [] for lane in (RUNNING, QUIET, DONE, NEEDS)}
    for card in take_all("cards"):
        lanes[card.lane].append(card)
    silent = lanes.pop(NEEDS)
    for shown in lanes.values():
        shown.sort(key=lambda card: card.seen_at, reverse=True)
    return {
        "workspaces": places,
        "gates": sorted(take_all("gates"), key=lambda gate: gate["at"]),
        "alerts": take_all("alerts"),
        "clients": take_all("clients"),
        "limits": take_all("limits"),
        "quotas": _newest_quotas(take_all("quotas"), page.now),
        "silent": [vars(card) for card in silent[:MOST_SILENT]],
        "notices": take_all("notices"),
        **{
            lane: [vars(card) for card in shown[: MOST_CARDS[lane]]]
            for lane, shown in lanes.items()
        },
        "counts": {**{lane: len(shown) for lane, shown in lanes.items()}, "silent": len(silent)},
    }


def _place(place: ServedWorkspace, page: PageContext) -> dict[str, Any]:
    """One workspace. If its journal is away, the board says so and shows the others."""
    now = page.now
    found: dict[str, Any] = {
        "key": place.key,
        "name": place.name,
        "root": place.root,
        "problem": "",
        "hint": "",
        "stopped": None,
        "collected": 0,
        "cards": [],
        "gates": [],
        "alerts": [],
        "clients": [],
        "limits": [],
        "quotas": [],
        "notices": [],
        "found": None,
        "is_new": False,
    }
    try:
        place.look()
        workspace = place.workspace
        restore(workspace, now=now)
        held = latch.read(workspace)
        found["stopped"] = {**held} if held else None
        found["cards"] = list(list_cards(place, now, page.meter))
        found["notices"] = [
            {"workspace": place.key, **one}
            for one in status.list_attention(workspace)
            if not one["next"].startswith(TOLD_APART)
        ]
        found["clients"] = [
            {"workspace": place.key, "title": title_of(one["client"]), **one}
            for one in list_waiting(workspace, now)
        ]
        found["limits"] = [
            {
                "workspace": place.key,
                "title": title_of(one["client"]),
                "state": usage_limits.describe(one, now),
                "command": usage_limits.command_for(one, "", now),
                **one,
            }
            for one in usage_limits.list_limited(workspace, now)
        ]
        found["quotas"] = quotas.list_quotas(workspace, now)
        if workspace.exists():
            found["gates"], found["collected"] = list_gates(place, now)
            found["alerts"] = [
                {"workspace": place.key, **alert, **_wrong_ceiling(place.key, alert, page.words)}
                for alert in list_alerts(workspace)
            ]
        if not (found["cards"] or found["gates"] or found["alerts"]):
            found["is_new"] = True
            found["found"] = page.meter.found(place.root)
    except (HoldfastError, OSError) as error:
        found["problem"] = str(error)
        found["hint"] = getattr(error, "hint", "")
    return found


def _newest_quotas(told: list[ClientQuota], now: int) -> list[dict[str, Any]]:
    """Each limit once: the account is the same in all workspaces, and the newest reading counts."""
    newest: dict[tuple[str, str], ClientQuota] = {}
    for one in sorted(told, key=lambda one: one["at"]):
        newest[one["client"], one["name"]] = one
    return [
        {
            **one,
            "title": title_of(one["client"]),
            "said": quotas.describe(one, now),
            "filled": min(one["percent"], quotas.FULL),
            "tone": _tone(one["percent"]),
        }
        for one in sorted(newest.values(), key=lambda one: (one["client"], -one["percent"]))
    ]


def _tone(percent: float) -> str:
    return "bad" if percent >= quotas.FULL else "wait" if percent >= NEARLY else "good"


def list_gates(place: ServedWorkspace, now: int) -> tuple[list[dict[str, Any]], int]:
    """The gates that wait for a person, and the number of collected ones."""
    if not place.workspace.exists():
        return [], 0
    agreed = lookup.agreed_time(place.workspace, now)
    found = [one for one in lookup.open_gates(place.workspace) if not _is_over(one, agreed)]
    shown = [_gate(place, one) for one in found if one["presented_at"]]
    return shown, len(found) - len(shown)


def _is_over(state: GateState, now: int) -> bool:
    """Whether the gate has expired; the next writer records that."""
    return bool(gates.decide(state, {"do": "expire"}, now).records)


def _gate(place: ServedWorkspace, state: GateState) -> dict[str, Any]:
    asked, content = state["asked"], state["content"]
    assert asked is not None
    assert content is not None
    return {
        "workspace": place.key,
        "id": state["id"],
        "type": content["type"],
        "title": content["title"],
        "by": asked["agent"] or asked["by"],
        "at": asked["at"],
        "holds": state["holds"],
        "expires_at": state["expires_at"],
        "default": state["default"],
        "options": len(content["options"]),
    }


def problem_of(type: str, typed: str, value: float, stop: float) -> str:
    """Why a value cannot be the next one at which a person is asked; empty when it can."""
    try:
        until = UNITS[type](typed)
    except ValueError as problem:
        return f"The value {problem}."
    if until <= value:
        return f"It is at {amount(type, value)} already. Name more, or nothing."
    if until > stop:
        return f"The stop is at {amount(type, stop)}, which comes first. Name less, or nothing."
    return ""


def _wrong_ceiling(key: str, alert: dict[str, Any], words: Mapping[str, str]) -> dict[str, str]:
    """What a person typed for this alert, and why it could not be taken; both empty without."""
    if words.get("alert") != f"{key}-{alert['type']}":
        return {"typed": "", "wrong": ""}
    typed = words.get("until", "")[:LONGEST_TYPED]
    wrong = problem_of(alert["type"], typed, alert["value_at"], alert["stop_at"])
    return {"typed": typed, "wrong": wrong}


def list_alerts(workspace: Workspace) -> list[dict[str, Any]]:
    """The alerts of the budget that wait for a person."""
    if workspace.journal.head(budgets.STREAM) is None:
        return []
    state: BudgetState = load(workspace.journal, budgets, budgets.STREAM)[0]
    return [
        {
            "type": type,
            "name": name_of(type),
            "value": amount(type, pending["value"]),
            "threshold": amount(type, pending["threshold"]),
            "stop": amount(type, number_at(state["limits"], STOP, type)),
            "value_at": pending["value"],
            "stop_at": number_at(state["limits"], STOP, type),
            "since": pending["since"],
        }
        for type, pending in state["pending"].items()
    ]
