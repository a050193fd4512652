"""The newest work of each kind, such as sessions; each has its own page."""

from __future__ import annotations

from typing import Any

from holdfast.web.table import Card, PageContext, cards
from holdfast.web.workspaces import ServedWorkspace

MOST = 40


def gather(page: PageContext) -> dict[str, Any]:
    kinds = [kind for kind in cards() if kind.title]
    rows: dict[str, list[Card]] = {kind.name: [] for kind in kinds}

    def read(place: ServedWorkspace) -> None:
        for kind in kinds:
            rows[kind.name] += kind.find(place, page.now, page.meter)

    away = page.read_all(read)
    for found in rows.values():
        found.sort(key=lambda card: card.seen_at, reverse=True)
    return {
        "several": len(page.site) > 1,
        **{name: [vars(card) for card in found[:MOST]] for name, found in rows.items()},
        "kinds": [
            {name: getattr(kind, name) for name in ("name", "title", "begin", "stream")}
            for kind in kinds
        ],
        "more": {name: max(0, len(found) - MOST) for name, found in rows.items()},
        "away": away,
    }
