"""The tools `checkpoint` and `resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from holdfast.kernel.errors import NotAllowed
from holdfast.mcp.call import ToolAnswer, ToolCall
from holdfast.session import checkpoint as capture
from holdfast.session import claims as probes
from holdfast.session import progress_document, sessions
from holdfast.session import resume as resuming
from holdfast.session.rules import report

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request
    from holdfast.session.rules.report import Step

# Probes that start no program. This process may run outside the sandbox of its caller.
HARMLESS = ("file", "commit", "clean")
NO_COMMIT = "No commit was made: `holdfast checkpoint` in a shell makes it."


def checkpoint(
    call: ToolCall,
    task: Annotated[str | None, Field(description="Current task.")] = None,
    status: Annotated[str | None, Field(description="How far it is.")] = None,
    next: Annotated[str | None, Field(description='Specific next action; "" clears.')] = None,
    done: Annotated[list[str] | None, Field(description="Tasks finished.")] = None,
    remaining: Annotated[
        list[str] | None, Field(description="Tasks left; replaces the list.")
    ] = None,
    decisions: Annotated[list[str] | None, Field(description='New ones, "what: why".')] = None,
    blockers: Annotated[
        list[str] | None, Field(description='"what (unblocked by: x)"; replaces the list.')
    ] = None,
    files: Annotated[list[str] | None, Field(description="Files in scope.")] = None,
    issue: Annotated[str | None, Field(description="ENG-12 or #12.")] = None,
    title: Annotated[str | None, Field(description="Issue title.")] = None,
    claims: Annotated[
        dict[str, str] | None,
        Field(description="Claim to probe: file:PATH, commit:ID, clean."),
    ] = None,
    reason: Literal["session-split", "context-threshold", "handoff"] = "handoff",
    session: Annotated[str | None, Field(description="Default: the current one.")] = None,
    tracker: Annotated[bool, Field(description="Update the issue's comment.")] = True,
) -> ToolAnswer:
    """Save this session's progress (.ccc-progress.md) so that a new session can continue it. Call it before
    the context is full, at a handoff, and when told to stop. Omitted fields keep their value."""
    document = {
        "current": task,
        "status": status,
        "next": next,
        "done": done,
        "remaining": remaining,
        "decisions": decisions,
        "blockers": blockers,
        "issue": issue,
        "title": title,
    }
    given, _ = progress_document.read({k: v for k, v in document.items() if v is not None})
    request: Request = {
        "profile": "manual",
        "reason": reason,
        "session": sessions.check_id(session or ""),
        "given": given,
        "files": files or [],
        "claims": [_claim(text, probe) for text, probe in (claims or {}).items()],
        "skip_git": True,
        "skip_tracker": "" if tracker else "--skip-tracker",
    }
    workspace = call.workspace_for(capture.checkpoint)
    result = capture.checkpoint(workspace, request, actor=call.actor, now=call.now)
    data: dict[str, Any] = {name: value for name, value in result.items() if name != "lines"}
    lines = [*call.stop_lines(), result["report"], NO_COMMIT]
    lines += [step["message"] for step in result["steps"] if _matters(step)]
    lines += [f"warning: {one}" for one in result["warnings"] if one not in lines]
    return ToolAnswer([*lines, "Continuation prompt:", result["prompt"]], data)


def _claim(text: str, probe: str) -> dict[str, Any]:
    parsed = probes.parse(probe)
    if not set(parsed).issubset(HARMLESS):
        raise NotAllowed(
            f"The probe {probe!r:.80} starts a program; no tool does that.",
            hint="Give it in a shell: holdfast checkpoint --claim TEXT PROBE",
            kind="starts_a_program",
        )
    return {"claim": text, "probe": parsed}


def _matters(step: Step) -> bool:
    """All steps but the commit, which NO_COMMIT describes."""
    return bool(step["message"]) and step["name"] != report.SNAPSHOT


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
        call.workspace_for(resuming.resume),
        {
            "session": session or "",
            "issue": issue or "",
            "budget": characters or 0,
            "accept_foreign": accept_foreign,
        },
        now=call.now,
    )
    if not accept_foreign:
        resuming.refuse_foreign(found)
    lines = [*call.stop_lines(), *resuming.verdict_above(found), found["pack"]]
    return ToolAnswer(lines, {**found})
