"""The tool `beat`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.fleet import updates
from holdfast.fleet.context import open_context
from holdfast.mcp.call import ToolAnswer, ToolCall


def beat(
    call: ToolCall,
    agent: Annotated[str, Field(description="Your id, such as Secondary-A.")],
    step: Annotated[str | None, Field(description="What you do now.")] = None,
    done: Annotated[list[str] | None, Field(description="Steps done.")] = None,
    next: Annotated[list[str] | None, Field(description="Steps left; replaces the list.")] = None,
    files: Annotated[list[str] | None, Field(description="Files you changed.")] = None,
    recovery: Annotated[str | None, Field(description="How another agent would continue.")] = None,
    stage: Annotated[str | None, Field(description="S2.P1, S2.P2 or S2.P3.")] = None,
    phase: str | None = None,
    status: Annotated[str | None, Field(description="IN_PROGRESS, WAITING or BLOCKED.")] = None,
    committed: Annotated[bool, Field(description="Clear the list of files.")] = False,
    busy_until: Annotated[
        str | None, Field(description="No heartbeat before, such as 15:40.")
    ] = None,
    doing: Annotated[str | None, Field(description="The long operation.")] = None,
    fence: Annotated[int | None, Field(description="Your fence, if any.")] = None,
    epic: Annotated[str | None, Field(description="The epic's folder.")] = None,
) -> ToolAnswer:
    """Send a heartbeat, as one of several agents (begun with `holdfast agent start`): others see that you
    are alive, or take over. Every 15 minutes and at every change. Omitted fields keep their value."""
    context = open_context(
        call.workspace_for(updates.beat),
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )
    result = updates.beat(
        context,
        {
            "agent": agent,
            "step": step,
            "done": done,
            "next": next,
            "files": files,
            "recovery": recovery,
            "stage": stage,
            "phase": phase,
            "status": status,
            "committed": committed,
            "busy_until": busy_until,
            "doing": doing,
        },
    )
    result.refuse_stopped()
    return ToolAnswer(
        [*result.lines, *(f"warning: {one}" for one in result.warnings)], result.data()
    )
