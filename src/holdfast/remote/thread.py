"""Run forwarders in the threads of a process that runs anyway, such as the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from holdfast.kernel import clock, failures
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.remote.forwarder import Forwarder

# Seconds after which a place is tried again that another forwarder held.
AGAIN_SECONDS = 30.0


@contextmanager
def run_forwarders(folders: Sequence[str]) -> Iterator[None]:
    """Forward for every workspace whose journal is on a server, as long as the block runs."""
    ended = threading.Event()
    threads = [
        threading.Thread(target=_forward, args=(folder, ended), name=f"forwarder {folder}")
        for folder in folders
        if _has_server(folder)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _has_server(folder: str) -> bool:
    try:
        return bool(discover(folder).url)
    except HoldfastError:
        return False  # every command on that workspace says it


def _forward(folder: str, ended: threading.Event) -> None:
    while not ended.is_set():
        try:
            forwarder = Forwarder(folder, stays=True)
            forwarder.ended = ended
            forwarder.run()
        except HoldfastError as error:
            failures.note(discover(folder), "forwarder", error.message, clock.now())
        ended.wait(AGAIN_SECONDS)
