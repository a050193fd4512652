"""One RFC for programs: `holdfast.open().rfc("auth-model")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.kernel import clock
from holdfast.offers import Offers
from holdfast.rfc import bootstrap as bootstrapping
from holdfast.rfc.init import InitResult, close, init
from holdfast.rfc.reader import RfcContext
from holdfast.rfc.rules.model import stream_of
from holdfast.rfc.write import (
    Answers,
    TransitionRequest,
    TransitionResult,
    WriteRequest,
    WriteResult,
    ask,
    transition,
    write,
)

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.bootstrap import Bootstrap


class Rfc:
    """An RFC of a workspace. It need not exist yet: `begin` makes it."""

    def __init__(self, workspace: Workspace, id: str, *, actor: str) -> None:
        stream_of(id)
        self.id = id
        self._workspace = workspace
        self._actor = actor

    def _context(self) -> RfcContext:
        return RfcContext(self._workspace, self._actor, clock.now())

    def begin(self, *, title: str = "", strictness: str = "standard") -> InitResult:
        """Make its folder and files, in the phase discover."""
        return init(self._context(), self.id, title=title, strictness=strictness)

    def prompt(self, group: str) -> str:
        """The questions for `discover`, `design`, `gate-b` or `review`."""
        return ask(self._workspace, group, self.id)["prompt"]

    def write(
        self, group: str, answers: str, *, lenient: bool = False, accept_versions: bool = False
    ) -> WriteResult:
        """Write answers, in Markdown, into the checkpoint."""
        request = WriteRequest(
            id=self.id,
            group=group,
            answers=Answers(text=answers, lenient=lenient),
            accept_versions=accept_versions,
        )
        return write(self._context(), request)

    def transition(
        self,
        name: str,
        *,
        to: str = "",
        restart: bool | None = None,
        pressure: int | None = None,
        answers: str | None = None,
        accept_versions: bool = False,
    ) -> TransitionResult:
        """Leave a phase. The result says whether to write and whether to restart."""
        request = TransitionRequest(
            id=self.id,
            name=name,
            to=to,
            restart=restart,
            pressure=pressure,
            answers=None if answers is None else Answers(text=answers),
            accept_versions=accept_versions,
        )
        return transition(self._context(), request)

    def close(self, *, reopen: bool = False) -> None:
        """End it without its being accepted, or open it again. Its files stay as they are."""
        close(self._context(), self.id, reopen=reopen)

    def bootstrap(self, *, hand_over: Callable[[Bootstrap], None] | None = None) -> Bootstrap:
        """Read everything that a fresh context needs; `text` is the whole. Writes nothing."""
        return bootstrapping.bootstrap(self._workspace, self.id, hand_over=hand_over)


def rfc(opened: Offers, id: str) -> Rfc:
    """Return the RFC with this id: its questions, its checkpoint, its bootstrap."""
    return Rfc(opened.place, id, actor=opened.actor)
