"""Clients' questions for programs: `workspace.questions.list()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.answers.answer import ReplyRequest, list_open, reply_to
from holdfast.kernel import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.answers.rules.questions import Question
    from holdfast.kernel.workspace import Workspace


class Questions:
    """What the clients of a workspace ask their person, and can be answered elsewhere."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._workspace = workspace

    def list(self) -> list[Question]:
        """Return the questions that wait, the longest waiting first."""
        return list_open(self._workspace, clock.now())

    def answer(
        self, id: str, verdict: str, *, text: str = "", chosen: Sequence[Sequence[str]] = ()
    ) -> Question:
        """Answer as the person at the terminal of this process; NotAllowed without one."""
        request = ReplyRequest(question=id, verdict=verdict, text=text, chosen=chosen)
        return reply_to(self._workspace, request, now=clock.now())
