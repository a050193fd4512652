"""Run the doctor in a thread beside the page, which shows the last result meanwhile.

A check of 100,000 records takes 2.6 seconds, because it verifies every hash.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import discover
from holdfast.maintenance import doctor
from holdfast.web.workspaces import look_at

if TYPE_CHECKING:
    from holdfast.maintenance.doctor import Check
    from holdfast.web.workspaces import ServedWorkspace

# Seconds: for so long a page waits for quick ones, and after so many each is done again.
PATIENCE, LASTS = 0.25, 30.0
# A check that takes long is made less often.
SHARE = 20


class DoctorResult(NamedTuple):
    """The result of one visit of the doctor."""

    checks: list[Check]
    at: str
    took: float
    ended: float


class Examination:
    """The doctor's visits to one workspace, one at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._newest: DoctorResult | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def newest(self, patience: float) -> tuple[DoctorResult | None, bool]:
        """The last result, and whether a visit is under way. The first call waits a little for a
        result."""
        known = self._newest
        if known is None or time.monotonic() - known.ended > max(LASTS, known.took * SHARE):
            self._begin()
            if known is None:
                self._ended.wait(patience)
        return self._newest, self._thread is not None and self._thread.is_alive()

    def _begin(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._ended.clear()
            # Not waited for at the end of the page: it only reads, and its files go with the process.
            self._thread = threading.Thread(target=self._look, name="holdfast-doctor", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        with _one_at_a_time:
            self._examine()

    def _examine(self) -> None:
        began = time.monotonic()
        checks: list[Check] = []
        try:
            workspace = discover(self._root)
            look_at(workspace)
            checks = doctor.examine(workspace, clock.now())
            workspace.close()
        except (HoldfastError, OSError) as error:
            said = getattr(error, "message", str(error))
            hint = getattr(error, "hint", "")
            checks = [
                {"id": "workspace", "status": "problem", "what": said, "why": "", "fix": hint, "fixed": ""}
            ]  # fmt: skip
        finally:
            ended = time.monotonic()
            self._newest = DoctorResult(checks, clock.stamp(clock.now()), ended - began, ended)
            self._ended.set()


_one_at_a_time = threading.Lock()
_examinations: WeakKeyDictionary[ServedWorkspace, Examination] = WeakKeyDictionary()


def examination(place: ServedWorkspace) -> Examination:
    """The examination of a workspace."""
    return _examinations.setdefault(place, Examination(place.root))
