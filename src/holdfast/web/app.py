"""The page server: its addresses, from the tables, and the answer of each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.responses import StreamingResponse as Streaming
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from holdfast.kernel import clock
from holdfast.kernel.door import Door
from holdfast.kernel.errors import Conflict, HoldfastError, NotAllowed, NotFound, StoreAway, Usage
from holdfast.people import page_open
from holdfast.people import person as people
from holdfast.web.access import (
    LARGEST_FORM,
    Guard,
    NoPerson,
    SignIns,
    WrongHost,
    checked_form,
    form_of,
)
from holdfast.web.background import note_closed, note_open, tell_of_resets
from holdfast.web.live import Live
from holdfast.web.page_cache import PageCache, PageRequest
from holdfast.web.rendering import STATIC, Renderer
from holdfast.web.table import Page, PageChange, PageFile, changes, files, pages
from holdfast.web.urls import Address
from holdfast.web.workspaces import ServedWorkspace, Site, is_away

Endpoint = Callable[[Request], Awaitable[Response]]
SCHEMA = 1
HOME = "/board"
EVENTS = "text/event-stream"
STATUSES: tuple[tuple[type[HoldfastError], int], ...] = (
    (WrongHost, 421),
    (NoPerson, 401),
    (NotAllowed, 403),
    (NotFound, 404),
    (Usage, 400),
    (Conflict, 409),
    (StoreAway, 503),
)
RETRY_SECONDS = 3
# So often it is made sure that a process waits for the reset of each usage limit.
RESETS_SECONDS = 30
# Messages for a person who clicked, where the error speaks of a command.
AT_A_PAGE = {"disk_full": {"hint": "Free some space, then go back and send it once more."}}
# Attempts without a sign-in that are recorded in a minute: no program can fill the journal with them.
MOST_RECORDED = 10
LONGEST_PURPOSE = 100
# Instead of the pages' own policy: whatever a browser takes the bytes for, nothing in them loads or runs.
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'"


class PageServer:
    """One page server: its workspaces, its sign-ins, and its open pages."""

    def __init__(
        self, site: Site, address: Address, *, take_link: Callable[[str], str | None] | None = None
    ) -> None:
        self.site = site
        self.address = address
        self.sign_ins = SignIns(take_link=take_link)
        people.open_page()
        self.renderer = Renderer(address)
        self.cache = PageCache(site, self.renderer)
        self.live = Live(self.cache)
        # One thread a workspace: a locked journal makes no other workspace wait.
        self._writers = {place: ThreadPoolExecutor(1, "holdfast-writer") for place in site}
        self._recorded: list[float] = []
        self.app = Starlette(
            routes=[*self._routes()],
            lifespan=self._lifespan,
            exception_handlers={
                HoldfastError: self._failed,  # type: ignore[dict-item]
                HTTPException: self._unknown,  # type: ignore[dict-item]
            },
        )
        self.asgi = Guard(self.app, self.sign_ins, address)

    def _routes(self) -> list[BaseRoute]:
        allow, endings = (
            self._allowed,
            {".json": self._json, ".events": self._events, "": self._page},
        )
        return [
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/sign-in", allow(self._sign_in), methods=["GET", "POST"]),
            Route("/", allow(self._home)),
            Route("/sign-out", allow(self._sign_out), methods=["POST"]),
            Route("/records.events", allow(self._records)),
            *(Route(file.path, allow(self._file, file)) for file in files()),
            *(
                Route(page.path + ending, allow(answer, page))
                for page in pages()
                for ending, answer in endings.items()
            ),
            *(
                Route(one.path, allow(self._change, one, purpose=one.purpose), methods=["POST"])
                for one in changes()
            ),
        ]

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        # Hooks must know that a person can be reached at this page, and people when a usage limit ends, also while no
        # page is open.
        tasks = [
            asyncio.create_task(self._repeat(page_open.TOUCHED_EVERY, note_open)),
            asyncio.create_task(self._repeat(RESETS_SECONDS, tell_of_resets)),
        ]
        yield
        for task in tasks:
            task.cancel()
        note_closed(self.site)
        self.close()

    async def _repeat(self, seconds: float, work: Callable[[Site], None]) -> None:
        while True:
            await asyncio.get_running_loop().run_in_executor(None, work, self.site)
            await asyncio.sleep(seconds)

    def leave(self) -> None:
        """End open streams, so that the server's end does not wait for them."""
        self.live.close()
        self.asgi.leave()

    def close(self) -> None:
        self.live.close()
        for writer in self._writers.values():
            writer.shutdown(wait=True)
        self.cache.close()

    def _allowed(
        self, endpoint: Callable[..., Awaitable[Response]], *row: Any, purpose: str = ""
    ) -> Endpoint:
        """Answer a request that passed the checks. A bug is reported and does not end the server."""

        async def answer(request: Request) -> Response:
            refused: HoldfastError | None = request.state.refused
            try:
                if refused is None:
                    return await endpoint(request, *row)
                if purpose:
                    await self._record_refused(request.path_params, purpose, refused)
            except (HoldfastError, HTTPException):
                raise
            except ClientDisconnect:  # or we are ending: what was only half sent is not done
                return Response(status_code=400)
            except Exception as error:
                return await self._bug(request, error)
            raise refused

        return answer

    # Looking

    async def _home(self, request: Request) -> Response:
        return RedirectResponse(HOME, 303)

    async def _page(self, request: Request, page: Page) -> Response:
        asked = asked_of(request, page)
        copy = self.live.newest(asked) or await self.cache.copy(asked)
        html = self.renderer.with_token(copy.page, request.state.person.csrf)
        if copy.error is not None:
            return HTMLResponse(html, 503, {"retry-after": str(RETRY_SECONDS)})
        return HTMLResponse(html)

    async def _json(self, request: Request, page: Page) -> Response:
        copy = await self.cache.copy(asked_of(request, page))
        if copy.error is not None:
            raise copy.error
        return in_json({"schema": SCHEMA, "ok": True, "data": copy.data, "next": []})

    async def _events(self, request: Request, page: Page) -> Response:
        asked = asked_of(request, page)
        last = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        copy = await self.cache.copy(asked)  # what does not exist is said now, not in the stream
        if request.query_params.get("only") == "title":  # what a tab in the background needs
            return Response(unescape(copy.title), media_type="text/plain")
        return _streamed(request, self.live.copies(asked, last, request.state.person))

    async def _records(self, request: Request) -> Response:
        last = request.headers.get("last-event-id") or request.query_params.get("seen", "")
        return _streamed(request, self.live.records(last, request.state.person))

    async def _file(self, request: Request, file: PageFile) -> Response:
        def read() -> tuple[str, bytes]:
            words = request.path_params
            return file.read(self.site.place(words["workspace"]).workspace, words)

        type, content = await self.cache.read(read)
        return Response(content, 200, {"content-security-policy": INERT}, type)

    # Changing

    async def _change(self, request: Request, change: PageChange) -> Response:
        if any(page.path == change.path for page in pages()):
            request.state.back = request.url.path
        fields = await checked_form(request)
        # What was typed is shown again where it could not be sent.
        request.state.note = fields.get("note", "")[:LARGEST_FORM]
        words = {**fields, **request.path_params}
        place = self.site.place(words["workspace"])
        person = people.at_page(request.state.person.terminal, now=clock.now())

        def apply_change() -> str:
            workspace = place.open()
            try:
                return change.apply(workspace, words, person)
            finally:
                workspace.close()

        to = await asyncio.get_running_loop().run_in_executor(self._writers[place], apply_change)
        self.live.outdate()
        return RedirectResponse(to, 303)

    async def _record_refused(
        self, words: Mapping[str, str], purpose: str, refused: HoldfastError
    ) -> None:
        """Record an attempt to speak for a person without being signed in."""
        loop = asyncio.get_running_loop()
        self._recorded = [at for at in self._recorded if loop.time() - at < 60]
        if len(self._recorded) >= MOST_RECORDED:
            return
        self._recorded.append(loop.time())
        is_unknown = refused.kind == NoPerson.kind
        why = "no person signed in to the page" if is_unknown else refused.message

        def record(place: ServedWorkspace) -> None:
            with contextlib.suppress(HoldfastError):
                workspace = place.open()
                said = purpose.format(**words)[:LONGEST_PURPOSE]
                people.refuse(workspace, said, why, now=clock.now())
                workspace.close()

        with contextlib.suppress(HoldfastError):
            place = self.site.place(words["workspace"])
            await loop.run_in_executor(self._writers[place], record, place)

    # Coming and going

    async def _sign_in(self, request: Request) -> Response:
        address = request.client.host if request.client else ""
        token = request.query_params.get("token", "")
        if request.method == "POST":
            token = (await form_of(request)).get("token", "").strip()
            token = token.rpartition("token=")[2]  # the whole link does as well
        if not token:
            return HTMLResponse(self.renderer.page("sign_in.html", problem=""))
        wait = self.sign_ins.wait(address)
        cookie = self.sign_ins.enter(token, address)
        if cookie is None and wait:
            problem = f"Too many wrong tries. Wait {int(wait) + 1} seconds, or take a new link."
            html = self.renderer.page("sign_in.html", problem=problem)
            return HTMLResponse(html, 429, {"retry-after": str(int(wait) + 1)})
        if cookie is None:
            problem = "This link was used before, or is too old."
            return HTMLResponse(self.renderer.page("sign_in.html", problem=problem), 403)
        # A page and no redirect: after one, a browser that came from elsewhere would not send the
        # strict cookie yet.
        response = HTMLResponse(self.renderer.page("come_in.html", to=HOME))
        response.set_cookie(
            self.address.cookie,
            cookie,
            httponly=True,
            samesite="strict",
            secure=self.address.is_secure,
        )
        return response

    async def _sign_out(self, request: Request) -> Response:
        await checked_form(request)
        self.sign_ins.leave(request.state.cookie)
        response = RedirectResponse("/sign-in", 303)
        response.delete_cookie(self.address.cookie, httponly=True, samesite="strict")
        return response

    # What goes wrong

    async def _failed(self, request: Request, error: HoldfastError) -> Response:
        status = next((code for kind, code in STATUSES if isinstance(error, kind)), 400)
        status = 503 if is_away(error) else status
        headers = {"retry-after": str(RETRY_SECONDS)} if status == 503 else {}
        return self._problem(request, error, status, headers)

    async def _unknown(self, request: Request, error: HTTPException) -> Response:
        if request.state.refused is not None:
            return await self._failed(request, request.state.refused)
        said = {404: "There is no such page.", 405: "This address does not take that."}
        problem = NotFound(said.get(error.status_code, error.detail), hint=f"Begin at {HOME}")
        return self._problem(request, problem, error.status_code, dict(error.headers or {}))

    async def _bug(self, request: Request, error: Exception) -> Response:
        traceback.print_exception(error, file=sys.stderr)
        failure = HoldfastError(
            f"A bug in holdfast: {type(error).__name__}.",
            hint="The terminal in which `holdfast serve` runs has the full trace. Please report it.",
            kind="bug",
        )
        return self._problem(request, failure, 500, {})

    def _problem(
        self, request: Request, error: HoldfastError, status: int, headers: dict[str, str]
    ) -> Response:
        told = Door().value(error.data())
        if request.url.path.endswith((".json", ".events")):
            body = {"schema": SCHEMA, "ok": False, "error": told}
            return in_json(body, status, headers)
        signed_in = request.state.refused is None and request.state.person is not None
        back = getattr(request.state, "back", "") if status != 404 else ""
        html = self.renderer.page(
            "problem.html",
            status=status,
            error={**told, **AT_A_PAGE.get(error.kind, {})},
            home=HOME if signed_in else "",
            back=back if signed_in else "",
            note=getattr(request.state, "note", ""),
        )
        if request.state.person is not None:
            html = self.renderer.with_token(html, request.state.person.csrf)
        return HTMLResponse(html, status, headers)


def in_json(
    body: dict[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response in ASCII: a file's name need not be UTF-8."""
    return Response(json.dumps(body), status, headers, "application/json")


def asked_of(request: Request, page: Page) -> PageRequest:
    words = {**request.path_params}
    words |= {name: request.query_params.get(name, "") for name in page.words}
    return PageRequest(page, tuple(sorted(words.items())))


def _streamed(request: Request, events: AsyncIterator[str]) -> Response:
    if request.method == "HEAD":  # of which the body would never end
        return Response(media_type=EVENTS)
    return Streaming(events, media_type=EVENTS)
