"""The agents' door: http hooks and MCP, for whoever has a workspace's token. No page is behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from holdfast.clients.claude import HOOKS_PATH
from holdfast.hooks.run import LARGEST_PAYLOAD
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound
from holdfast.web.agent_keys import Home, Keys, NoToken
from holdfast.web.hooks import Hooks, note
from holdfast.web.tools import Tools

HOOKS, TOOLS = HOOKS_PATH, "/mcp"
TOO_LARGE = f"The payload is larger than {LARGEST_PAYLOAD >> 20} MB."
STATUSES: tuple[tuple[type[HoldfastError], int], ...] = (
    (NoToken, 401),
    (NotAllowed, 403),
    (NotFound, 404),
    (HoldfastError, 500),
)
# So many large payloads are in memory at once, and the next one waits; small ones never wait.
MOST_LARGE, LARGE = 8, 1024 * 1024


def is_agents(path: str) -> bool:
    return path.startswith(HOOKS) or path in (TOOLS, f"{TOOLS}/")


class Agents:
    """An ASGI app. `Guard` has looked at the host already, and at nothing else."""

    def __init__(self, roots: Iterable[str], host: str) -> None:
        self._keys = Keys(roots)
        self._hooks = Hooks(self._keys)
        self._host = host
        self._tools: dict[str, Tools] = {}
        self._turns = asyncio.Semaphore(MOST_LARGE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        is_hook, event = path.startswith(HOOKS), path.removeprefix(HOOKS)
        place: Home | None = None
        try:
            token = token_of(headers)
            # Nothing is read of whom nobody knows; the hook's own thread looks at the file again.
            place = self._keys.known(token) if is_hook else None
            if place is None:
                place = await asyncio.to_thread(self._keys.admit, token)
            if not is_hook:
                await self._tools_of(place)(scope, receive, send)
                return
            if scope["method"] != "POST":
                raise NotFound("A hook is sent by POST.")
            async with self._turns if is_large(headers) else contextlib.nullcontext():
                body, problem = await payload_of(headers, receive)
                answer = await self._hooks.answer(token, event, body, problem)
            await respond(send, 200, answer)
        except ClientDisconnect:
            return
        except HoldfastError as error:
            await refuse(send, error)
        except Exception as error:
            traceback.print_exception(error, file=sys.stderr)
            if place is not None and is_hook:
                said = f"{type(error).__name__}: {error}"
                await asyncio.to_thread(note, place, event, said)
            bug = HoldfastError(f"A bug in holdfast: {type(error).__name__}.", kind="bug")
            await refuse(send, bug)

    def _tools_of(self, place: Home) -> Tools:
        if place.home not in self._tools:
            self._tools[place.home] = Tools(place.root, self._host)
        return self._tools[place.home]

    def leave(self) -> None:
        """Nobody waits for us at the end."""
        for tools in self._tools.values():
            tools.leave()

    async def close(self) -> None:
        for tools in self._tools.values():
            await tools.close()
        await asyncio.to_thread(self._hooks.close)


def token_of(headers: Headers) -> str:
    # Browsers name the origin of whatever they send by POST, and agents have none.
    if "origin" in headers:
        raise NotAllowed("A page cannot speak for an agent.", kind="other_origin")
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def is_large(headers: Headers) -> bool:
    said = headers.get("content-length", "")
    return not said.isdigit() or int(said) > LARGE


async def payload_of(headers: Headers, receive: Receive) -> tuple[bytes, str]:
    """The body, or why it is none. What is too long is read to its end, for its sender to be answered,
    and not kept."""
    parts: list[bytes] = []
    length = 0
    is_too_large = False
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        length += len(part)
        if length > LARGEST_PAYLOAD:
            is_too_large, parts = True, []
        else:
            parts.append(part)
        if length > 4 * LARGEST_PAYLOAD:
            raise NotAllowed(TOO_LARGE, kind="too_large")
        if not message.get("more_body"):
            return b"".join(parts), TOO_LARGE if is_too_large else ""


async def refuse(send: Send, error: HoldfastError) -> None:
    status = next(code for kind, code in STATUSES if isinstance(error, kind))
    await respond(send, status, json.dumps({"schema": 1, "ok": False, "error": error.data()}))


async def respond(send: Send, status: int, body: str) -> None:
    content = body.encode("utf-8", "replace")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
