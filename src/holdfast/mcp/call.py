"""One call of a tool: its workspace, time and actor, and its answer; and its place in the SDK, with a
schema that costs few tokens."""

from __future__ import annotations

import inspect
import os
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations

from holdfast.hooks.deferred_events import finish_here
from holdfast.kernel import canonical_json, clock, latch
from holdfast.kernel.door import Door
from holdfast.kernel.errors import HoldfastError, Usage, from_os_error
from holdfast.kernel.stops import refuse_stopped
from holdfast.kernel.streams import actor, open_writer
from holdfast.kernel.text import quoted, safe
from holdfast.kernel.workspace import Workspace, discover
from holdfast.kernel.writer import Writer
from holdfast.people.removed_stops import restore
from holdfast.remote.offline import away_message, can_work_offline, reachable, start_forwarder

SCHEMA = 1
ENVELOPE = "holdfast/envelope"
# Clients refuse or cut what is much longer.
LONGEST_TEXT = 40_000


@dataclass
class ToolAnswer:
    """What a tool answers: lines for a model and the warnings below them, data for programs, and the commands to run
    next."""

    lines: Iterable[str]
    data: dict[str, Any]
    warnings: Iterable[str] = ()
    next: Sequence[str] = ()


class ToolCall:
    """The workspace of one call. Each call opens its own, because calls run in threads."""

    def __init__(self, folder: str | None, client: str = "") -> None:
        self.client = client
        self.folder = os.path.abspath(folder or os.curdir)
        self.now = clock.now()
        # What the caller must know while the call goes on without the server.
        self.away = ""
        self._workspace: Workspace | None = None

    def __enter__(self) -> ToolCall:
        return self

    def __exit__(self, *_: object) -> None:
        workspace = self._workspace
        if workspace is None:
            return
        if workspace.wants_forwarder or workspace.spools:
            start_forwarder(workspace)
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
            self._workspace, why = reachable(self.workspace)
            self.away = away_message(operation, why) if why else self.away
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

    def stop_lines(self) -> list[str]:
        """The line about a stop, for a tool that also answers while one holds."""
        held = latch.read(self.workspace)
        return (
            [f"STOPPED: {quoted(held['reason'])}. Checkpoint, then wait for a person."]
            if held
            else []
        )

    def door(self) -> Door:
        """The door of this workspace, or the default one where there is none."""
        try:
            return Door(self.workspace)
        except HoldfastError:
            return Door()


def require(value: str | None, name: str) -> str:
    """Require an argument."""
    if not value or not value.strip():
        raise Usage(f"{name} is missing.", hint=f"Give the argument {name}.")
    return value


def run_tool(
    call: ToolCall, work: Callable[..., ToolAnswer], arguments: dict[str, Any]
) -> CallToolResult:
    """Run a tool. A failure is a result with `is_error`, a message and a hint."""
    with call:
        try:
            restore(call.workspace, now=call.now)
            answer = work(call, **arguments)
            envelope = {"schema": SCHEMA, "ok": True, "data": answer.data, "next": [*answer.next]}
            lines = [*answer.lines, *(f"warning: {one}" for one in answer.warnings)]
            lines += [call.away] if call.away else []
            lines += [f"next: {command}" for command in answer.next]
            return _result(call, "\n".join(lines), envelope)
        except Exception as error:
            return failure_result(call, error)


def failure_result(call: ToolCall, error: Exception) -> CallToolResult:
    known = as_error(error)
    envelope = {"schema": SCHEMA, "ok": False, "error": known.data()}
    return _result(call, error_text(known), envelope, is_error=True)


def error_text(error: HoldfastError) -> str:
    hint = f"\nhint: {error.hint}" if error.hint else ""
    return f"error ({error.kind}): {error.message}{hint}"


def as_error(error: Exception) -> HoldfastError:
    """A failure as a HoldfastError; an unexpected one is a bug."""
    if isinstance(error, HoldfastError):
        return error
    if isinstance(error, OSError):
        return from_os_error(error, str(error.filename or "a file operation"))
    return HoldfastError(
        f"A bug in holdfast: {type(error).__name__}: {error}",
        hint="Continue without this call, and report it with what was asked.",
        kind="bug",
    )


