"""Measure in a thread what sessions spent: a page never waits for a long transcript."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, NamedTuple

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.session.spending import account
from holdfast.web.workspaces import look_at

EVERY = 3.0
# A session that no page showed for this long is no longer measured.
KEPT_SECONDS = 600.0


class Figures(NamedTuple):
    """What one session spent; None is unknown, never 0."""

    cost: float | None = None
    at_least: float = 0.0
    sure: str = "unknown"
    context: float | None = None

    def data(self) -> dict[str, Any]:
        return self._asdict()


class SpendingSource(NamedTuple):
    """A session to measure, by its transcript or by its id."""

    root: str
    transcript: str
    session: str


class SpendingMeter:
    """The newest figures of all sessions. `version` grows whenever one of them changes."""

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()
        self._wanted: dict[SpendingSource, float] = {}
        self._figures: dict[SpendingSource, Figures] = {}
        self._seen: dict[SpendingSource, tuple[int, int]] = {}
        self._last = 0.0
        self._stopped = False

    def figures(self, root: str, *, transcript: str = "", session: str = "") -> Figures:
        """The figures that were measured last; unknown ones for a session that was not measured
        yet."""
        wanted = SpendingSource(root, transcript, session)
        if not transcript and not session:
            return Figures()
        with self._lock:
            self._wanted[wanted] = time.monotonic()
            return self._figures.get(wanted, Figures())

    def is_due(self) -> bool:
        return bool(self._wanted) and time.monotonic() - self._last > EVERY

    def stop(self) -> None:
        self._stopped = True

    def refresh(self) -> None:
        """Measure the sessions whose transcripts changed."""
        self._last = time.monotonic()
        with self._lock:
            for wanted, asked in list(self._wanted.items()):
                if self._last - asked > KEPT_SECONDS:
                    del self._wanted[wanted]
                    self._figures.pop(wanted, None)
            jobs = list(self._wanted)
        for wanted in jobs:
            if self._stopped:
                return
            seen = _changed(wanted.transcript)
            if seen is not None and self._seen.get(wanted) == seen:
                continue
            figures = _measured(wanted)
            with self._lock:
                if seen is not None:
                    self._seen[wanted] = seen
                if self._figures.get(wanted, Figures()) != figures:
                    self._figures[wanted] = figures
                    self.version += 1
        self._last = time.monotonic()


def _measured(wanted: SpendingSource) -> Figures:
    try:
        workspace = discover(wanted.root)
        look_at(workspace)
        spent = account(
            workspace, session=wanted.session, transcript=wanted.transcript, now=clock.now()
        )["spent"]
        workspace.close()
    except (HoldfastError, OSError, ValueError):
        return Figures()
    context = spent["context_percent"]
    return Figures(spent["cost"], spent["cost_at_least"], spent["sure"], context)


def _changed(path: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(path) if path else None
    except (OSError, ValueError):
        return None
    return (seen.st_mtime_ns, seen.st_size) if seen else None
