"""What the live views of a plan's run and of a loop share."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

from holdfast.cli.frame import print_json, warn
from holdfast.cli.terminal import style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


class RunWatch:
    """Shows a run on standard error; with `--json`, one object a line on standard output."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self._as_json = as_json
        self._quiet = quiet
        self._lives = not as_json and not quiet and sys.stderr.isatty()
        self._begun = time.monotonic()

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return style(f"{seconds // 60:02d}:{seconds % 60:02d}", dim=True)

    def _print_json(self, event: Mapping[str, Any]) -> None:
        print_json(event)
        sys.stdout.flush()

    @contextmanager
    def _although_unread(self) -> Iterator[None]:
        """Go on when the output cannot be written: a run does not end because its reader did."""
        stream = sys.stdout if self._as_json else sys.stderr
        try:
            yield
        except OSError as error:
            # What is left in the buffer would fail again at every later word.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(error, BrokenPipeError) and stream is sys.stdout:
                warn(f"What happens cannot be printed: {error.strerror}. The run goes on.")
