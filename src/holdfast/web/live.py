"""Live pages: whoever has one open is sent its newest copy, under the id of the journal's sequence.

A copy is a state and not a step: after a broken connection the newest one holds everything that was
missed, and the same mark means that there is nothing to send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator

from holdfast.kernel.errors import HoldfastError
from holdfast.web.page_cache import Asked, Copy, Press
from holdfast.web.signin import Session
from holdfast.web.workspaces import read, written

# Seconds between looks at the journals, and between signs of life on a quiet connection.
LOOK, STILL_HERE = 0.25, 15.0
# A browser opens six connections to a server. Whoever has more pages open than this gets the others in
# single copies, for which the browser comes again every so many milliseconds.
MOST_STREAMS, COME_AGAIN = 4, 2000
MOST_RECORDS = 200


class Channel:
    """One page that several look at: one look for all of them."""

    def __init__(self) -> None:
        self.readers = 0
        self.copy: Copy | None = None
        self.looked = 0.0
        self.number = 0
        self.news = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None


class Live:
    """Everybody who has a page open."""

    def __init__(self, press: Press) -> None:
        self._press = press
        self._channels: dict[Asked, Channel] = {}
        self._closed = asyncio.Event()
        self._streams: dict[str, int] = {}
        self._changed = 0.0

    @property
    def readers(self) -> int:
        return sum(channel.readers for channel in self._channels.values())

    def close(self) -> None:
        """Let every stream end."""
        self._closed.set()

    def newest(self, asked: Asked) -> Copy | None:
        """The copy that somebody else has on their screen, while it is looked after."""
        channel = self._channels.get(asked)
        if channel is None or channel.copy is None or channel.copy.error is not None:
            return None
        is_recent = time.monotonic() - channel.looked < 2 * LOOK
        return channel.copy if is_recent and channel.looked > self._changed else None

    def outdate(self) -> None:
        """Something was changed here, and whoever did it wants to see that."""
        self._changed = time.monotonic()

    async def copies(self, asked: Asked, last: str, person: Session) -> AsyncIterator[str]:
        """Events for one reader, who has seen what `last` names, until the reader signs out."""
        if self._streams.get(person.csrf, 0) >= MOST_STREAMS:
            copy = await self._press.shown(asked)
            if copy.mark != last:
                yield self._press.renderer.addressed(event(copy), person.csrf)
            yield f"event: brief\nretry: {COME_AGAIN}\ndata: come again\n\n"
            return
        self._streams[person.csrf] = self._streams.get(person.csrf, 0) + 1
        try:
            async for text in _until(person, self._copies(asked, last, person.csrf)):
                yield text
        finally:
            self._streams[person.csrf] -= 1
            if not self._streams[person.csrf]:
                del self._streams[person.csrf]

    async def _copies(self, asked: Asked, last: str, csrf: str) -> AsyncGenerator[str, None]:
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
                    yield self._press.renderer.addressed(event(copy), csrf)
                sent, last = number, copy.mark
        finally:
            channel.readers -= 1
            if not channel.readers:
                channel.task.cancel()
                self._channels.pop(asked, None)

    async def _wait(self, channel: Channel, sent: int) -> bool:
        """Until there is news, or the end; False when nothing came for a while."""
        async with channel.news:
            try:
                async with asyncio.timeout(STILL_HERE):
                    await channel.news.wait_for(
                        lambda: channel.number != sent or self._closed.is_set()
                    )
            except TimeoutError:
                return False
        return True

    async def _look(self, asked: Asked, channel: Channel) -> None:
        while not self._closed.is_set():
            began = time.monotonic()
            copy = await self._press.shown(asked)
            before = channel.copy
            if before is None or copy.mark != before.mark:
                async with channel.news:
                    channel.copy = copy
                    channel.number += 1
                    channel.news.notify_all()
            channel.looked = began
            # No longer at work on one page than at rest.
            pause = max(LOOK, copy.took)
            try:
                async with asyncio.timeout(pause):
                    await self._closed.wait()
            except TimeoutError:
                continue
        async with channel.news:
            channel.news.notify_all()

    def records(self, last: str, person: Session) -> AsyncIterator[str]:
        """Every record as an event of its own, for programs: each once, in each journal's order."""
        return _until(person, self._records(last))

    async def _records(self, last: str) -> AsyncGenerator[str, None]:
        positions = await self._press.read(self._press.site.positions)
        known = read(last)
        # A journal that was brought back from a copy may be behind what its reader saw before.
        seen = {
            key: min(known.get(key, at), at) for key, at in positions.items() if isinstance(at, int)
        }
        yield f"id: {written(dict(seen))}\n\n"
        quiet = 0.0
        while not self._closed.is_set():
            found = await self._press.read(self._since, seen)
            for key, seq, text in found:
                seen[key] = seq
                yield f"id: {written(dict(seen))}\nevent: record\ndata: {text}\n\n"
            quiet = 0.0 if found else quiet + LOOK
            if quiet >= STILL_HERE:
                quiet = 0.0
                yield ": still here\n\n"
            if not found:
                try:
                    async with asyncio.timeout(LOOK):
                        await self._closed.wait()
                except TimeoutError:
                    continue

    def _since(self, seen: dict[str, int]) -> list[tuple[str, int, str]]:
        import json

        found = []
        for place in self._press.site:
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


async def _until(person: Session, events: AsyncGenerator[str, None]) -> AsyncIterator[str]:
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


def event(copy: Copy) -> str:
    """A copy as an event: htmx puts its parts into their places and keeps what the reader did."""
    html = (
        f"<title>{copy.title}</title>"
        f'<hx-partial hx-target="#live" hx-swap="innerMorph">{copy.live}</hx-partial>'
    )
    lines = html.replace("\r", "").split("\n")
    return f"id: {copy.mark}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
