"""The tool `reason`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from holdfast.kernel.errors import Usage
from holdfast.mcp.call import Answer, Call, needed
from holdfast.rfc.bootstrap import bootstrap
from holdfast.rfc.checkpoints import Answers, transition, write
from holdfast.rfc.questions import questions
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules.answers import LARGEST_ANSWERS
from holdfast.rfc.rules.transitions import TRANSITIONS

Do = Literal["questions", "write", "transition", "bootstrap"]
Group = Literal["discover", "design", "gate-b", "review"]


def reason(
    call: Call,
    do: Annotated[Do, Field(description="bootstrap: the text after a restart.")],
    rfc: Annotated[str | None, Field(description="Needed if there are several.")] = None,
    group: Annotated[Group | None, Field(description="questions, write: which.")] = None,
    answers: Annotated[
        str | None,
        Field(description="Markdown: ### headings, a bullet a line."),
    ] = None,
    transition: Annotated[
        str | None, Field(description=f"One of {', '.join(TRANSITIONS)}.")
    ] = None,
    to: Annotated[
        Literal["design", "discover"] | None, Field(description="gate-b-fail: a detour.")
    ] = None,
    pressure: Annotated[
        int | None, Field(ge=0, le=100, description="Percent of context in use.")
    ] = None,
) -> Answer:
    """Keep the reasoning behind an RFC (.ohrfc, begun with `holdfast rfc init`) across phases: ask
    for the questions, write your answers, make the transition, read the bootstrap after a restart."""
    if do == "questions":
        found = questions(call.workspace, needed(group, "group"), rfc or "")
        return Answer(found["prompt"].split("\n"), {**found})
    with Reader(call.workspace) as reader:
        id = reader.named(rfc or "")
    if do == "bootstrap":
        text = bootstrap(call.workspace, id)
        lines = [*call.stopped(), *(f"warning: {one}" for one in text["warnings"]), text["text"]]
        return Answer(lines, {**text})
    if do == "write":
        return _write(call, id, needed(group, "group"), _answers(needed(answers, "answers")))
    given = None if answers is None else _answers(answers)
    return _move(call, id, needed(transition, "transition"), to or "", pressure, given)


def _write(call: Call, id: str, group: str, answers: Answers) -> Answer:
    done = write(call.workspace, id, group, answers, actor=call.actor, now=call.now)
    call.refuse_stopped("What you wrote is saved.")
    outcome = done["outcome"]
    if outcome is not None and outcome["queued"]:
        return Answer([_QUEUED], {"id": id, "queued": outcome["queued"]})
    said = f"Wrote {id} checkpoint version {done['version']}: {done['lines']} lines."
    dropped = [f"Left out to stay within the budget: {one}." for one in done["dropped"]]
    warnings = [f"warning: {one}" for one in done["warnings"]]
    return Answer([said, *dropped, *warnings], {**done})


def _move(
    call: Call, id: str, name: str, to: str, pressure: int | None, answers: Answers | None
) -> Answer:
    call.refuse_stopped()
    done = transition(
        call.workspace,
        id,
        name,
        to=to,
        pressure=pressure,
        answers=answers,
        actor=call.actor,
        now=call.now,
    )
    if done["outcome"] is not None and done["outcome"]["queued"]:
        return Answer([_QUEUED], {"id": id, "queued": done["outcome"]["queued"]})
    advice = done["advice"]
    lines = [f"{id}: {advice['source']} to {advice['target']}."]
    lines += [f"Answers are owed first: write {done['owed']}."] if done["owed"] else []
    lines += [f"Restart the context: {'yes' if advice['restart'] else 'no'} ({advice['why']})."]
    lines += [f"warning: {one}" for one in done["warnings"]]
    return Answer(lines, {**done})


_QUEUED = "Queued in .holdfast/inbox: the journal cannot be written from here."


def _answers(text: str) -> Answers:
    if len(text.encode()) > LARGEST_ANSWERS:
        raise Usage(
            f"answers has more than {LARGEST_ANSWERS} bytes.",
            hint="Signals over transcripts: one line a bullet.",
        )
    # A model is the compressor itself, and no tool starts a program.
    return Answers(text, source="answers", compress=False)
