"""Prompts that a person picks in their client: to go on, and to write the reasoning down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from holdfast.kernel.text import safe
from holdfast.mcp.resources import read
from holdfast.rfc.write import ask
from holdfast.session.resume import refuse_foreign, resume

if TYPE_CHECKING:
    from holdfast.mcp.call import Call
    from holdfast.mcp.server import Server


def add_to(server: Server) -> None:
    """Register the prompts."""

    @server.prompt(description="Go on where the last session here stopped.")
    def continuation(
        session: Annotated[str, Field(description="Session id; else this worktree's.")] = "",
    ) -> str:
        return read(server.folder, lambda call: _continuation(call, session))

    @server.prompt(description="The questions that keep an RFC's reasoning at a phase boundary.")
    def extraction(
        group: Annotated[str, Field(description="discover, design, gate-b or review.")],
        rfc: Annotated[str, Field(description="Its id; not needed for the only one.")] = "",
    ) -> str:
        return read(server.folder, lambda call: ask(call.workspace, group, rfc)["prompt"])


def _continuation(call: Call, session: str) -> str:
    found = resume(call.workspace, {"session": session, "probe": False}, now=call.now)
    refuse_foreign(found)
    return safe("\n".join([*call.stopped(), found["pack"]]))
