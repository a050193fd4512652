"""Prompts that a person picks in a client: to continue a session, and to answer an RFC's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from holdfast.kernel.text import safe
from holdfast.mcp.resources import read
from holdfast.rfc.write import ask
from holdfast.session.resume import refuse_foreign, resume

if TYPE_CHECKING:
    from holdfast.mcp.call import ToolCall
    from holdfast.mcp.server import Server


def add_to(server: Server) -> None:
    """Register the prompts."""

    @server.prompt(description="Continue where the last session here stopped.")
    def continuation(
        session: Annotated[str, Field(description="Session id. Default: the newest here.")] = "",
    ) -> str:
        return read(server.folder, lambda call: _continuation(call, session))

    @server.prompt(description="The questions that keep an RFC's reasoning at a phase boundary.")
    def extraction(
        group: Annotated[str, Field(description="discover, design, gate-b or review.")],
        rfc: Annotated[str, Field(description="RFC id, if there are several.")] = "",
    ) -> str:
        return read(server.folder, lambda call: ask(call.workspace, group, rfc)["prompt"])


def _continuation(call: ToolCall, session: str) -> str:
    found = resume(call.workspace, {"session": session}, now=call.now)
    refuse_foreign(found)
    return safe("\n".join([*call.stopped(), found["pack"]]))
