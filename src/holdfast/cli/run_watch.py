"""What a command that runs programs tells meanwhile: a line for each event, or one object a line for programs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from holdfast.cli.frame import print_json, warn
from holdfast.cli.terminal import style


class RunWatch:
    """Shows a run on standard error; with `--json`, one object a line on standard output."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self._as_json = as_json
        self._quiet = quiet
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
                warn(f"What happens cannot be printed: {error.strerror}. The run continues.")
