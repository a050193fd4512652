"""Ctrl+C: once ends a run in good order, twice ends it now; AMB-PILOT-24."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

INTERRUPTED = 130
SIGNS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """How often somebody asked us to stop. `descriptor` can be read once they did."""

    def __init__(self) -> None:
        self.count = 0
        self.descriptor, self._write = os.pipe()
        # While a person is asked at the terminal, an interrupt has to end the reading, too.
        self.is_asking = False
        self.at_once: Callable[[], None] = lambda: None

    def listen(self, at_once: Callable[[], None]) -> None:
        """Hear the signals; `at_once` is what the second one does before we are gone."""
        self.at_once = at_once
        for sign in SIGNS:
            signal.signal(sign, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            try:
                self.at_once()
            finally:
                os._exit(INTERRUPTED)
        os.write(self._write, b"!")
        if self.is_asking:
            raise KeyboardInterrupt

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._write)
