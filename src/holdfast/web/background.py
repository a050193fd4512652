"""What threads do beside the page: measure what sessions spent, search the sessions that clients left in a
folder, take in the inboxes of sandboxed agents, and run the doctor. A page never waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from holdfast.hooks.question_notices import wake_tellers
from holdfast.kernel import clock, inbox
from holdfast.kernel.commit import take_in
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import worktrees
from holdfast.maintenance import doctor
from holdfast.parts import Check, fail
from holdfast.people import page_open
from holdfast.usage.usage_limits import list_limited
from holdfast.web.readers import (
    BoardSession,
    CostReader,
    Figures,
    FiguresReader,
    FolderReader,
    SessionReader,
    SessionView,
)
from holdfast.web.workspaces import ServedWorkspace, Site, opened_to_read

if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.usage.spending import SessionCosts


MEASURE_SECONDS = 3.0
# What no page showed for this long is no longer read.
KEPT_SECONDS = 600.0
INBOX_SECONDS = 1.0
# Seconds: for so long a page waits for quick ones, and after so many each is done again.
PATIENCE, LASTS = 0.25, 30.0
# A check that takes long is made less often.
SHARE = 20


R = TypeVar("R", bound="Reader")


class Reader(Protocol):
    """What reads beside the page: `refresh` says whether its view changed, and the page is made again."""

    def refresh(self, now: int) -> bool: ...


class SpendingMeter:
    """The readers of all that pages ask for. `version` grows whenever the view of one of them changes."""

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()
        # Each with the time at which a page last asked for it.
        self._readers: dict[tuple[object, ...], tuple[Any, float]] = {}
        self._last = 0.0
        self._has_new = False
        self._stopped = False

    def figures(self, root: str, *, transcript: str = "", session: str = "") -> Figures:
        """The figures that were measured last; unknown ones for a session that was not measured
        yet."""
        if not transcript and not session:
            return Figures()
        return self.watch(FiguresReader, root, transcript, session).view

    def found(self, root: str) -> list[BoardSession] | None:
        """The newest sessions of all clients in this folder; None while they are not known yet."""
        return self.watch(FolderReader, root).view

    def session(self, root: str, session: str, *, recorded: bool) -> SessionView | None:
        """What the transcript of a session says; None before it was read."""
        return self.watch(SessionReader, root, session, recorded).view

    def costs(self, root: str) -> list[SessionCosts] | None:
        """What the newest sessions of this folder spent; None before that was read."""
        return self.watch(CostReader, root).view

    def watch(self, kind: type[R], *about: Any) -> R:
        """Return the reader that does this already, or a new one."""
        with self._lock:
            known = self._readers.get((kind, *about))
            self._has_new |= known is None
            reader: R = known[0] if known else kind(*about)
            self._readers[kind, *about] = (reader, time.monotonic())
        return reader

    def is_due(self) -> bool:
        """What a page asks for the first time is read at once, everything else every few seconds."""
        is_late = time.monotonic() - self._last > MEASURE_SECONDS
        return self._has_new or (bool(self._readers) and is_late)

    def stop(self) -> None:
        self._stopped = True

    def refresh(self) -> None:
        """Read what changed in the clients' files."""
        self._last = time.monotonic()
        with self._lock:
            self._has_new = False
            for key, (_, asked) in list(self._readers.items()):
                if self._last - asked > KEPT_SECONDS:
                    del self._readers[key]
            readers = [reader for reader, _ in self._readers.values()]
        # A board may show hundreds of figures, and the rest must not wait for them.
        for reader in sorted(readers, key=lambda one: isinstance(one, FiguresReader)):
            if self._stopped:
                return
            self.version += reader.refresh(clock.now())
        self._last = time.monotonic()


def tell_of_resets(site: Site) -> None:
    """Start the processes that tell people of the reset of a usage limit, where none waits for it."""
    _visit(site, lambda one: wake_tellers(one, list_limited(one, clock.now())))


def note_open(site: Site) -> None:
    """Let the hooks of each workspace know that a person can be reached at this page."""
    _visit(site, page_open.note_open)


def note_closed(site: Site) -> None:
    """Let them know that the page has ended."""
    _visit(site, page_open.note_closed)


def _visit(site: Site, work: Callable[[Workspace], object]) -> None:
    for place in site:
        # The board says what is wrong with a workspace.
        with suppress(HoldfastError, OSError, ValueError), opened_to_read(place.root) as workspace:
            work(workspace)


class Inboxes:
    """The inboxes of all worktrees of some workspaces."""

    def __init__(self, places: Sequence[ServedWorkspace]) -> None:
        self._places = places
        self._last = 0.0

    def is_due(self) -> bool:
        return time.monotonic() - self._last > INBOX_SECONDS

    def take_in(self) -> None:
        """Execute what waits. A command that fails stays; `holdfast doctor` names those that are
        refused."""
        self._last = time.monotonic()
        for one in self._places:
            if one.is_away:
                continue
            with suppress(HoldfastError, OSError):
                # Refused where the journal is missed, also since a look: no new one begins there.
                workspace = one.open()
                places = worktrees(workspace)
                if any(inbox.list_waiting(place) for place in places):
                    take_in(open_writer(workspace), places)
                workspace.close()


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
        checks: list[Check] = []
        with _one_at_a_time:
            began = time.monotonic()
            try:
                with opened_to_read(self._root) as workspace:
                    checks = doctor.examine(workspace, clock.now())
            except (HoldfastError, OSError) as error:
                checks = [fail("workspace", str(error), why="", fix=getattr(error, "hint", ""))]
            finally:
                ended = time.monotonic()
                self._newest = DoctorResult(checks, clock.stamp(clock.now()), ended - began, ended)
                self._ended.set()


_one_at_a_time = threading.Lock()
_examinations: WeakKeyDictionary[ServedWorkspace, Examination] = WeakKeyDictionary()


def examination(place: ServedWorkspace) -> Examination:
    """The examination of a workspace."""
    return _examinations.setdefault(place, Examination(place.root))
