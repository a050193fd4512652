"""The tool `beat`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from holdfast.fleet.agents import update
from holdfast.fleet.heartbeat import heartbeat
from holdfast.fleet.standpoint import carried_out, concluded, standpoint
from holdfast.mcp.call import Answer, Call


def beat(
    call: Call,
    agent: Annotated[str, Field(description="Your id, such as Secondary-A.")],
    step: Annotated[str | None, Field(description="What you are doing right now.")] = None,
    done: Annotated[list[str] | None, Field(description="Steps done since.")] = None,
    next: Annotated[list[str] | None, Field(description="Steps to do; replaces all.")] = None,
    files: Annotated[list[str] | None, Field(description="Files you changed.")] = None,
    recovery: Annotated[str | None, Field(description="How somebody else would go on.")] = None,
    stage: Annotated[str | None, Field(description="S2.P1, S2.P2 or S2.P3.")] = None,
    phase: str | None = None,
    status: Annotated[str | None, Field(description="IN_PROGRESS, WAITING or BLOCKED.")] = None,
    committed: Annotated[bool, Field(description="files begin anew.")] = False,
    busy_until: Annotated[
        str | None, Field(description="No news until then, such as 15:40.")
    ] = None,
    doing: Annotated[str | None, Field(description="What keeps you busy.")] = None,
    fence: Annotated[int | None, Field(description="If you were told one.")] = None,
    epic: Annotated[str | None, Field(description="The epic's folder.")] = None,
) -> Answer:
    """Heartbeat of one of several agents (begun with `holdfast agent start`), so that others see you
    alive or take over. Every 15 minutes and at every change; what is left out stays as it was."""
    post = standpoint(
        call.workspace,
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )
    said: dict[str, Any] = {
        "step": step,
        "done": done,
        "next": next,
        "file": files,
        "recovery": recovery,
        "stage": stage,
        "phase": phase,
        "status": status,
        "committed": committed,
        "busy_until": busy_until,
        "doing": doing,
    }
    command = heartbeat(post, said, folder=call.folder)
    told = carried_out(post, lambda: update(post, agent, command))
    concluded(told)
    data = {
        "agent_id": told.agent.id,
        "session_id": told.session,
        "fence": told.fence,
        "checkpoint": told.agent.state["checkpoint"],
        "queued": told.queued,
        "said": told.lines,
        "warnings": told.warnings,
    }
    return Answer([*told.lines, *(f"warning: {one}" for one in told.warnings)], data)
