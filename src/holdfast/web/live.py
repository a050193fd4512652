"""Live pages: whoever has one open is sent its newest copy, under the id of the journal's sequence.

A copy is a state and not a step: after a broken connection the newest one holds everything that was
missed, and the same mark means that there is nothing to send.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

from holdfast.kernel.errors import HoldfastError
from holdfast.web.press import Asked, Copy, Press
from holdfast.web.site import read, written

# Seconds between looks at the journals, and between signs of life on a quiet connection.
LOOK, STILL_HERE = 0.25, 15.0
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

    async def copies(self, asked: Asked, last: str, csrf: str) -> AsyncIterator[str]:
        """Events for one reader, who has seen what `last` names."""
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
            copy: Copy | None = None
            began = time.monotonic()
            with contextlib.suppress(HoldfastError):  # what was there is gone: the page stays
                copy = await self._press.copy(asked)
            before = channel.copy
            if copy is not None and (before is None or copy.mark != before.mark):
                async with channel.news:
                    channel.copy = copy
                    channel.number += 1
                    channel.news.notify_all()
            channel.looked = began
            # No longer at work on one page than at rest.
            pause = LOOK if copy is None else max(LOOK, copy.took)
            try:
                async with asyncio.timeout(pause):
                    await self._closed.wait()
            except TimeoutError:
                continue
        async with channel.news:
            channel.news.notify_all()

    async def records(self, last: str) -> AsyncIterator[str]:
        """Every record as an event of its own, for programs: each once, in each journal's order."""
        positions = await self._press.read(self._press.site.positions)
        known = read(last)
        seen = {key: known.get(key, at) for key, at in positions.items() if isinstance(at, int)}
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


def event(copy: Copy) -> str:
    """A copy as an event: htmx puts its parts into their places and keeps what the reader did."""
    html = (
        f"<title>{copy.title}</title>"
        f'<hx-partial hx-target="#live" hx-swap="innerMorph">{copy.live}</hx-partial>'
    )
    lines = html.replace("\r", "").split("\n")
    return f"id: {copy.mark}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
