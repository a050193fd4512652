"""Clients' questions among all that waits for a person: for `holdfast gate` and the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.answers.answer import (
    ReplyRequest,
    describe,
    find_question,
    list_open,
    refused_attempts,
    reply_to,
)
from holdfast.answers.rules import questions as rules
from holdfast.clients.table import title_of
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.text import command

if TYPE_CHECKING:
    from holdfast.answers.rules.questions import Question
    from holdfast.kernel.workspace import Workspace


def list_sessions(workspace: Workspace, now: int) -> dict[str, str]:
    """Return the sessions whose client asks something that can be answered elsewhere, with the question's id."""
    return {one["session"]: one["id"] for one in list_open(workspace, now)}


def list_rows(workspace: Workspace, now: int) -> list[dict[str, str]]:
    """Return the questions that wait: what is asked, by whom, since when."""
    return [
        {
            "id": one["id"],
            "title": one["asks"],
            "at": one["at"],
            "by": f"{title_of(one['client'])} {one['session'][:8]}",
            "folder": one["folder"],
        }
        for one in list_open(workspace, now)
    ]


def show(workspace: Workspace, id: str, now: int) -> tuple[dict[str, object], list[str]] | None:
    """Return a question as data and as lines; None where the id is no question's."""
    question = _find(workspace, id, now)
    if question is None:
        return None
    refused = refused_attempts(workspace, question["id"])
    lines = [*describe(question), ""]
    if outcome := rules.outcome_of(question):
        lines.append(f"Over: {outcome}")
    else:
        lines.append(f"Answer: {_how_to(question)}")
    lines += [f"Refused at {one['at']}: {one['why']}" for one in refused]
    return {**question, "refused": refused}, lines


def reply(
    workspace: Workspace, id: str, text: str | None, refusal: str | None, now: int
) -> tuple[dict[str, object], list[str]] | None:
    """Record a person's answer at this terminal; None where the id is no question's."""
    question = _find(workspace, id, now)
    if question is None:
        return None
    if text is None and refusal is None:
        raise Usage("An answer is needed.", hint=_how_to(question))
    verdict, chosen = rules.DENY, []
    if refusal is None:
        verdict = str(text)
        if question["choices"] and verdict != rules.LEAVE:
            verdict, chosen = rules.CHOOSE, [[part] for part in str(text).split("; ")]
    request = ReplyRequest(
        question=question["id"], verdict=verdict, text=refusal or "", chosen=chosen
    )
    answered = reply_to(workspace, request, now=now)
    return {**answered}, [f"Answered {answered['id']}: {rules.outcome_of(answered)}"]


def _find(workspace: Workspace, id: str, now: int) -> Question | None:
    try:
        return find_question(workspace, id, now=now)
    except NotFound:
        return None


def _how_to(question: Question) -> str:
    begin = command("gate", "answer", question["id"])
    if question["choices"]:
        return f'{begin} "THE OPTION" (of several questions, with "; " between them); {begin} leave'
    return f"{begin} allow; {begin} --no WHY; {begin} leave"
