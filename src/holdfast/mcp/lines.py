"""Read standard input line by line, and answer lines that are not messages.

The SDK drops a line that it cannot read, and the client that sent it waits for ever. Half a surrogate
pair, which a model can write, becomes `?`; any other broken line is answered with an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio.to_thread
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from mcp_types.jsonrpc import JSONRPCNotification, jsonrpc_message_adapter

from holdfast.kernel import canonical_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LONGEST_LINE = 16 * 1024 * 1024


class Lines:
    """The messages of standard input. `complain` is set once answers can be sent."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.complain: Callable[[SessionMessage], Awaitable[None]] | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            line = await anyio.to_thread.run_sync(self._next, abandon_on_cancel=True)
            if line is None:
                return
            message, problem = understood(line)
            if message:
                yield message
            elif problem is not None and self.complain is not None:
                await self.complain(SessionMessage(problem))

    def _next(self) -> bytes | None:
        """The next line; only the beginning of one that is too long, which is not a message."""
        line = self._source.readline(LONGEST_LINE)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = self._source.readline(LONGEST_LINE)
        return line or None


def understood(line: bytes) -> tuple[str, JSONRPCError | None]:
    """A line that the SDK can read, or the error to answer with; neither for an empty line."""
    text = line.decode("utf-8", "replace").strip()
    if not text:
        return "", None
    if _is_message(text):
        return text, None
    try:
        value = canonical_json.loads(text)
        repaired = canonical_json.dumps(value)
    except ValueError:
        return "", _error(None, PARSE_ERROR, "This line is not JSON.")
    if _is_message(repaired):
        return repaired, None
    id = value.get("id") if isinstance(value, dict) else None
    known = id if isinstance(id, str | int) and not isinstance(id, bool) else None
    return "", _error(known, INVALID_REQUEST, "This is not a message of JSON-RPC 2.0.")


def _is_message(text: str) -> bool:
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        return False
    # A request whose id is null would pass for a notification, and never be answered.
    is_request = isinstance(message, JSONRPCNotification) and '"id"' in text
    return not (is_request and "id" in canonical_json.loads(text))


def _error(id: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))


def claimed() -> BinaryIO:
    """Take standard input away from child processes, such as git: theirs is empty."""
    source: Any = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return source  # type: ignore[no-any-return]
