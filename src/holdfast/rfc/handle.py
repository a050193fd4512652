"""One RFC, as a programmer holds it."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.rfc import beginning, bootstrap, checkpoints
from holdfast.rfc.checkpoints import Answers
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import stream_of
from holdfast.rfc.rules.prompts import prompt
from holdfast.rfc.rules.transitions import group_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.beginning import Begun
    from holdfast.rfc.checkpoints import Moved, Written
    from holdfast.rfc.rules.bootstrap import Bootstrap


class Rfc:
    """An RFC of a workspace, which need not exist yet: `begin` makes it."""

    def __init__(self, workspace: Workspace, id: str, *, actor: str) -> None:
        stream_of(id)
        self.id = id
        self._workspace = workspace
        self._actor = actor

    def begin(self, *, title: str = "", strictness: str = "standard") -> Begun:
        """Make its folder and files, in the phase discover."""
        return beginning.begin(
            self._workspace,
            self.id,
            title=title,
            strictness=strictness,
            actor=self._actor,
            now=clock.now(),
        )

    def prompt(self, group: str) -> str:
        """The questions for `discover`, `design`, `gate-b` or `review`."""
        with Reader(self._workspace) as reader:
            return prompt(group_for(reader.state(self.id)[0], group))

    def write(
        self, group: str, answers: str, *, lenient: bool = False, accept_versions: bool = False
    ) -> Written:
        """Take answers, in Markdown or JSON, into the checkpoint."""
        return checkpoints.write(
            self._workspace,
            self.id,
            group,
            Answers(answers, source="answers", lenient=lenient),
            actor=self._actor,
            now=clock.now(),
            accept_versions=accept_versions,
        )

    def transition(
        self,
        name: str,
        *,
        to: str = "",
        restart: bool | None = None,
        pressure: int | None = None,
        answers: str | None = None,
        accept_versions: bool = False,
    ) -> Moved:
        """Leave a phase; the answer says whether to write and whether to restart."""
        given = None if answers is None else Answers(answers, source="answers")
        return checkpoints.transition(
            self._workspace,
            self.id,
            name,
            to=to,
            restart=restart,
            pressure=pressure,
            answers=given,
            actor=self._actor,
            now=clock.now(),
            accept_versions=accept_versions,
        )

    def bootstrap(self, *, hand_over: Callable[[Bootstrap], None] | None = None) -> Bootstrap:
        """Everything that a fresh context needs, with `text` to read. Writes nothing."""
        return bootstrap.bootstrap(self._workspace, self.id, hand_over=hand_over)
