"""The server's clock, as this machine can follow it: by the time since boot, which nobody sets."""

from __future__ import annotations

import time

# It counts on while a laptop sleeps; where it is unknown, the other one does so.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Anchor:
    """What the server's clock said, and the time since boot when it did; both in milliseconds."""

    __slots__ = ("elapsed", "server")

    def __init__(self, server: int, elapsed: int) -> None:
        self.server = server
        self.elapsed = elapsed

    def now(self) -> int:
        return self.server + since_boot() - self.elapsed


def since_boot() -> int:
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000
