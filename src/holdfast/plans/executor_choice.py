"""Choosing what carries a run out: this machine, or the cluster that `--on` names."""

from __future__ import annotations

from contextlib import contextmanager

from holdfast.kernel.errors import HoldfastError
from holdfast.plans.cluster import address as addresses
from holdfast.plans.executors import LocalExecutor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from holdfast.kernel.writer import Writer
    from holdfast.plans.cluster.address import Certificates
    from holdfast.plans.cluster.link import Link
    from holdfast.plans.executors import Executor
    from holdfast.plans.rules.run_model import RunState
    from holdfast.plans.run_folder import Place


@contextmanager
def cluster(on: str, certificates: Certificates, *, alone: bool = False) -> Iterator[Link | None]:
    """The cluster at an address, for as long as a run lasts; None for this machine. Dask is loaded only
    when there is one. `alone`: nobody else in this process has a use for what Dask logs."""
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
