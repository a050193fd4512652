"""The tools `checkpoint` and `resume`, and the prompt `continuation`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from holdfast.kernel.errors import NotAllowed
from holdfast.kernel.text import safe
from holdfast.mcp.call import ToolAnswer, ToolCall, prompt, tool
from holdfast.session import checkpoint as capture
from holdfast.session import claims as probes
from holdfast.session import progress_document, sessions
from holdfast.session import resume as resuming
from holdfast.session.rules import report
from holdfast.session.rules.fields import GIVEN

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Request
    from holdfast.session.rules.report import Step

# Probes that start no program. This process may run outside the sandbox of its caller.
HARMLESS = ("file", "commit", "clean")
NO_COMMIT = "No commit was made: `holdfast checkpoint` in a shell makes it."


def _add_fields(work: Callable[..., ToolAnswer]) -> Callable[..., ToolAnswer]:
    """Give a tool an argument for each field of a checkpoint that the table describes for it."""
    signature = inspect.signature(work)
    call, *others = signature.parameters.values()
    added = []
    for field in GIVEN:
        if field.tool:
            kind: Any = list[str] | None if field.is_list else str | None
            added.append(Parameter(field.keyword, Parameter.KEYWORD_ONLY, default=None))
            work.__annotations__[field.keyword] = Annotated[kind, Field(description=field.tool)]
    named = [one for one in others if one.kind is not Parameter.VAR_KEYWORD]
    work.__signature__ = signature.replace(parameters=[call, *added, *named])  # type: ignore[attr-defined]
    return work


@_add_fields
def checkpoint(
    call: ToolCall,
    *,
    files: Annotated[list[str] | None, Field(description="Files in scope.")] = None,
    claims: Annotated[
        dict[str, str] | None,
        Field(description="Claim to probe: file:PATH, commit:ID, clean."),
    ] = None,
    reason: Literal["session-split", "context-threshold", "handoff"] = "handoff",
    session: Annotated[str | None, Field(description="Default: current.")] = None,
    tracker: Annotated[bool, Field(description="Update the issue's comment.")] = True,
    **fields: Any,
) -> ToolAnswer:
    """Save this session's progress so that another can continue it. Call it before the context is full, at a
    handoff, when told to stop. Omitted fields stay."""
    request: Request = {
        "profile": "manual",
        "reason": reason,
        "session": sessions.check_id(session or ""),
        "given": progress_document.read_arguments(fields, "checkpoint"),
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
    session: Annotated[str | None, Field(description="Default: newest.")] = None,
    issue: Annotated[str | None, Field(description="Your issue.")] = None,
    characters: Annotated[int | None, Field(ge=400)] = None,
    accept_foreign: Annotated[bool, Field(description="Continue although FOREIGN.")] = False,
) -> ToolAnswer:
    """Read what the last session left: a verdict (CLEAN, UNKNOWN, STALE, DRIFTED, FOREIGN) and the text to
    continue from. Call it at the start, unless you have that text."""
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


def continuation(
    call: ToolCall,
    session: Annotated[str, Field(description="Session id. Default: the newest here.")] = "",
) -> str:
    """Continue where the last session here stopped."""
    found = resuming.resume(call.workspace, {"session": session}, now=call.now)
    resuming.refuse_foreign(found)
    return safe("\n".join([*call.stop_lines(), found["pack"]]))


TOOLS = [
    tool(checkpoint, reaches_out=True),
    tool(resume, reads_only=True),
    prompt(continuation),
]
