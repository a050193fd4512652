"""What executes a task: a port, its implementation with processes of this machine, and the choice of one.

The runner decides and records; an executor only carries out. It may lose work, run it twice or report it
late: the run's stream accepts the completion of each start once, or not at all.

A program that reaches a Dask scheduler runs code as its owner, because tasks are pickled Python. So a plain
connection is for this machine alone, and every other needs certificates on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.redact import Redactor
from holdfast.kernel.workspace import Workspace
from holdfast.plans.rules.run_model import RunState
from holdfast.plans.runs import RunFolder
from holdfast.processes.distribution import install_command
from holdfast.processes.programs import Programs
from holdfast.processes.supervisor import Ended, Job
from holdfast.registry import load


class TaskWork(Job):
    """One start of one task. `needs` are the resources that it asks of a machine, by name."""

    needs: Mapping[str, float]


LOCAL = "local"
CLUSTER = "holdfast.contrib.cluster.executor:DaskCluster"
PLAIN, SECURE = "tcp", "tls"
PORT = 8786
ADDRESS_HINT = "Such as tls://scheduler.example:8786, tcp://127.0.0.1:8786, or local."
CERTIFICATES_HINT = "docs/how-to/cluster.md shows how certificates are made."


class Executor(Protocol):
    """Executes tasks. `mark` names a start."""

    def start(self, work: TaskWork) -> None: ...
    def wait(self, seconds: float, *others: int) -> list[Ended]:
        """The starts that ended. Returns as soon as one ended, or a descriptor of `others` can be
        read."""

    def release(self, mark: str) -> None:
        """End what a start left in the background."""

    def end(self, *, now: bool = False) -> list[Ended]:
        """End everything, and return when it has ended."""

    def end_leftovers(self, marks: Sequence[str]) -> int:
        """End what an earlier runner of this run left behind; `marks` are its starts without an end.
        Return how many there were."""

    def placed(self) -> list[tuple[str, str]]:
        """The starts whose machine became known since the last call: mark and machine."""

    @property
    def at_work(self) -> int: ...
    @property
    def alive(self) -> int:
        """How many starts have processes left, also in the background."""

    @property
    def address(self) -> str:
        """The address of the cluster; empty for this machine."""

    @property
    def waits(self) -> str:
        """What is missing when starts do not begin; empty when nothing is."""


class LocalExecutor(Programs):
    """Processes of this machine, one keeper for each start."""

    address = ""
    waits = ""

    def __init__(self, place: RunFolder, redactor: Redactor) -> None:
        super().__init__(redactor)
        self._place = place

    def end_leftovers(self, marks: Sequence[str]) -> int:
        return len(self._place.end_leftovers())

    def placed(self) -> list[tuple[str, str]]:
        return []


# Where a run is carried out


class Certificates(NamedTuple):
    """Files: the CA to trust, our certificate, and its key. Empty: Dask's own settings count."""

    ca: str = ""
    cert: str = ""
    key: str = ""


def read_address(on: str, certificates: Certificates) -> str:
    """The address of the scheduler; empty for this machine. An address over which others could run code
    is refused."""
    on = on.strip()
    if on in ("", LOCAL):
        _refuse_missing(LOCAL, certificates)
        return ""
    try:
        parts = urlsplit(on)
        host, port = parts.hostname or "", parts.port or PORT
    except ValueError:
        raise Usage(f"{on!r:.80} is no address of a scheduler.", hint=ADDRESS_HINT) from None
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme not in (PLAIN, SECURE) or not host or more:
        raise Usage(f"{on!r:.80} is no address of a scheduler.", hint=ADDRESS_HINT)
    if parts.scheme == PLAIN and not is_this_machine(host):
        raise Usage(
            f"tcp:// to {host:.80} is refused: Dask carries pickled code, so a program that reaches the "
            "scheduler, or stands between, runs code as you.",
            hint=f"Use tls:// with certificates. {CERTIFICATES_HINT}",
            kind="not_encrypted",
        )
    _refuse_missing(parts.scheme, certificates)
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}"


def is_this_machine(host: str) -> bool:
    """Whether a host is a loopback address or `localhost`. Names are not looked up: the answer could
    change."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_missing(scheme: str, certificates: Certificates) -> None:
    if scheme != SECURE and any(certificates):
        raise Usage("--tls-ca, --tls-cert and --tls-key are for --on tls://...", hint=ADDRESS_HINT)
    if any(certificates) and not all(certificates):
        raise Usage("--tls-ca, --tls-cert and --tls-key belong together: all three, or none.")
    for path in certificates:
        if path and not os.path.isfile(path):
            raise Usage(f"There is no file {path}.", hint=CERTIFICATES_HINT)


class Cluster(Protocol):
    """An open connection to a cluster."""

    def open(self) -> None: ...
    def close(self) -> None: ...
    def count_slots(self) -> int | None:
        """Return how many tasks run at the same time; None where that is not known."""

    def make_executor(
        self, place: RunFolder, redactor: Redactor, state: RunState, settings: Mapping[str, Any]
    ) -> Executor: ...


@contextmanager
def open_cluster(
    workspace: Workspace, on: str | None, certificates: Certificates, *, alone: bool = False
) -> Iterator[Cluster | None]:
    """Connect to the cluster at an address [default: the setting `plan.on`]; None for this machine. Dask
    is loaded only for a cluster. `alone`: no other code in this process needs the log of Dask."""
    if on is None:
        on = config.load(workspace, workspace.journal)["plan.on"]
    at = read_address(on, certificates)
    if not at:
        yield None
        return
    try:
        cluster: Cluster = load(CLUSTER)(at, certificates, is_quiet=alone)
    except ModuleNotFoundError as error:
        raise HoldfastError(
            f"--on {on} needs Dask, which is not installed ({error}).",
            hint=install_command("cluster"),
            kind="not_installed",
        ) from error
    try:
        cluster.open()
        yield cluster
    finally:
        cluster.close()
