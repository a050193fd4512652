"""Copies of pages: rendered once for all readers, and again when something changed.

One thread does all reading, because the modules below are not made for several threads. Slow work
(a long transcript, an inbox) runs beside it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from holdfast.kernel import clock
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError
from holdfast.web.background import Inboxes, SpendingMeter
from holdfast.web.rendering import Renderer
from holdfast.web.table import Page, PageContext
from holdfast.web.workspaces import Site, as_away, format_positions, is_away

T = TypeVar("T")

# Seconds after which a page is made anew though nothing was recorded: ages grow, files change.
LASTS = 5.0
# A page that takes long to make is made less often.
SHARE = 10
MOST_COPIES = 64
MARK_LENGTH = 12


class PageRequest(NamedTuple):
    """A page and the query of its address."""

    page: Page
    words: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """The address without its query."""
        return self.page.path.format(**{name: quote(word, safe="") for name, word in self.words})

    def query(self, **more: str) -> str:
        """The query of the address, with some changes."""
        words = {name: word for name, word in self.words if name in self.page.words and word}
        return urlencode({**words, **more})


class PageCopy(NamedTuple):
    """One rendering. `id` is the position of the journals; `mark` adds a digest of the content, so
    two copies with one mark are the same. `error` replaces the data, for example while the journal
    is away."""

    id: str
    mark: str
    title: str
    live: str
    page: str
    data: dict[str, Any]
    error: HoldfastError | None
    made: float
    took: float
    figures: int


class PageCache:
    """Makes copies, and keeps the newest copy of each page."""

    def __init__(self, site: Site, renderer: Renderer) -> None:
        self.site = site
        self.renderer = renderer
        self.meter = SpendingMeter()
        self.inboxes = Inboxes(list(site))
        self._reader = ThreadPoolExecutor(1, "holdfast-reader")
        self._helper = ThreadPoolExecutor(1, "holdfast-beside")
        self._copies: dict[PageRequest, PageCopy] = {}
        self._beside: asyncio.Future[None] | None = None

    async def copy(self, asked: PageRequest) -> PageCopy:
        """A page as it is now; HoldfastError if there is no such page."""
        copy = await self.read(self._newest, asked)
        if self._beside is None or self._beside.done():
            loop = asyncio.get_running_loop()
            for one, work in (
                (self.inboxes, self.inboxes.take_in),
                (self.meter, self.meter.refresh),
            ):
                if one.is_due():
                    self._beside = loop.run_in_executor(self._helper, work)
        return copy

    async def shown(self, asked: PageRequest) -> PageCopy:
        """The same for a reader who has the page open: a page that is gone shows an error."""
        try:
            return await self.copy(asked)
        except HoldfastError as error:
            return await self.read(self._gone, asked, error)

    def _gone(self, asked: PageRequest, error: HoldfastError) -> PageCopy:
        title, live = self._show_away(asked, error)
        id = format_positions(self.site.positions())
        now = time.monotonic()
        return PageCopy(
            id, _mark(id, live), title, live, "", {}, error, now, 0.0, self.meter.version
        )

    def _show_away(self, asked: PageRequest, error: HoldfastError) -> tuple[str, str]:
        place = dict(asked.words).get("workspace", "")
        told = self._pass_door(dict(error.data()), "")
        return self.renderer.parts("away.html", error=told, place=place)

    def _pass_door(self, data: dict[str, Any], place: str) -> dict[str, Any]:
        """The data as a page and its JSON may show them."""
        door = Door(self.site.place(place).workspace if place else None)
        clean: dict[str, Any] = door.value(data)
        return clean

    async def read(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run a function in the thread that reads."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, function, *arguments)

    def close(self) -> None:
        """End all threads and close their files."""
        self._reader.submit(self.site.close)
        self.meter.stop()
        for pool in (self._helper, self._reader):
            pool.shutdown(wait=True, cancel_futures=pool is self._helper)

    def _newest(self, asked: PageRequest) -> PageCopy:
        positions = self.site.positions()
        id, known = format_positions(positions), self._copies.get(asked)
        if known is not None and self._is_current(known, id):
            return known
        self._copies.pop(asked, None)
        copy = self._make(asked, id)
        self._copies[asked] = copy
        while len(self._copies) > MOST_COPIES:
            del self._copies[next(iter(self._copies))]
        return copy

    def _is_current(self, known: PageCopy, id: str) -> bool:
        if id != known.id or known.error is not None or known.figures != self.meter.version:
            return False
        return time.monotonic() - known.made < max(LASTS, known.took * SHARE)

    def _make(self, asked: PageRequest, id: str) -> PageCopy:
        # The positions were read first: what is recorded while we gather is in the next copy, too.
        began, now, figures = time.monotonic(), clock.now(), self.meter.version
        name, words = asked.page.name, dict(asked.words)
        try:
            if "{workspace}" in asked.page.path:
                self.site.place(words["workspace"]).look()
            data = asked.page.gather(PageContext(self.site, words, now, self.meter))
            data = self._pass_door(data, words.get("workspace", ""))
            title, live = self.renderer.parts(f"{name}.html", data=data, now=now)
            error = None
        except (HoldfastError, OSError) as problem:
            if isinstance(problem, HoldfastError) and not is_away(problem):
                raise
            data, error = {}, as_away(problem)
            title, live = self._show_away(asked, error)
        took = time.monotonic() - began
        mark = _mark(id, live)
        page = self.renderer.page(
            "page.html",
            title=title,
            live=live,
            page=asked.page,
            json=f"{asked.path}.json?{asked.query()}".removesuffix("?"),
            events=f"{asked.path}.events?{asked.query(seen=mark)}",
        )
        return PageCopy(id, mark, title, live, page, data, error, time.monotonic(), took, figures)


def _mark(id: str, live: str) -> str:
    return f"{id}/{sha256(live.encode('utf-8', 'replace')).hexdigest()[:MARK_LENGTH]}"
