"""A run as its runner holds it: its stream with a fence on every write, its folder, and its lock."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from holdfast.kernel import clock
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.errors import Conflict, StoreAway
from holdfast.kernel.lock import WorkspaceLock
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.state import fold
from holdfast.plans import lookup
from holdfast.plans.rules import run as rules
from holdfast.processes.lease import is_held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from holdfast.journal.interface import Record
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.rules.run_model import RunLife, RunState

FOLDER = "plans"


class RunFolder:
    """Where one run keeps what is no record, outside the work tree: its lease, its programs' notes and
    their output."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self.id = id
        self.stream = rules.stream_of(id)
        self.own = os.path.join(workspace.home, FOLDER, id)
        self.lease = os.path.join(self.own, "run")
        self.jobs = os.path.join(self.own, "jobs")
        self.logs = os.path.join(self.own, "logs")
        self._lack = os.path.join(self.own, "lack")

    def log(self, name: str) -> str:
        return os.path.join(self.logs, os.path.basename(name))

    def write_lack(self, text: str) -> None:
        """What the run's tasks wait for, for a person who looks while it runs; empty when nothing is lacking."""
        with suppress(OSError):  # said to the watcher, too; a full disk must not end the run
            if text:
                with open(self._lack, "w", encoding="utf-8") as file:
                    file.write(text)
            else:
                os.unlink(self._lack)

    def lack(self) -> str:
        try:
            return read_plain(self._lack).decode(errors="replace")
        except OSError:
            return ""


class RunStream:
    """One life of a run. The next life takes the stream from this one."""

    def __init__(self, writer: Writer, place: RunFolder, *, actor: str) -> None:
        self.writer = writer
        self.place = place
        self.actor = actor
        self.fence: int | None = None
        self.state: RunState = lookup.read(writer.workspace, place.id)

    def live(self, life: RunLife) -> None:
        """Begin a life: from here on, every earlier runner is refused."""
        order = Order(self.place.stream, {"do": "live", "life": life}, grant=True)
        outcome = execute_now(self.writer, order, actor=self.actor)
        self.fence = outcome["fence"]
        self.state = lookup.read(self.writer.workspace, self.place.id)

    def execute(self, command: dict[str, Any]) -> Sequence[Record]:
        """Write down what happened; the records. FenceLost when another runner has the run."""
        outcome = self.writer.execute(
            self.place.stream,
            rules.RunnerCommand(command),
            actor=self.actor,
            now=clock.now(),
            fence=self.fence,
        )
        _refuse_queued(outcome["queued"])
        self.state = fold(rules, self.state, outcome["records"])
        return outcome["records"]


def execute_now(writer: Writer, order: Order, *, actor: str) -> Outcome:
    """Now or not at all: left in the inbox, a run would begin long after the person asked for it."""
    order.command = rules.RunnerCommand(order.command)  # type: ignore[arg-type]
    try:
        (outcome,) = commit(writer, [order], actor=actor, now=clock.now())
    except StoreAway as error:
        raise (away() if error.kind == "read_only" else error) from error
    return outcome


def _refuse_queued(queued: str) -> None:
    if queued:
        raise away()


def away() -> StoreAway:
    """A run is only begun and gone on with where every step of it can be recorded."""
    return StoreAway(
        "The journal cannot be written from here, so a run could not be resumed.",
        hint="Run it where the journal is writable.",
        kind="read_only",
    )


# One at a time


@contextmanager
def one_at_a_time(workspace: Workspace) -> Iterator[None]:
    """Of two that begin the same plans at once, one finds the other's run; of two waypoints in one
    second, the second finds the first."""
    lock = WorkspaceLock(os.path.join(workspace.home, FOLDER))
    try:
        lock.acquire()
    except OSError as error:
        raise away() from error
    try:
        yield
    finally:
        lock.release()


def refuse_alive(workspace: Workspace, paths: Collection[str], *, but: str = "") -> None:
    """Two runs of one plan file would write over each other's work."""
    for state in lookup.unfinished(workspace):
        shared = [path for path in lookup.paths_of(state) if path in paths]
        if state["id"] == but or not shared:
            continue
        holder = is_held(RunFolder(workspace, state["id"]).lease)
        if holder:
            raise Conflict(
                f"{shared[0]} is being run already: by the run {state['id']}, process {holder}.",
                hint=f"`holdfast plan show {state['id']}` shows it; let it end, or interrupt it.",
                kind="running",
            )
