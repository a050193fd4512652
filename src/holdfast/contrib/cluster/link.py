"""The connection to a scheduler: opened, watched, and opened again after it broke."""

from __future__ import annotations

import logging
import os
import pkgutil
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from distributed import Client, Future, Security

from holdfast.contrib.cluster.worker import TOPIC, WorkAnswer, Worker, WorkOrder, carry_out, key_of
from holdfast.kernel.errors import HoldfastError, NotAllowed, StoreAway, Usage
from holdfast.plans.executors import CERTIFICATES_HINT, SECURE, Certificates
from holdfast.version import __version__

CONNECT_SECONDS = 10.0
# For what the scheduler, or all workers, are asked beside the tasks.
ANSWER_SECONDS = 10.0
LOOK_SECONDS = 3.0
KNOCK_SECONDS = 3.0
ASKED = (pkgutil.resolve_name, "holdfast.version:__version__")
NOISY = ("client", "core", "comm", "batched", "worker", "utils", "utils_comm")


class Link:
    """One scheduler, for one runner."""

    def __init__(self, address: str, certificates: Certificates) -> None:
        self.address = address
        self._security = _security(address, certificates)
        self._client: Any = None
        self._connection: Any = None
        self._futures: dict[str, Any] = {}
        # What came in on Dask's own thread: ends of starts, and where those are that go on.
        self._arrived: deque[tuple[str, WorkAnswer | BaseException]] = deque()
        self._told: deque[Mapping[str, str]] = deque()
        self.wake_descriptor, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        os.set_blocking(self.wake_descriptor, False)

    @property
    def is_open(self) -> bool:
        """Whether the connection is the one that `open` made. Dask's client connects again by itself,
        and a new connection knows none of our starts."""
        client = self._client
        return (
            client is not None
            and client.status == "running"
            and client.scheduler_comm is self._connection
        )

    def open(self) -> None:
        """Connect. Refused when no scheduler answers."""
        self.drop()
        try:
            # Dask tries again for all of its time; a closed port is known at once.
            parts = urlsplit(self.address)
            socket.create_connection((parts.hostname, parts.port), KNOCK_SECONDS).close()
            self._client = Client(
                self.address,
                security=self._security,
                timeout=CONNECT_SECONDS,
                set_as_default=False,
                direct_to_workers=False,
                name="holdfast",
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise self._translate(error) from error
        self._connection = self._client.scheduler_comm
        self._client.subscribe_topic(TOPIC, self._take_report)

    def _translate(self, error: BaseException) -> HoldfastError:
        text = f"{error} {error.__cause__ or ''}"
        if "certificate" in text.lower() or "ssl" in text.lower():
            return NotAllowed(
                f"The scheduler at {self.address} and we do not trust each other's certificates.",
                hint=f"Both must be signed by the one authority that both name. {CERTIFICATES_HINT}",
                kind="certificate",
            )
        return StoreAway(
            f"No scheduler answers at {self.address}.",
            hint="Start one with `dask scheduler`, or run with --on local.",
            kind="scheduler_away",
        )

    def refuse_unfit(self) -> None:
        """Check before the first task that the scheduler and every worker have this version of holdfast,
        because both unpickle what is sent. The question itself needs only the standard library. A worker
        that is gone is ignored."""
        found = {"the scheduler": self._version_there(), **(self.run(*ASKED) or {})}
        unfit = []
        for who, version in found.items():
            if isinstance(version, ImportError):
                unfit.append(f"{who} has no holdfast")
            elif isinstance(version, str) and version != __version__:
                unfit.append(f"{who} has holdfast {version}")
        if unfit:
            raise HoldfastError(
                f"The scheduler or a worker cannot read what is sent: {'; '.join(unfit[:5])}.",
                hint=f"Install holdfast {__version__} where the scheduler and the workers run.",
                kind="unfit_worker",
            )

    def _version_there(self) -> object:
        """The version that the scheduler has, or the error of its import."""
        client = self._client
        try:
            return client.sync(client._run_on_scheduler, *ASKED, callback_timeout=ANSWER_SECONDS)
        except ImportError as error:
            return error
        except (OSError, TimeoutError, ValueError, AttributeError) as error:
            raise self._translate(error) from error

    # Starts

    def submit(self, order: WorkOrder) -> bool:
        """Send one start. Return whether there was a scheduler to send it to. Dask may run it twice; the
        run's stream counts it once."""
        client = self._client
        if not self.is_open:
            return False
        mark, needs = order["work"]["mark"], dict(order["work"]["needs"])
        try:
            future = client.submit(
                carry_out,
                order,
                key=key_of(order["run"], mark),
                pure=False,
                retries=0,
                resources=needs or None,
                allow_other_workers=False,
            )
        except Exception:
            if client.status == "running":
                raise
            return False  # it went away just now
        self._futures[mark] = future
        client.loop.add_callback(self._follow, mark, future, client)
        return True

    async def _follow(self, mark: str, future: Any, client: Any) -> None:
        """On Dask's thread: wait for an end, and wake the runner."""
        try:
            answer = await client.gather(future, asynchronous=True)
        except BaseException as error:
            answer = error
        self._arrived.append((mark, answer))
        with suppress(BlockingIOError):  # the pipe is full: the runner wakes up already
            os.write(self._wake_writer, b"!")

    def take_ends(self) -> list[tuple[str, WorkAnswer | BaseException]]:
        """The ends that came in since the last call."""
        with suppress(BlockingIOError):
            os.read(self.wake_descriptor, 4096)
        found = [self._arrived.popleft() for _ in range(len(self._arrived))]
        for mark, _ in found:
            self._futures.pop(mark, None)
        return found

    def take_reports(self) -> list[Mapping[str, str]]:
        """What workers reported of starts that go on, since the last call."""
        return [self._told.popleft() for _ in range(len(self._told))]

    def _take_report(self, event: Any) -> None:
        if isinstance(event[1], dict) and "mark" in event[1]:
            self._told.append(event[1])

    def cancel(self, run: str, marks: Sequence[str]) -> None:
        """Make the scheduler forget these starts, even if another client waits for them."""
        if not marks or not self.is_open:
            return
        futures = [
            self._futures.pop(mark, None) or Future(key_of(run, mark), self._client)
            for mark in marks
        ]
        self._ask(lambda: self._client.cancel(futures, force=True))

    # Workers

    def workers(self) -> list[Worker] | None:
        """The workers that are connected to the scheduler; None when it does not answer."""
        client, which = self._client, {"n_workers": -1, "callback_timeout": LOOK_SECONDS}
        found = self._ask(lambda: client.sync(client.scheduler.identity, **which))
        if found is None:
            return None
        return [
            {
                "name": str(one["name"]),
                "address": address,
                "host": one["host"],
                "threads": one["nthreads"],
                "resources": one["resources"],
            }
            for address, one in found["workers"].items()
        ]

    def run(
        self, function: Callable[..., Any], *words: Any, seconds: float = ANSWER_SECONDS
    ) -> dict[str, Any] | None:
        """Call a function on every worker, beside its tasks. Return the answer or the error of each;
        None when one did not answer in time."""
        client = self._client
        if not self.is_open:
            return None
        answered: dict[str, Any] | None = self._ask(
            lambda: client.sync(
                client._run, function, *words, on_error="return", callback_timeout=seconds
            )
        )
        return answered

    def _ask(self, call: Callable[[], Any]) -> Any:
        """The answer of the scheduler; None when it is away, which `is_open` tells later."""
        try:
            return call()
        except (OSError, TimeoutError, ValueError, AttributeError):
            return None

    # The end of a connection

    def drop(self) -> list[str]:
        """Forget a broken connection. Return the starts that are lost with it."""
        lost = list(self._futures)
        self._futures.clear()
        client, self._client = self._client, None
        if client is not None:
            closing = threading.Thread(target=_close, args=(client,), daemon=True)
            closing.start()
            closing.join(timeout=1.0)
        return lost

    def close(self) -> None:
        self.drop()
        os.close(self.wake_descriptor)
        os.close(self._wake_writer)


def _close(client: Any) -> None:
    try:
        client.close(timeout=1.0)
    except (OSError, TimeoutError, RuntimeError, AttributeError):
        pass  # it is as good as closed


def _security(address: str, certificates: Certificates) -> Any:
    """Our certificate and the CA to trust; None for a plain connection."""
    if not address.startswith(SECURE):
        return None
    if any(certificates):
        return Security(
            tls_ca_file=certificates.ca,
            tls_client_cert=certificates.cert,
            tls_client_key=certificates.key,
            require_encryption=True,
        )
    security = Security(require_encryption=True)
    if not security.tls_ca_file:
        raise Usage(
            "tls:// needs certificates: the CA to trust, and our own.",
            hint=f"Give --tls-ca, --tls-cert and --tls-key, or set Dask's own. {CERTIFICATES_HINT}",
            kind="no_certificates",
        )
    return security


def silence_dask() -> None:
    """Switch off the log of Dask in our own program, which reports broken connections itself."""
    for name in ("distributed", *(f"distributed.{one}" for one in NOISY), "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
