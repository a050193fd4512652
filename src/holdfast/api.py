"""The library: what `import holdfast` gives a programmer."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.workspace import discover
from holdfast.note.rules.note import stream_of
from holdfast.streams import actor as user
from holdfast.streams import open_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from holdfast.budgets.api import Budgets
    from holdfast.budgets.check import Report
    from holdfast.fleet.api import Member
    from holdfast.gates.api import Gates
    from holdfast.journal.interface import Journal, Record
    from holdfast.kernel.commit import Outcome
    from holdfast.loop.api import Loop
    from holdfast.plans.api import Plans
    from holdfast.rfc.api import Rfc


class Workspace:
    """A workspace, opened. Use it as a context manager, or close it when done."""

    def __init__(self, folder: str | None = None, *, actor: str = "") -> None:
        self._workspace = discover(folder)
        self._writer = open_writer(self._workspace)
        self._actor = actor or user()

    @property
    def root(self) -> str:
        """The top folder of this worktree."""
        return self._workspace.root

    @property
    def journal(self) -> Journal:
        """The journal itself, for reading."""
        return self._workspace.journal

    def note(self, text: str, *, name: str = "default", id: str = "") -> Outcome:
        """Leave a note, durably. The same `id` again changes nothing."""
        command = {"add": text, "by": self._actor}
        return self._writer.execute(
            stream_of(name), command, actor=self._actor, now=clock.now(), id=id
        )

    def loop(self, track: str) -> Loop:
        """A track of `conductor/tracks`, to take its steps one by one."""
        from holdfast.loop.api import Loop
        from holdfast.loop.location import TrackFolder
        from holdfast.loop.track import Track

        place = TrackFolder(self._workspace, track)
        return Loop(Track(self._workspace, self._writer, place, actor=self._actor))

    def agent(self, agent: str, *, feature: str = "", epic: str = "") -> Member:
        """An agent that this program is; use it in a `with` statement."""
        from holdfast.fleet.api import Member

        return Member(self._workspace, agent, feature=feature, epic=epic, actor=self._actor)

    @property
    def gates(self) -> Gates:
        """Questions for people: `gates.verify(built=..., how=[...]).wait()`."""
        from holdfast.gates.api import Gates

        return Gates(self._workspace, actor=self._actor)

    @property
    def plans(self) -> Plans:
        """Plans in waves: `plans.run(["plans"])`, `plans.resume()`, `plans.show()`."""
        from holdfast.plans.api import Plans

        return Plans(self._workspace, self._writer, actor=self._actor)

    def check(self, *, session: str = "", **values: float) -> Report:
        """Whether work may go on within its budget: `verdict` is go, wait or stop. What is not given
        (cost, context, estimated, actual, errors) is measured."""
        return self.budgets.check(session=session, **values)

    @property
    def budgets(self) -> Budgets:
        """Limits that warn, ask a person, and stop: `budgets.check()`, `budgets.add(cost=0.4)`."""
        from holdfast.budgets.api import Budgets

        return Budgets(self._workspace, actor=self._actor)

    def rfc(self, id: str) -> Rfc:
        """The RFC with this id: its questions, its checkpoint, its bootstrap."""
        from holdfast.rfc.api import Rfc

        return Rfc(self._workspace, id, actor=self._actor)

    def history(self, *, stream: str = "", limit: int = 50) -> list[Record]:
        """What happened, newest first; `stream` may end in `*`."""
        return self._workspace.journal.latest(stream=stream, limit=limit)

    def close(self) -> None:
        """Let go of the journal."""
        self._workspace.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open(folder: str | None = None, *, actor: str = "") -> Workspace:
    """The workspace of a folder, by default of the current one."""
    return Workspace(folder, actor=actor)
