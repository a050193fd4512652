"""Check each request first: the right host, a signed-in person, the same origin.

docs/how-to/page.md says which attack each check prevents.
"""

from __future__ import annotations

import asyncio
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.kernel.errors import HoldfastError, NotAllowed, Usage
from holdfast.web.signin import SignedIn, SignIns, is_token
from holdfast.web.urls import Address

TAKE_A_LINK = "The terminal in which `holdfast serve` runs shows a link; Enter shows a new one."
OPEN = ("/sign-in", "/static/")
LARGEST_FORM, MOST_FIELDS = 65_536, 50
# What comes in pieces while the server ends has so long for each of them.
LAST_SECONDS = 1.0
POLICY = "; ".join(
    [
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    ]
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

    def _is_here(self, headers: Headers) -> bool:
        return headers.get("host", "") == self._address.netloc

    def _refusal(
        self, scope: Scope, headers: Headers, person: SignedIn | None
    ) -> HoldfastError | None:
        if not self._is_here(headers):
            # Its own name is a secret: who knows it could have a browser send the cookie elsewhere.
            hint = (
                TAKE_A_LINK if self._address.has_random_name else f"It is at {self._address.origin}"
            )
            return WrongHost("This page does not go by that name.", hint=hint)
        changes = scope["method"] not in ("GET", "HEAD")
        if changes and not is_same_origin(headers, self._address):
            return NotAllowed("This was sent from another page.", kind="other_origin")
        is_open = scope["path"].startswith(OPEN)
        if person is None and not is_open:
            return NoPerson(
                "Nobody is signed in here.",
                hint=TAKE_A_LINK,
            )
        return None


def is_same_origin(headers: Headers, address: Address) -> bool:
    """Whether the browser says that the request comes from this page; only then something is
    changed."""
    return headers.get("origin") == address.origin


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
    if not is_token(person, fields.pop("csrf", "")):
        raise NotAllowed(
            "This form was not made for you, or before you signed in.",
            hint="Go back, load the page again, and send it once more.",
            kind="bad_token",
        )
    return fields
