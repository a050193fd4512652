"""One RFC, as a programmer holds it."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.protocols.rfc import stream_of
from holdfast.protocols.rfc.prompts import prompt
from holdfast.protocols.rfc.transitions import group_for
from holdfast.rfcs import beginning, bootstrap, checkpoints
from holdfast.rfcs.checkpoints import Answers
from holdfast.rfcs.reading import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.kernel.workspace import Workspace
    from holdfast.protocols.rfc.bootstrap import Bootstrap
    from holdfast.rfcs.beginning import Begun
    from holdfast.rfcs.checkpoints import Moved, Written


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
