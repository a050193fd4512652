"""The tool `resume`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.mcp.call import ToolAnswer, ToolCall
from holdfast.session import resume as resuming


def resume(
    call: ToolCall,
    session: Annotated[str | None, Field(description="Default: the newest here.")] = None,
    issue: Annotated[str | None, Field(description="The issue you work on.")] = None,
    characters: Annotated[int | None, Field(ge=400, description="Length limit.")] = None,
    accept_foreign: Annotated[bool, Field(description="Continue although FOREIGN.")] = False,
) -> ToolAnswer:
    """Read what the last session left: a verdict (CLEAN, UNKNOWN, STALE, DRIFTED, FOREIGN) and the text to
    continue from. Call it at the start, unless that text is already in your context."""
    found = resuming.resume(
        call.workspace,
        {
            "session": session or "",
            "issue": issue or "",
            "budget": characters or 0,
        },
        now=call.now,
    )
    if not accept_foreign:
        resuming.refuse_foreign(found)
    reasons = [f"  {reason['what']}" for reason in found["reasons"]]
    return ToolAnswer([*call.stopped(), found["verdict"], *reasons, "", found["pack"]], {**found})
