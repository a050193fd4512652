"""Make a function a tool of the SDK, with a schema that costs few tokens."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations

from holdfast.mcp.call import ToolAnswer, ToolCall, answered


def tool(
    work: Callable[..., ToolAnswer], *, reads_only: bool = False, reaches_out: bool = False
) -> Tool:
    """The tool of a function. Its first parameter is the call, its docstring the description. The SDK
    runs it in a thread, so that other calls do not wait for its disk."""
    hints = typing.get_type_hints(work, include_extras=True)
    signature = inspect.signature(work)
    _, *others = signature.parameters.values()

    def run(request: Context, **arguments: Any) -> CallToolResult:
        return answered(ToolCall(folder_of(request), client_of(request)), work, arguments)

    run.__name__ = work.__name__
    # The SDK reads the signature for the arguments, and the annotations for the context and resolvers.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Context),
            *(
                one.replace(annotation=hints[one.name], kind=inspect.Parameter.KEYWORD_ONLY)
                for one in others
            ),
        ],
        return_annotation=CallToolResult,
    )
    run.__annotations__ = {"request": Context, **{one.name: hints[one.name] for one in others}}
    made = Tool.from_function(
        run,
        name=work.__name__,
        description=inspect.cleandoc(work.__doc__ or ""),
        annotations=ToolAnnotations(
            read_only_hint=reads_only, destructive_hint=False, open_world_hint=reaches_out
        ),
        structured_output=False,
    )
    made.parameters = simplified(made.parameters)
    return made


def folder_of(context: Context) -> str | None:
    """The folder that the server was started for."""
    folder: str | None = getattr(context.mcp_server, "folder", None)
    return folder


def client_of(context: Context) -> str:
    """The name and version that the client gives."""
    known = context.session.client_params
    return f"{known.client_info.name} {known.client_info.version}" if known is not None else ""


def simplified(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without titles, empty defaults, references and null, which tell a model nothing: null is
    the same as leaving an argument out."""
    return _simplified(schema, schema.get("$defs", {}))


def _simplified(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        schema = {**schema, **definitions[schema["$ref"].rpartition("/")[2]]}
    dropped = {"title", "$defs", "$ref"}
    kinds = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(kinds) == 1:
        schema = {**_simplified(kinds[0], definitions), **schema}
        dropped.add("anyOf")
    if not schema.get("default"):
        dropped.add("default")
    found = {name: value for name, value in schema.items() if name not in dropped}
    if "properties" in found:
        found["properties"] = {
            name: _simplified(value, definitions) for name, value in found["properties"].items()
        }
    for name in ("items", "additionalProperties"):
        if isinstance(found.get(name), dict):
            found[name] = _simplified(found[name], definitions)
    return found
