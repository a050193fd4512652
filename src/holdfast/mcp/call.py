"""One call of a tool: its workspace, time and actor, and its answer.

A tool answers with text for a model. The envelope of `--json` is in `_meta`, for programs. Every answer
is redacted and has no control characters.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolResult, TextContent

from holdfast.budgets.stop import put_back
from holdfast.estop.stop import refuse_stopped
from holdfast.hooks.deferred_events import finish_here
from holdfast.kernel import canonical_json, clock, config, latch
from holdfast.kernel.errors import HoldfastError, Usage, from_os_error
from holdfast.kernel.redact import Redactor
from holdfast.kernel.text import safe
from holdfast.kernel.workspace import Workspace, discover
from holdfast.remote.offline import away_message, can_work_offline, reachable
from holdfast.remote.spawn import start
from holdfast.streams import actor, open_writer

if TYPE_CHECKING:
    from holdfast.kernel.writer import Writer

SCHEMA = 1
ENVELOPE = "holdfast/envelope"
# Clients refuse or cut what is much longer.
LONGEST_TEXT = 40_000


class ToolAnswer:
    """What a tool answers: lines for a model, data for programs, and the commands to run next."""

    def __init__(
        self, lines: Iterable[str], data: dict[str, Any], *, next: Sequence[str] = ()
    ) -> None:
        self.lines = list(lines)
        self.data = data
        self.next = list(next)


class ToolCall:
    """The workspace of one call. Each call opens its own, because calls run in threads."""

    def __init__(self, folder: str | None, client: str = "") -> None:
        self.client = client
        self.folder = os.path.abspath(folder or os.curdir)
        self.now = clock.now()
        # Why the server is away, while the call goes on without it.
        self.away = ""
        self._workspace: Workspace | None = None

    def __enter__(self) -> ToolCall:
        return self

    def __exit__(self, *_: object) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        if workspace.wants_forwarder or workspace.spools:
            start(workspace)
        workspace.close()

    @property
    def workspace(self) -> Workspace:
        if self._workspace is None:
            self._workspace = discover(self.folder)
            finish_here(self._workspace)
        return self._workspace

    def workspace_for(self, operation: Callable[..., Any]) -> Workspace:
        """The workspace. While its server is away, an operation that works offline gets the same one
        without the server: what it writes is kept on this machine."""
        if can_work_offline(operation):
            self._workspace, self.away = reachable(self.workspace)
        return self.workspace

    @property
    def writer(self) -> Writer:
        return open_writer(self.workspace)

    @property
    def actor(self) -> str:
        return actor()

    def refuse_stopped(self, saved: str = "") -> None:
        """Raise Stopped while a stop holds. `saved` says what was kept."""
        refuse_stopped(self.workspace, saved)

    def stopped(self) -> list[str]:
        """The line about a stop, for a tool that also answers while one holds."""
        held = latch.read(self.workspace)
        return [f"STOPPED: {held['reason']}. Checkpoint, then wait for a person."] if held else []

    def redactor(self) -> Redactor:
        """The redactor with the workspace's rules, or the default one when its settings are broken."""
        try:
            journal = self.workspace.journal if self.workspace.exists() else None
            return Redactor(rules=config.load(self.workspace, journal)["redact.rules"])
        except HoldfastError:
            return Redactor()


def needed(value: str | None, name: str) -> str:
    """Require an argument."""
    if not value or not value.strip():
        raise Usage(f"{name} is missing.", hint=f"Give the argument {name}.")
    return value


def answered(
    call: ToolCall, work: Callable[..., ToolAnswer], arguments: dict[str, Any]
) -> CallToolResult:
    """Run a tool. A failure is a result with `is_error`, a message and a hint."""
    with call:
        try:
            put_back(call.workspace, now=call.now)
            answer = work(call, **arguments)
            said = [away_message(call.away)] if call.away else []
            envelope = {"schema": SCHEMA, "ok": True, "data": answer.data, "next": answer.next}
            lines = [*answer.lines, *said, *(f"next: {command}" for command in answer.next)]
            return _result(call, "\n".join(lines), envelope)
        except Exception as error:
            return failed(call, error)


def failed(call: ToolCall, error: Exception) -> CallToolResult:
    known = understood(error)
    envelope = {"schema": SCHEMA, "ok": False, "error": known.data()}
    return _result(call, words(known), envelope, is_error=True)


def words(error: HoldfastError) -> str:
    hint = f"\nhint: {error.hint}" if error.hint else ""
    return f"error ({error.kind}): {error.message}{hint}"


def understood(error: Exception) -> HoldfastError:
    """A failure as a HoldfastError; an unexpected one is a bug."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, OSError):
        return from_os_error(error, str(error.filename or "a file operation"))
    return HoldfastError(
        f"A bug in holdfast: {type(error).__name__}: {error}",
        hint="The work goes on without this call; report it, with what was asked.",
        kind="bug",
    )


def _result(
    call: ToolCall, text: str, envelope: dict[str, Any], *, is_error: bool = False
) -> CallToolResult:
    redactor = call.redactor()
    shown = safe(redactor.text(text))
    if len(shown) > LONGEST_TEXT:
        left = len(shown) - LONGEST_TEXT
        shown = f"{shown[:LONGEST_TEXT]}\n({left} more characters: ask for less, or use the command line.)"
    settled, serialised = canonical_json.storable(envelope)
    clean = redactor.value(settled, serialised)
    block = TextContent(type="text", text=shown)
    return CallToolResult(content=[block], is_error=is_error, _meta={ENVELOPE: clean})
