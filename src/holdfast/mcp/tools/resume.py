"""The tool `resume`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.mcp.call import Answer, Call
from holdfast.session import resume as resuming


def resume(
    call: Call,
    session: Annotated[str | None, Field(description="Else this worktree's.")] = None,
    issue: Annotated[str | None, Field(description="The issue to work on.")] = None,
    characters: Annotated[int | None, Field(ge=400, description="At most so many.")] = None,
    accept_foreign: Annotated[bool, Field(description="Continue FOREIGN work here.")] = False,
) -> Answer:
    """What an earlier session left: a verdict (CLEAN, DRIFTED, STALE, FOREIGN) and one bounded text
    to go on from. At the start, unless that text stands in your context already."""
    found = resuming.resume(
        call.workspace,
        {
            "session": session or "",
            "issue": issue or "",
            "budget": characters or 0,
            # Stored probes may be any command.
            "probe": False,
        },
        now=call.now,
    )
    if not accept_foreign:
        resuming.refuse_foreign(found)
    reasons = [f"  {reason['what']}" for reason in found["reasons"]]
    return Answer([*call.stopped(), found["verdict"], *reasons, "", found["pack"]], {**found})
