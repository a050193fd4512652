"""What threads do beside the page: measure what sessions spent, search the sessions that clients left in a
folder, take in the inboxes of sandboxed agents, and run the doctor. A page never waits for them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar
from weakref import WeakKeyDictionary

from holdfast.hooks.question_notices import wake_tellers
from holdfast.kernel import clock, inbox
from holdfast.kernel.commit import take_in
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.workspace import worktrees
from holdfast.maintenance import doctor
from holdfast.maintenance.checks import Check, fail
from holdfast.session.session_list import list_sessions
from holdfast.session.spending import account
from holdfast.session.usage_limits import list_limited
from holdfast.streams import open_writer
from holdfast.web.session_reader import CostReader, SessionReader, SessionView
from holdfast.web.workspaces import ServedWorkspace, Site, opened_to_read

if TYPE_CHECKING:
    from holdfast.session.spending import SessionCosts

MEASURE_SECONDS = 3.0
# A session that no page showed for this long is no longer measured.
KEPT_SECONDS = 600.0
# How often the clients' folders are searched, and how many sessions of a workspace are shown.
SEARCH_EVERY, MOST_FOUND = 20.0, 5
INBOX_SECONDS = 1.0
# Seconds: for so long a page waits for quick ones, and after so many each is done again.
PATIENCE, LASTS = 0.25, 30.0
# A check that takes long is made less often.
SHARE = 20


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


class BoardSession(TypedDict):
    """A session that a client left in a folder. `is_recorded`: the journal knows it."""

    session: str
    client: str
    is_recorded: bool
    seen_at: str
    request: str
    edits: int
    open_tasks: int


R = TypeVar("R", SessionReader, CostReader)


class SpendingMeter:
    """The newest figures of all sessions, and the sessions found in the folders that a page asks about.
    `version` grows whenever one of them changes."""

    def __init__(self) -> None:
        self.version = 0
        self._lock = threading.Lock()
        self._wanted: dict[SpendingSource, float] = {}
        self._figures: dict[SpendingSource, Figures] = {}
        self._seen: dict[SpendingSource, tuple[int, int]] = {}
        self._folders: dict[str, float] = {}
        self._found: dict[str, tuple[float, list[BoardSession]]] = {}
        self._readers: dict[SessionReader | CostReader, float] = {}
        self._last = 0.0
        self._has_new = False
        self._stopped = False

    def figures(self, root: str, *, transcript: str = "", session: str = "") -> Figures:
        """The figures that were measured last; unknown ones for a session that was not measured
        yet."""
        wanted = SpendingSource(root, transcript, session)
        if not transcript and not session:
            return Figures()
        with self._lock:
            self._has_new |= wanted not in self._wanted
            self._wanted[wanted] = time.monotonic()
            return self._figures.get(wanted, Figures())

    def found(self, root: str) -> list[BoardSession] | None:
        """The newest sessions of all clients in this folder; None while they are not known yet."""
        with self._lock:
            self._has_new |= root not in self._folders
            self._folders[root] = time.monotonic()
            known = self._found.get(root)
            return known[1] if known else None

    def session(self, root: str, session: str, *, recorded: bool) -> SessionView | None:
        """What the transcript of a session says; None before it was read."""
        return self._watch(SessionReader(root, session, recorded)).view

    def costs(self, root: str) -> list[SessionCosts] | None:
        """What the newest sessions of this folder spent; None before that was read."""
        return self._watch(CostReader(root)).view

    def _watch(self, wanted: R) -> R:
        """The reader that does this already, or a new one."""
        with self._lock:
            known = next((one for one in self._readers if one == wanted), wanted)
            self._has_new |= known is wanted
            self._readers[known] = time.monotonic()
        return known  # type: ignore[return-value]

    def is_due(self) -> bool:
        """What a page asks for the first time is measured at once, everything else every few seconds."""
        is_late = time.monotonic() - self._last > MEASURE_SECONDS
        has_work = bool(self._wanted or self._folders or self._readers)
        return self._has_new or (has_work and is_late)

    def stop(self) -> None:
        self._stopped = True

    def refresh(self) -> None:
        """Measure the sessions whose transcripts changed."""
        self._last = time.monotonic()
        with self._lock:
            self._has_new = False
            for wanted, asked in list(self._wanted.items()):
                if self._last - asked > KEPT_SECONDS:
                    del self._wanted[wanted]
                    self._figures.pop(wanted, None)
            for root, asked in list(self._folders.items()):
                if self._last - asked > KEPT_SECONDS:
                    del self._folders[root]
                    self._found.pop(root, None)
            for reader, asked in list(self._readers.items()):
                if self._last - asked > KEPT_SECONDS:
                    del self._readers[reader]
            readers = list(self._readers)
            jobs = list(self._wanted)
            folders = [
                root
                for root in self._folders
                if self._last - self._found.get(root, (float("-inf"), []))[0] > SEARCH_EVERY
            ]
        for root in folders:
            self._search(root)
        for reader in readers:
            if not self._stopped and reader.refresh(clock.now()):
                self.version += 1
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

    def _search(self, root: str) -> None:
        if self._stopped:
            return
        found = _found_in(root)
        with self._lock:
            before = self._found.get(root)
            self._found[root] = (time.monotonic(), found)
            if before is None or before[1] != found:
                self.version += 1


def tell_of_resets(site: Site) -> None:
    """Start the processes that tell people of the reset of a usage limit, where none waits for it."""
    for place in site:
        try:
            with opened_to_read(place.root) as workspace:
                wake_tellers(workspace, list_limited(workspace, clock.now()))
        except (HoldfastError, OSError, ValueError):
            continue  # the board says what is wrong with this workspace


def _found_in(root: str) -> list[BoardSession]:
    now = clock.now()
    try:
        with opened_to_read(root) as workspace:
            listed = list_sessions(root, workspace, most=MOST_FOUND, now=now)
    except (HoldfastError, OSError, ValueError):
        return []  # the board itself says what is wrong with this workspace
    return [
        {
            "session": one["session"],
            "client": one["client"],
            "is_recorded": one["state"] is not None,
            "seen_at": clock.stamp(now - one["age"]),
            "request": one["request"],
            "edits": one["edits"],
            "open_tasks": len(one["open_tasks"]),
        }
        for one in listed
    ]


def _measured(wanted: SpendingSource) -> Figures:
    try:
        with opened_to_read(wanted.root) as workspace:
            spent = account(
                workspace, session=wanted.session, transcript=wanted.transcript, now=clock.now()
            )["spent"]
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
            try:
                # Refused where the journal is missed, also since the last look: no new one begins there.
                workspace = one.open()
                places = worktrees(workspace)
                if any(inbox.waiting(place) for place in places):
                    take_in(open_writer(workspace), places)
                workspace.close()
            except (HoldfastError, OSError):
                continue


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
            with opened_to_read(self._root) as workspace:
                checks = doctor.examine(workspace, clock.now())
        except (HoldfastError, OSError) as error:
            said = getattr(error, "message", str(error))
            checks = [fail("workspace", said, why="", fix=getattr(error, "hint", ""))]
        finally:
            ended = time.monotonic()
            self._newest = DoctorResult(checks, clock.stamp(clock.now()), ended - began, ended)
            self._ended.set()


_one_at_a_time = threading.Lock()
_examinations: WeakKeyDictionary[ServedWorkspace, Examination] = WeakKeyDictionary()


def examination(place: ServedWorkspace) -> Examination:
    """The examination of a workspace."""
    return _examinations.setdefault(place, Examination(place.root))
