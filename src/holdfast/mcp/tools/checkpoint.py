"""The tool `checkpoint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from holdfast.kernel.errors import NotAllowed
from holdfast.mcp.call import Answer, Call
from holdfast.session import checkpoint as capture
from holdfast.session import claims as probes
from holdfast.session import progress_document, sessions
from holdfast.session.rules import report

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request
    from holdfast.session.rules.report import Step

# Probes that start no program. This process may stand outside of the sandbox that its caller is in.
HARMLESS = ("file", "commit", "clean")
NO_COMMIT = "No commit was made: `holdfast checkpoint` in a shell makes it."


def checkpoint(
    call: Call,
    task: Annotated[str | None, Field(description="The task at hand.")] = None,
    status: Annotated[str | None, Field(description="How far it is.")] = None,
    next: Annotated[str | None, Field(description="The next action, specific.")] = None,
    done: Annotated[list[str] | None, Field(description="Tasks finished since.")] = None,
    remaining: Annotated[list[str] | None, Field(description="What is left; replaces all.")] = None,
    decisions: Annotated[list[str] | None, Field(description='"what: why", new ones.')] = None,
    blockers: Annotated[
        list[str] | None, Field(description='"what (unblocked by: x)"; [] clears.')
    ] = None,
    files: Annotated[list[str] | None, Field(description="Files in scope.")] = None,
    issue: Annotated[str | None, Field(description="Such as ENG-12 or #12.")] = None,
    title: Annotated[str | None, Field(description="The issue's title.")] = None,
    claims: Annotated[
        dict[str, str] | None,
        Field(description="Claim to probe: file:PATH, commit:ID or clean."),
    ] = None,
    reason: Literal["session-split", "context-threshold", "handoff"] = "handoff",
    session: Annotated[str | None, Field(description="Else the one at work here.")] = None,
    tracker: Annotated[bool, Field(description="Update the issue's comment.")] = True,
) -> Answer:
    """Save this session's progress durably (.ccc-progress.md) so that a fresh context can go on.
    Before the context runs out, at a handoff, when told to stop. What is left out stays as it was."""
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
    lines = [*call.stopped(), result["report"], NO_COMMIT]
    lines += [step["message"] for step in result["steps"] if _matters(step)]
    lines += [f"warning: {one}" for one in result["warnings"] if one not in lines]
    return Answer([*lines, "Continuation prompt:", result["prompt"]], data)


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
    """Of the commit all is said."""
    return bool(step["message"]) and step["name"] != report.SNAPSHOT
