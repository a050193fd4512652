"""Running a run to its end, on this machine or on the cluster that `--on` names."""

from __future__ import annotations

from contextlib import contextmanager

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.plans import lookup
from holdfast.plans.cluster import address as addresses
from holdfast.plans.executors import LocalExecutor
from holdfast.plans.interrupts import Interrupts
from holdfast.plans.news import Halted, Nobody
from holdfast.plans.run_folder import Place
from holdfast.plans.runner import Runner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from holdfast.budgets.rules.thresholds import Limits
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.plans.cluster.address import Certificates
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.executors import Executor
    from holdfast.plans.goals import OnGoals
    from holdfast.plans.news import Attendant, Tell
    from holdfast.plans.rules.run_model import RunState


class Outcome:
    """How far a run came: its state, and why it stands still (`halted`), None when it is done."""

    def __init__(self, runner: Runner, halted: Halted | None) -> None:
        self.state = runner.state
        self.halted = halted
        self.alerts = runner.budget.alerts
        self.cost = runner.budget.cost


def run_to_end(
    writer: Writer,
    id: str,
    *,
    actor: str,
    link: Link | None,
    jobs: int | None = None,
    edited: str = "",
    limits: Limits | None = None,
    on_goals: OnGoals | None = None,
    tell: Tell = lambda *_: None,
    attendant: Attendant | None = None,
    before_exit: Callable[[], None] | None = None,
) -> Outcome:
    """Run it until it ends or stands still. With `before_exit` Ctrl+C is heard: the first one ends the
    run in good order, the second at once, after this function was called."""
    workspace = writer.workspace
    place, interrupts = Place(workspace, id), Interrupts()
    settings = config.load(workspace, workspace.journal)
    executor = executor_of(link, writer, place, lookup.read(workspace, id), settings)
    if before_exit is not None:

        def end_at_once() -> None:
            before_exit()
            executor.end(now=True)

        interrupts.listen(end_at_once)
    runner = Runner(
        *(writer, place, executor),
        actor=actor,
        tell=tell,
        attendant=attendant or Nobody(),
        interrupts=interrupts,
        jobs=jobs or slots(link),
        limits=limits or {},
        edited=edited,
        on_goals=on_goals,
    )
    try:
        runner.to_the_end()
    except Halted as halted:
        return Outcome(runner, halted)
    finally:
        if before_exit is None:  # else a late signal may still be heard
            interrupts.close()
    return Outcome(runner, None)


@contextmanager
def cluster(
    workspace: Workspace, on: str | None, certificates: Certificates, *, alone: bool = False
) -> Iterator[Link | None]:
    """The cluster at an address, or where the setting `plan.on` says; None for this machine. It is
    there for as long as a run lasts, and Dask is loaded only when there is one. `alone`: nothing else
    in this process has a use for what Dask logs."""
    if on is None:
        on = config.load(workspace, workspace.journal)["plan.on"]
    at = addresses.read(on, certificates)
    if not at:
        yield None
        return
    try:
        from holdfast.plans.cluster.link import Link, hush

        if alone:
            hush()
        link = Link(at, certificates)
    except ModuleNotFoundError as error:
        raise HoldfastError(
            f"--on {on} needs Dask, which is not installed ({error}).",
            hint="pip install 'holdfast[cluster]'",
            kind="not_installed",
        ) from error
    try:
        link.open()
        yield link
    finally:
        link.close()


def executor_of(
    link: Link | None,
    writer: Writer,
    place: Place,
    state: RunState,
    settings: Mapping[str, Any],
) -> Executor:
    """What carries out a run's starts."""
    if link is None:
        return LocalExecutor(place, writer.redactor)
    from holdfast.plans.cluster.courier import Courier
    from holdfast.plans.cluster.executor import ClusterExecutor

    root, by_git = state["root"], state["options"]["worktrees"]
    courier = Courier(root, place.id, settings["plan.remote"]) if by_git else None
    return ClusterExecutor(link, place, writer.redactor, folder=root, courier=courier)


def slots(link: Link | None) -> int | None:
    """How many tasks a cluster carries out at the same time; None where the settings say it."""
    if link is None:
        return None
    return sum(worker["threads"] for worker in link.workers() or ()) or None
