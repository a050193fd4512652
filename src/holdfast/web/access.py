"""Check each request first: the right host, a signed-in person, the same origin.

A one-time link becomes a session, and every change carries the session's token.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
from holdfast.web.urls import Address

LINK_SECONDS = 600.0
IDLE_SECONDS = 7 * 86_400.0
MOST_SESSIONS = 20
# Wrong tries within a minute, from one address, after which it has to wait.
TRIES, TRIES_SECONDS = 10, 60.0
TAKE_A_LINK = "The terminal in which `holdfast serve` runs shows a link; Enter shows a new one."
OPEN = ("/sign-in", "/static/")
LARGEST_FORM, MOST_FIELDS = 65_536, 50
# What comes in pieces while the server ends has so long for each of them.
LAST_SECONDS = 1.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# `same-origin` and not `no-referrer`: under that a browser hides the origin of a form, which we check.
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class SignedIn(NamedTuple):
    """A person who signed in. `terminal` is where the link was shown; `over` is set at sign-out."""

    terminal: str
    csrf: str
    over: asyncio.Event


class SignIns:
    """The links and sessions. Only digests are kept, so a copy of the memory lets no one in."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        take_link: Callable[[str], str | None] | None = None,
    ) -> None:
        self._clock = clock
        # Links that another process showed: the terminal of a digest, once.
        self._take_link = take_link
        self._links: dict[str, tuple[float, str]] = {}
        self._sessions: dict[str, tuple[float, SignedIn]] = {}
        self._failures: dict[str, list[float]] = {}

    def link(self, terminal: str) -> str:
        """A new token for a link. An unused token from before becomes invalid."""
        token = secrets.token_urlsafe(32)
        self._links = {_digest(token): (self._clock() + LINK_SECONDS, terminal)}
        return token

    def enter(self, token: str, address: str) -> str | None:
        """Exchange a link's token for a session's token, once; None if it is not valid. Failed
        attempts from the same address do not matter."""
        ends, terminal = self._links.pop(_digest(token), (0.0, ""))
        elsewhere = self._take_link(_digest(token)) if self._take_link and not ends else None
        if elsewhere is not None:
            terminal = elsewhere
        elif self._clock() >= ends:
            if not self.wait(address):
                self._failures.setdefault(address, []).append(self._clock())
            return None
        cookie = secrets.token_urlsafe(32)
        session = SignedIn(terminal, secrets.token_urlsafe(32), asyncio.Event())
        self._sessions[_digest(cookie)] = (self._clock(), session)
        while len(self._sessions) > MOST_SESSIONS:
            self._end(min(self._sessions, key=lambda key: self._sessions[key][0]))
        return cookie

    def wait(self, address: str) -> float:
        """Seconds until an address may try again; 0 if it may now."""
        since = self._clock() - TRIES_SECONDS
        for known in list(self._failures):
            self._failures[known] = [at for at in self._failures[known] if at > since]
            if not self._failures[known]:
                del self._failures[known]
        recent = self._failures.get(address, [])
        return recent[-TRIES] - since if len(recent) >= TRIES else 0.0

    def session(self, cookie: str) -> SignedIn | None:
        key = _digest(cookie)
        seen, session = self._sessions.get(key, (0.0, None))
        if session is None:
            return None
        if self._clock() - seen > IDLE_SECONDS:
            self._end(key)
            return None
        self._sessions[key] = (self._clock(), session)
        return session

    def leave(self, cookie: str) -> None:
        self._end(_digest(cookie))

    def _end(self, key: str) -> None:
        _, session = self._sessions.pop(key, (0.0, None))
        if session is not None:
            session.over.set()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class WrongHost(NotAllowed):
    """The request names another host: a name server led the browser here."""

    kind = "wrong_host"


class NoPerson(NotAllowed):
    """No person is signed in."""

    kind = "no_person"


class Guard:
    """Middleware that checks every request. It puts the session of the person into
    `scope["state"]["person"]`."""

    def __init__(self, app: ASGIApp, sign_ins: SignIns, address: Address) -> None:
        self._app = app
        self._sign_ins = sign_ins
        self._address = address
        self._hearing: set[asyncio.Task[Any]] = set()
        self._is_over = False

    def leave(self) -> None:
        """Stop waiting for the rest of a request that was only half sent."""
        self._is_over = True
        for task in self._hearing:
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        receive = self._until_the_end(receive)
        state: dict[str, Any] = scope.setdefault("state", {})
        state["cookie"] = cookie_of(headers, self._address)
        state["person"] = self._sign_ins.session(state["cookie"]) if state["cookie"] else None
        state["refused"] = self._refusal(scope, headers, state["person"])

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    found.setdefault(name, value)
                found.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _until_the_end(self, receive: Receive) -> Receive:
        whole = False

        async def heard() -> Message:
            nonlocal whole
            task = asyncio.current_task()
            if whole or task is None:
                return await receive()
            self._hearing.add(task)
            try:
                async with asyncio.timeout(LAST_SECONDS if self._is_over else None):
                    message = await receive()
            except TimeoutError:
                return {"type": "http.disconnect"}
            except asyncio.CancelledError:
                if not self._is_over:
                    raise
                task.uncancel()
                return {"type": "http.disconnect"}
            finally:
                self._hearing.discard(task)
            whole = not message.get("more_body", False)
            return message

        return heard

    def _refusal(
        self, scope: Scope, headers: Headers, person: SignedIn | None
    ) -> HoldfastError | None:
        if headers.get("host", "") != self._address.netloc:
            # Its own name is a secret: who knows it could have a browser send the cookie elsewhere.
            hint = (
                TAKE_A_LINK if self._address.has_random_name else f"It is at {self._address.origin}"
            )
            return WrongHost("This page does not go by that name.", hint=hint)
        changes = scope["method"] not in ("GET", "HEAD")
        # Only what the browser says comes from this page changes anything.
        if changes and headers.get("origin") != self._address.origin:
            return NotAllowed("This was sent from another page.", kind="other_origin")
        is_open = scope["path"].startswith(OPEN)
        if person is None and not is_open:
            return NoPerson("No person is signed in here.", hint=TAKE_A_LINK)
        return None


def cookie_of(headers: Headers, address: Address) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(address.cookie)
    except CookieError:
        return ""
    return found.value if found else ""


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form: at most a few, each once, no files."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Usage("A form is wanted here.", hint="application/x-www-form-urlencoded")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_FORM:
            raise Usage(f"A form has at most {LARGEST_FORM} bytes.", kind="too_large")
    try:
        fields = parse_qs(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MOST_FIELDS,
            errors="replace",
        )
    except ValueError:
        raise Usage("The form cannot be read.") from None
    return {name: values[0] for name, values in fields.items()}


async def checked_form(request: Request) -> dict[str, str]:
    """The form of a signed-in person, with its token checked."""
    person: SignedIn = request.state.person
    fields = await form_of(request)
    said = fields.pop("csrf", "").encode("utf-8", "replace")
    if not hmac.compare_digest(person.csrf.encode(), said):
        raise NotAllowed(
            "This form was not made for you, or before you signed in.",
            hint="Go back, load the page again, and send it once more.",
            kind="bad_token",
        )
    return fields
