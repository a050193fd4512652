"""Schedulers and workers of Dask, each a process of its own, forked from one that has loaded Dask.

`python nursery.py`: one JSON object a line on standard input says what to start, one number a line on
standard output is its process. All of them end with this one. Loading Dask takes a second or two, and
a test of restarts needs it half a dozen times.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import signal
import sys
from typing import Any

from distributed import Scheduler, Security, Worker

_DEATH_SIGNAL = 1
_NEW_MOUNTS, _PRIVATE = 0x00020000, (1 << 14) | (1 << 18)


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            _become(order)
        print(child, flush=True)


def _become(order: dict[str, Any]) -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(order["folder"])
    if order.get("hide"):
        _hide(order["hide"])
    os.environ.update(order.get("environment", {}))
    logging.getLogger("distributed").setLevel(logging.INFO)
    if "version" in order:
        _be_of(order["version"])
    try:
        asyncio.run(_scheduler(order) if order["do"] == "scheduler" else _worker(order))
    finally:
        os._exit(0)


def _hide(path: str) -> None:
    """From here on, as on a machine that does not have this folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.unshare(_NEW_MOUNTS) == 0
    made = made and libc.mount(b"none", b"/", None, _PRIVATE, None) == 0
    made = made and libc.mount(b"tmpfs", path.encode(), b"tmpfs", 0, None) == 0
    if not made:
        os._exit(1)


def _security(order: dict[str, Any]) -> Security | None:
    tls = order.get("tls")
    if not tls:
        return None
    named = {"tls_ca_file": tls["ca"], "require_encryption": True}
    for role in ("scheduler", "worker", "client"):
        named |= {f"tls_{role}_cert": tls["cert"], f"tls_{role}_key": tls["key"]}
    return Security(**named)


async def _scheduler(order: dict[str, Any]) -> None:
    protocol = "tls" if order.get("tls") else "tcp"
    async with Scheduler(
        host=f"{protocol}://127.0.0.1",
        port=order["port"],
        security=_security(order),
        dashboard=False,
        dashboard_address=None,
    ) as scheduler:
        await scheduler.finished()


def _be_of(version: str) -> None:
    """Have another holdfast than the one that is tested, or none."""
    if version == "none":
        sys.modules["holdfast"] = None  # type: ignore[assignment]
        return
    import holdfast.version

    holdfast.version.__version__ = version


async def _worker(order: dict[str, Any]) -> None:
    async with Worker(
        order["address"],
        nthreads=order["threads"],
        name=order["name"],
        resources=order["needs"],
        local_directory=order["folder"],
        security=_security(order),
        dashboard=False,
        dashboard_address=None,
    ) as worker:
        await worker.finished()


if __name__ == "__main__":
    main()
