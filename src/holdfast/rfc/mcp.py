"""The tool `reason`, and the prompt `extraction`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from holdfast.kernel.inbox import QUEUED
from holdfast.mcp.call import ToolAnswer, ToolCall, prompt, require, tool
from holdfast.rfc.bootstrap import bootstrap
from holdfast.rfc.reader import context_of
from holdfast.rfc.rules.transitions import TRANSITIONS
from holdfast.rfc.write import Answers, TransitionRequest, WriteRequest, ask, transition, write

Do = Literal["questions", "write", "transition", "bootstrap"]
Group = Literal["discover", "design", "gate-b", "review"]


def reason(
    call: ToolCall,
    do: Do,
    rfc: Annotated[str | None, Field(description="RFC id, if there are several.")] = None,
    group: Annotated[Group | None, Field(description="questions, write.")] = None,
    answers: Annotated[
        str | None, Field(description="Markdown: ### headings, one bullet a line.")
    ] = None,
    transition: Annotated[
        str | None, Field(description=f"One of {', '.join(TRANSITIONS)}.")
    ] = None,
    to: Annotated[
        Literal["design", "discover"] | None, Field(description="gate-b-fail: a detour.")
    ] = None,
    pressure: Annotated[int | None, Field(ge=0, le=100, description="Context in use, %.")] = None,
) -> ToolAnswer:
    """Keep an RFC's reasoning (.ohrfc) across phases: read the questions, write answers, make the transition,
    read the bootstrap after a restart."""
    if do == "questions":
        found = ask(call.workspace, require(group, "group"), rfc or "")
        return ToolAnswer(found["prompt"].split("\n"), {**found})
    if do == "bootstrap":
        text = bootstrap(call.workspace, rfc or "")
        warnings = [f"warning: {one}" for one in text["warnings"]]
        return ToolAnswer([*call.stop_lines(), *warnings, text["text"]], {**text})
    if do == "write":
        given = Answers(text=require(answers, "answers"))
        asked = require(group, "group")
        return _write(call, WriteRequest(id=rfc or "", group=asked, answers=given))
    request = TransitionRequest(
        id=rfc or "",
        name=require(transition, "transition"),
        to=to or "",
        pressure=pressure,
        answers=None if answers is None else Answers(text=answers),
    )
    return _move(call, request)


def _write(call: ToolCall, request: WriteRequest) -> ToolAnswer:
    done = write(context_of(call), request)
    call.refuse_stopped("What you wrote is saved.")
    outcome = done["outcome"]
    if outcome is not None and outcome["queued"]:
        return ToolAnswer([QUEUED], {"id": done["id"], "queued": outcome["queued"]})
    lines = [f"Wrote {done['id']} checkpoint version {done['version']}: {done['lines']} lines."]
    lines += [f"Left out to stay within the budget: {one}." for one in done["dropped"]]
    return ToolAnswer(lines, {**done}, warnings=done["warnings"])


def _move(call: ToolCall, request: TransitionRequest) -> ToolAnswer:
    call.refuse_stopped()
    done = transition(context_of(call), request)
    if done["outcome"] is not None and done["outcome"]["queued"]:
        return ToolAnswer([QUEUED], {"id": done["id"], "queued": done["outcome"]["queued"]})
    advice = done["advice"]
    lines = [f"{done['id']}: {advice['source']} to {advice['target']}."]
    lines += [f"Answers are owed first: write {done['owed']}."] if done["owed"] else []
    lines += [f"Restart the context: {'yes' if advice['restart'] else 'no'} ({advice['why']})."]
    return ToolAnswer(lines, {**done}, warnings=done["warnings"])


def extraction(
    call: ToolCall,
    group: Annotated[str, Field(description="discover, design, gate-b or review.")],
    rfc: Annotated[str, Field(description="RFC id, if there are several.")] = "",
) -> str:
    """The questions that keep an RFC's reasoning at a phase boundary."""
    return ask(call.workspace, group, rfc)["prompt"]


TOOLS = [tool(reason), prompt(extraction)]