def _result(
    call: ToolCall, text: str, envelope: dict[str, Any], *, is_error: bool = False
) -> CallToolResult:
    door = call.door()
    shown = safe(door.text(text))
    if len(shown) > LONGEST_TEXT:
        left = len(shown) - LONGEST_TEXT
        shown = f"{shown[:LONGEST_TEXT]}\n({left} more characters: ask for less, or use the command line.)"
    clean = door.value(canonical_json.storable(envelope)[0])
    block = TextContent(type="text", text=shown)
    return CallToolResult(content=[block], is_error=is_error, _meta={ENVELOPE: clean})


def tool(
    work: Callable[..., ToolAnswer], *, reads_only: bool = False, reaches_out: bool = False
) -> Tool:
    """Return the tool of a function. Its first parameter is the call, its docstring the description. The SDK
    runs it in a thread, so that other calls do not wait for its disk."""

    def run(request: Context, **arguments: Any) -> CallToolResult:
        return run_tool(ToolCall(folder_of(request), client_of(request)), work, arguments)

    _take_signature(run, work, CallToolResult)
    made = Tool.from_function(
        run,
        name=work.__name__,
        description=inspect.cleandoc(work.__doc__ or ""),
        annotations=ToolAnnotations(
            read_only_hint=reads_only, destructive_hint=False, open_world_hint=reaches_out
        ),
        structured_output=False,
    )
    made.parameters = simplify(made.parameters)
    return made


def prompt(work: Callable[..., str]) -> Prompt:
    """Return the prompt of a function. Its first parameter is the call, its docstring the description."""

    def run(request: Context, **arguments: Any) -> str:
        return read(folder_of(request), lambda call: work(call, **arguments))

    _take_signature(run, work, str)
    return Prompt.from_function(run, description=inspect.cleandoc(work.__doc__ or ""))


def _take_signature(run: Callable[..., Any], work: Callable[..., Any], returns: type) -> None:
    """Let a function look like another one with the SDK's context in place of the call: the SDK reads the
    signature for the arguments, and the annotations for the context and resolvers."""
    hints = typing.get_type_hints(work, include_extras=True)
    _, *others = inspect.signature(work).parameters.values()
    only = inspect.Parameter.KEYWORD_ONLY
    run.__name__ = work.__name__
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("request", only, annotation=Context),
            *(one.replace(annotation=hints[one.name], kind=only) for one in others),
        ],
        return_annotation=returns,
    )
    run.__annotations__ = {"request": Context, **{one.name: hints[one.name] for one in others}}


def read(folder: str | None, look: Callable[[ToolCall], str]) -> str:
    """Return a text for a client, redacted. A failure is an error of the protocol, with a hint."""
    with ToolCall(folder) as call:
        try:
            return call.door().text(look(call)).encode("utf-8", "replace").decode()
        except Exception as error:
            known = as_error(error)
            door = call.door()
            data = door.value(known.data())
            message = door.text(error_text(known))
            raise MCPError(code=INVALID_PARAMS, message=message, data=data) from None


def folder_of(context: Context) -> str | None:
    """The folder that the server was started for."""
    folder: str | None = getattr(context.mcp_server, "folder", None)
    return folder


def client_of(context: Context) -> str:
    """The name and version that the client gives."""
    known = context.session.client_params
    return f"{known.client_info.name} {known.client_info.version}" if known is not None else ""


def simplify(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles, empty defaults, lower bounds of 0, references and null, which tell a model
    nothing: null is the same as leaving an argument out."""
    return _simplify(schema, schema.get("$defs", {}))


def _simplify(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = {**schema, **definitions[schema["$ref"].rpartition("/")[2]]}
    dropped = {"title", "$defs", "$ref"}
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(kinds) == 1:
        schema = {**_simplify(kinds[0], definitions), **schema}
        dropped.add("anyOf")
    dropped |= {name for name in ("default", "minimum") if not schema.get(name)}
    found = {name: value for name, value in schema.items() if name not in dropped}
    if "properties" in found:
        found["properties"] = {
            name: _simplify(value, definitions) for name, value in found["properties"].items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _simplify(found[name], definitions)
    return found
