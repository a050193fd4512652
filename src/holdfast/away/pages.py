"""What happened since the person looked, on the board, with a button that says that they saw it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from holdfast.away import tell
from holdfast.away.digest import AwaySession
from holdfast.away.look_back import Away, AwayRequest, look_back
from holdfast.away.looked import keep_looked, read_looked
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.web.table import PageChange, PageContext, Pages, Section, link_to

MOST, MOST_READ, SEARCH_EVERY = 3, 20, 20.0


class AwayReader:
    """Looks back beside the page: at once where the person looked since, else every few seconds."""

    def __init__(self, folder: str) -> None:
        self.view: Away | None = None
        self._folder = folder
        self._read, self._looked = float("-inf"), ""

    def refresh(self, now: int) -> bool:
        looked = read_looked()
        at = looked["at"] if looked else ""
        if at == self._looked and time.monotonic() - self._read < SEARCH_EVERY:
            return False
        before, self._looked = self.view, at
        try:
            self.view = look_back(AwayRequest(self._folder, most=MOST_READ), now=now)
        except (HoldfastError, OSError, ValueError):
            self.view = None  # the board says what is wrong with each workspace
        self._read = time.monotonic()
        return bool(_news(self.view) != _news(before))


def _news(away: Away | None) -> Any:
    return away and (away["sessions"], away["waits"], away["since"])


def find_section(page: PageContext) -> dict[str, Any] | None:
    """Return what happened since the person looked; None before that is known, or where nothing did."""
    places = list(page.site)
    away = page.meter.watch(AwayReader, places[0].root).view if places else None
    if away is None:
        return None
    # What waits has a card of its own on the board.
    told = [one for one in away["sessions"] if one["state"] not in ("waits", "limit", "trivial")]
    if not told:
        return None
    keys = {place.root: place.key for place in places}
    return {
        "headline": tell.headline(away, page.now),
        "sessions": [_shown(one, keys, page.now) for one in told[:MOST]],
        "more": max(0, away["count"] - min(MOST, len(told))),
        "since": away["since"],
        "until": away["until"],
        "workspace": places[0].key,
    }


def _shown(one: AwaySession, keys: Mapping[str, str], now: int) -> dict[str, Any]:
    key = keys.get(one["root"], "")
    return {
        "state": one["state"],
        "label": tell.label(one),
        "about": tell.about(one, now),
        "title": tell.title(one),
        "told": " ".join(tell.sentences(one, now)),
        "next": one["next"],
        "session": one["session"],
        "href": link_to(key, f"session:{one['session']}") if key else "",
    }


def keep_seen(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    """Keep that the person saw what the page showed: up to then, and not what came since."""
    del workspace
    now = clock.parse(person["at"])
    until = min(now, clock.instant_of(words.get("until")) or now)
    since = min(until, clock.instant_of(words.get("since")) or until)
    if not keep_looked(until, clock.stamp(since)):
        raise HoldfastError(
            "That you looked could not be kept: your state folder cannot be written to.",
            hint="What happened stays on the board.",
        )
    return "/board"


PAGES = Pages(
    changes=(PageChange("/w/{workspace}/looked", "say that a person looked", keep_seen),),
    sections=(Section("away", "Since you looked", find_section, rank=22),),
)
