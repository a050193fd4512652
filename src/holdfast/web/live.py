"""Live pages: the server sends the newest copy of a page to all who have it open.

A copy is a whole state. After a broken connection the newest copy holds everything that was missed,
and a reader who has the same mark needs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator

from holdfast.kernel.errors import HoldfastError
from holdfast.web.access import SignedIn
from holdfast.web.page_cache import PageCache, PageCopy, PageRequest
from holdfast.web.workspaces import format_positions, parse_positions

# Seconds between looks at the journals, and between signs of life on a quiet connection.
LOOK, STILL_HERE = 0.25, 15.0
# A browser opens six connections to a server. A reader with more open pages gets the others in
# single copies, for which the browser comes again every so many milliseconds.
MOST_STREAMS, COME_AGAIN = 4, 2000
MOST_RECORDS = 200


class Channel:
    """One page that several readers have open; it is rendered once for all of them."""

    def __init__(self) -> None:
        self.readers = 0
        self.copy: PageCopy | None = None
        self.looked = 0.0
        self.number = 0
        self.news = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None


class Live:
    """All open pages, and their readers."""

    def __init__(self, cache: PageCache) -> None:
        self._cache = cache
        self._channels: dict[PageRequest, Channel] = {}
        self._closed = asyncio.Event()
        self._streams: Counter[str] = Counter()
        self._changed = 0.0

    @property
    def readers(self) -> int:
        return sum(channel.readers for channel in self._channels.values())

    def close(self) -> None:
        """Let every stream end."""
        self._closed.set()

    def newest(self, asked: PageRequest) -> PageCopy | None:
        """The copy that other readers of the page see now, if there are any."""
        channel = self._channels.get(asked)
        if channel is None or channel.copy is None or channel.copy.error is not None:
            return None
        is_recent = time.monotonic() - channel.looked < 2 * LOOK
        return channel.copy if is_recent and channel.looked > self._changed else None

    def outdate(self) -> None:
        """Render again at once, because this server changed something."""
        self._changed = time.monotonic()

    async def copies(self, asked: PageRequest, last: str, person: SignedIn) -> AsyncIterator[str]:
        """The events for one reader who has seen `last`, until the reader signs out."""
        if self._streams[person.csrf] >= MOST_STREAMS:
            copy = await self._cache.shown(asked)
            if copy.mark != last:
                yield self._cache.renderer.with_token(event(copy), person.csrf)
            yield f"event: brief\nretry: {COME_AGAIN}\ndata: come again\n\n"
            return
        self._streams[person.csrf] += 1
        try:
            async for text in _until(person, self._copies(asked, last, person.csrf)):
                yield text
        finally:
            self._streams[person.csrf] -= 1
            if not self._streams[person.csrf]:
                del self._streams[person.csrf]

    async def _copies(self, asked: PageRequest, last: str, csrf: str) -> AsyncGenerator[str, None]:
        channel = self._channels.setdefault(asked, Channel())
        channel.readers += 1
        if channel.task is None:
            channel.task = asyncio.create_task(self._look(asked, channel))
        try:
            sent = 0
            while not self._closed.is_set():
                copy, number = channel.copy, channel.number
                if copy is None or number == sent:
                    if not await self._wait(channel, sent):
                        yield ": still here\n\n"
                    continue
                if copy.mark != last:
                    yield self._cache.renderer.with_token(event(copy), csrf)
                sent, last = number, copy.mark
        finally:
            channel.readers -= 1
            if not channel.readers:
                channel.task.cancel()
                self._channels.pop(asked, None)

    async def _wait(self, channel: Channel, sent: int) -> bool:
        """Wait for news or for the end; False if nothing came for a while."""
        async with channel.news:
            try:
                async with asyncio.timeout(STILL_HERE):
                    await channel.news.wait_for(
                        lambda: channel.number != sent or self._closed.is_set()
                    )
            except TimeoutError:
                return False
        return True

    async def _look(self, asked: PageRequest, channel: Channel) -> None:
        while not self._closed.is_set():
            began = time.monotonic()
            copy = await self._cache.shown(asked)
            before = channel.copy
            if before is None or copy.mark != before.mark:
                async with channel.news:
                    channel.copy = copy
                    channel.number += 1
                    channel.news.notify_all()
            channel.looked = began
            # No longer at work on one page than at rest.
            await self._rest(max(LOOK, copy.took))
        async with channel.news:
            channel.news.notify_all()

    async def _rest(self, seconds: float) -> None:
        """Do nothing for so long, or until every stream ends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closed.wait()

    def records(self, last: str, person: SignedIn) -> AsyncIterator[str]:
        """Each record as one event, for programs, in the order of each journal."""
        return _until(person, self._records(last))

    async def _records(self, last: str) -> AsyncGenerator[str, None]:
        positions = await self._cache.read(self._cache.site.positions)
        known = parse_positions(last)
        # A journal that was brought back from a copy may be behind what its reader saw before.
        seen = {
            key: min(known.get(key, at), at) for key, at in positions.items() if isinstance(at, int)
        }
        yield f"id: {format_positions(dict(seen))}\n\n"
        quiet = 0.0
        while not self._closed.is_set():
            found = await self._cache.read(self._since, seen)
            for key, seq, text in found:
                seen[key] = seq
                yield f"id: {format_positions(dict(seen))}\nevent: record\ndata: {text}\n\n"
            quiet = 0.0 if found else quiet + LOOK
            if quiet >= STILL_HERE:
                quiet = 0.0
                yield ": still here\n\n"
            if not found:
                await self._rest(LOOK)

    def _since(self, seen: dict[str, int]) -> list[tuple[str, int, str]]:
        found = []
        for place in self._cache.site:
            try:
                workspace = place.workspace
                fresh = workspace.exists() and workspace.journal.since(
                    seen.setdefault(place.key, 0), limit=MOST_RECORDS
                )
            except (HoldfastError, OSError):
                continue
            for record in fresh or []:
                names = ("seq", "id", "stream", "version", "at", "actor", "kind")
                said = {"workspace": place.key, **{name: record[name] for name in names}}  # type: ignore[literal-required]
                found.append((place.key, record["seq"], json.dumps(said)))
        return found


async def _until(person: SignedIn, events: AsyncGenerator[str, None]) -> AsyncIterator[str]:
    """The events, until the person signs out."""
    over = asyncio.ensure_future(person.over.wait())
    try:
        while True:
            coming = asyncio.ensure_future(anext(events, None))
            try:
                await asyncio.wait((coming, over), return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait((coming,))
            if over.done() or coming.cancelled() or (text := coming.result()) is None:
                return
            yield text
    finally:
        over.cancel()
        await events.aclose()


def event(copy: PageCopy) -> str:
    """A copy as a server-sent event: htmx swaps its parts in and keeps the reader's input."""
    html = (
        f"<title>{copy.title}</title>"
        f'<hx-partial hx-target="#live" hx-swap="innerMorph">{copy.live}</hx-partial>'
    )
    lines = html.replace("\r", "").split("\n")
    return f"id: {copy.mark}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
