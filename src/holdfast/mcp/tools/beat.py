"""The tool `beat`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.fleet import updates
from holdfast.fleet.context import open_context
from holdfast.mcp.call import Answer, Call


def beat(
    call: Call,
    agent: Annotated[str, Field(description="Your id, such as Secondary-A.")],
    step: Annotated[str | None, Field(description="What you are doing right now.")] = None,
    done: Annotated[list[str] | None, Field(description="Steps done since.")] = None,
    next: Annotated[list[str] | None, Field(description="Steps to do; replaces all.")] = None,
    files: Annotated[list[str] | None, Field(description="Files you changed.")] = None,
    recovery: Annotated[str | None, Field(description="How another agent would go on.")] = None,
    stage: Annotated[str | None, Field(description="S2.P1, S2.P2 or S2.P3.")] = None,
    phase: str | None = None,
    status: Annotated[str | None, Field(description="IN_PROGRESS, WAITING or BLOCKED.")] = None,
    committed: Annotated[bool, Field(description="Clear the list of files.")] = False,
    busy_until: Annotated[
        str | None, Field(description="No news until then, such as 15:40.")
    ] = None,
    doing: Annotated[str | None, Field(description="What keeps you busy.")] = None,
    fence: Annotated[int | None, Field(description="If you were told one.")] = None,
    epic: Annotated[str | None, Field(description="The epic's folder.")] = None,
) -> Answer:
    """Heartbeat of one of several agents (begun with `holdfast agent start`), so that others see you
    alive or take over. Every 15 minutes and at every change; what is left out stays as it was."""
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
    return Answer([*result.lines, *(f"warning: {one}" for one in result.warnings)], result.data())
