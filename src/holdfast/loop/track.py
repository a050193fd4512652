"""A track: which one is meant, and where its files are; read, changed under its lock through the one write
path, and restored."""

from __future__ import annotations

import difflib
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import clock, config
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound, Usage, from_os_error
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import at_version, load
from holdfast.kernel.text import quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import Unreadable, file_at, identity_of, read_file
from holdfast.kernel.views.files import text_of as text_in
from holdfast.kernel.views.reconcile import UNKNOWN
from holdfast.loop import history
from holdfast.loop.lock import TrackLock
from holdfast.loop.rules import loop as rules
from holdfast.loop.rules.checkpoint import checkpoint_of, upcoming_step
from holdfast.loop.rules.document import Corrupt, parse
from holdfast.loop.rules.loop import stream_of
from holdfast.loop.rules.model import EXECUTE, HISTORY, METADATA, TRACKS
from holdfast.loop.rules.tasks import DONE, remaining, tasks_of, unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Event, ViewRow
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.views.reconcile import Change
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer
    from holdfast.loop.lock import Broken
    from holdfast.loop.rules.model import LoopState
    from holdfast.loop.rules.tasks import TrackTask, UnreadLine

KIND = rules.stream_of("x").partition(":")[0]


class TrackFolder:
    """A track's id, its folder in the worktree, and what holdfast keeps of it elsewhere."""

    def __init__(self, workspace: Workspace, track: str, folder: str = "") -> None:
        self.track = track
        self.stream = stream_of(track)
        # Relative to the workspace's root, as the view's path is.
        self.folder = folder or f"{TRACKS}/{track}"
        # Refuses a folder that is a link to somewhere else.
        self.metadata = file_at(workspace, f"{self.folder}/{METADATA}")
        self.root = os.path.dirname(str(self.metadata))
        self.history = self.metadata.beside(HISTORY)
        known = digest(self.root.encode("utf-8", "surrogateescape")).hex()[:16]
        self.own = os.path.join(workspace.home, "loop", f"{track}-{known}")
        self.guard = os.path.join(self.own, "holder")
        self.logs = os.path.join(self.own, "logs")
        self.jobs = os.path.join(self.own, "jobs")

    def exists(self) -> bool:
        return os.path.isdir(self.root)


def chosen(
    workspace: Workspace, track: str | None, track_dir: str | None, metadata: str | None
) -> TrackFolder:
    """The track that the words of a call mean; without any, the only one there is."""
    for option, word in (("--track", track), ("--track-dir", track_dir), ("--metadata", metadata)):
        if word is not None and not word.strip():
            raise Usage(f"{option} is empty.", hint="Without it, the only track is meant.")
    folder = track_dir
    if metadata:
        if os.path.basename(metadata) != METADATA:
            raise Usage(f"--metadata is the path of a {METADATA}, not {metadata!r}.")
        folder = os.path.dirname(metadata) or "."
        if track_dir and os.path.abspath(track_dir) != os.path.abspath(folder):
            raise Usage(f"--metadata {metadata} is not in --track-dir {track_dir}.")
    if folder is None:
        return TrackFolder(workspace, track) if track else _only(workspace)
    place = os.path.realpath(folder)
    inside = os.path.relpath(place, workspace.root)
    if inside.startswith("..") or inside == ".":
        raise NotAllowed(
            f"{folder} is not a folder inside the workspace {workspace.root}.",
            kind="outside_workspace",
        )
    own = os.path.basename(place)
    if track and track != own:
        raise Usage(f"The track {track} is not in {folder}.", hint=f"--track {own}")
    return TrackFolder(workspace, own, inside.replace(os.sep, "/"))


def _only(workspace: Workspace) -> TrackFolder:
    found = listing(workspace)
    if len(found) == 1:
        return TrackFolder(workspace, found[0])
    if not found:
        raise NotFound(
            f"There is no track in {TRACKS}.",
            hint="holdfast loop start PLAN --track NAME begins one.",
        )
    raise Usage(
        f"Which of {len(found)} tracks?", hint="--track " + ", --track ".join(_shortened(found))
    )


def _shortened(names: list[str]) -> list[str]:
    return [*names[:8], "..."] if len(names) > 8 else names


def listing(workspace: Workspace) -> list[str]:
    """The tracks of this worktree, by name."""
    folder = os.path.join(workspace.root, *TRACKS.split("/"))
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [
        name
        for name in names
        if not name.startswith(".") and os.path.isdir(os.path.join(folder, name))
    ]


def missing(workspace: Workspace, place: TrackFolder) -> NotFound:
    """The refusal of a track that is not there, with the nearest that is."""
    known = listing(workspace)
    close = difflib.get_close_matches(place.track, known, n=1)
    hint = (
        f"Did you mean {close[0]}?"
        if close
        else f"holdfast loop start PLAN --track {quote(place.track)}"
    )
    return NotFound(f"There is no track {place.track}: no {place.folder}.", hint=hint)


class NextTask(TypedDict):
    """Where a track continues."""

    step: str
    task: str
    title: str
    open: int
    tasks: int


class TrackResult:
    """What a command changed, and the track after it, which is read when it is asked for."""

    def __init__(self, track: Track, outcome: Outcome) -> None:
        self.outcome = outcome
        self.broken: list[Broken] = []
        self.warnings: list[str] = []
        self._track = track
        self._state: LoopState | None = None

    @property
    def state(self) -> LoopState:
        if self._state is None:
            self._state = self._track.recorded()
        return self._state


class Track:
    """One track of a workspace: the context of every operation on it. `now` is the time of the call;
    without it, each operation reads the clock."""

    def __init__(
        self,
        workspace: Workspace,
        writer: Writer,
        place: TrackFolder,
        *,
        actor: str,
        now: int | None = None,
    ) -> None:
        self.workspace = workspace
        self.writer = writer
        self.place = place
        self.actor = actor
        self.now = now
        # Whether the journal knows the track; once it does, it always will.
        self._opened = False
        journal = workspace.journal if workspace.exists() else None
        settings = config.load(workspace, journal)
        self._patience = float(settings["loop.lock_seconds"])
        self._stale_after = float(settings["loop.stale_lock_seconds"])

    def lock(self) -> TrackLock:
        return TrackLock(
            TreeFile(self.workspace.root, self.place.folder),
            self.place.guard,
            patience=self._patience,
            stale_after=self._stale_after,
        )

    # Reading

    def read(self) -> LoopState:
        """The track as it is: what the journal knows, and what others wrote into the file since."""
        state, path = self.recorded(), f"{self.place.folder}/{METADATA}"
        here = identity_of(self.place.metadata)
        if here is None:
            if not state["opened"] and not self.place.exists():
                raise missing(self.workspace, self.place)
            return state
        row = self._row(path)
        if row is not None and here in (row["placed"], row["found"]):
            return state  # ours, and perhaps behind: a full disk keeps a file from being written
        try:
            text = text_in(read_file(self.place.metadata)[1])
        except FileNotFoundError:
            return state
        except Unreadable as problem:
            raise rules.corrupt(state, path, str(problem)) from None
        version = row["placed_version"] if row is not None and row["placed"] else UNKNOWN
        change: Change = {
            "kind": "edited",
            "path": path,
            "file": None,
            "text": text,
            "reason": "",
            "kept": "",
            "seen": "",
            "identity": here,
            "base": version,
            "familiar": None,
        }
        for kind, body in rules.absorb(state, self._at(version), change, clock.now()):
            event: Event = {"id": "", "kind": kind, "body": body, "at": "", "actor": "outside"}
            state = {**rules.apply(state, event), "last": state["last"]}
        return state

    def _row(self, path: str) -> ViewRow | None:
        """What the last write of this worktree knew of the file."""
        if not self.workspace.exists():
            return None
        journal, root = self.workspace.journal, self.workspace.root
        rows = journal.views(worktree=root, stream=self.place.stream, path=path)
        return rows[0] if rows else None

    def _at(self, version: int) -> LoopState:
        """What the file of a version said; empty where that is not known any more."""
        try:
            if version > UNKNOWN:
                found: LoopState = at_version(
                    self.workspace.journal, rules, self.place.stream, version
                )
                return found
        except HoldfastError:
            pass
        return rules.initial(self.place.stream)

    def recorded(self) -> LoopState:
        if not self.workspace.exists():
            return {**rules.initial(self.place.stream), "folder": self.place.folder}
        state: LoopState = load(self.workspace.journal, rules, self.place.stream)[0]
        if not state["opened"]:
            return {**state, "folder": self.place.folder}
        if state["folder"] != self.place.folder:
            raise HoldfastError(
                f"The track {self.place.track} is kept in {state['folder']}, not in "
                f"{self.place.folder}.",
                hint="Two tracks of one workspace need two names.",
                kind="other_folder",
            )
        return state

    def plan(self) -> list[TrackTask]:
        """The tasks of the track's plan; none where there is no plan."""
        return self._boxes("plan.md")

    def unread(self) -> list[UnreadLine]:
        """The lines of the track's plan that look like tasks, and cannot be read as such."""
        content = self._content("plan.md")
        try:
            return unread(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            return [{"line": line, "text": "it is not UTF-8", "meant": True}]

    def issues(self) -> int:
        """How many issues the last evaluation left open, by the boxes of its report."""
        return sum(issue["mark"] != DONE for issue in self._boxes("evaluation-report.md"))

    def _boxes(self, name: str) -> list[TrackTask]:
        return tasks_of(self._content(name).decode("utf-8", "replace"))

    def _content(self, name: str) -> bytes:
        """The content of a file that the track's author writes, perhaps behind a link; empty without it."""
        try:
            real = os.path.realpath(os.path.join(self.place.root, name))
            root = self.workspace.root
            if not real.startswith(f"{root}/"):
                raise Unreadable("behind a link out of the workspace")
            return read_file(file_at(self.workspace, real[len(root) + 1 :]))[1]
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except (Unreadable, NotAllowed) as problem:
            path = f"{self.place.folder}/{name}"
            raise HoldfastError(
                f"{path} cannot be read: {problem}.",
                hint="Put a text file in its place, or remove it.",
                kind="unreadable",
            ) from None

    # Changing

    def execute(
        self, command: dict[str, Any], *, now: int | None = None, id: str = ""
    ) -> TrackResult:
        """Do what a command asks, under the track's lock."""
        if not self._opened:
            self._opened = self.recorded()["opened"]
        if not self.place.exists():
            if command["do"] != "start" and not self._opened:
                raise missing(self.workspace, self.place)
            try:
                TreeFile(self.workspace.root, self.place.folder).make_folder()
            except OSError as error:
                raise from_os_error(error, f"making the folder {self.place.folder}") from error
        now = self.now if now is None else now
        with self.lock() as lock:
            done = self._execute(command, clock.now() if now is None else now, id)
        done.broken = lock.broken
        for broken in lock.broken:
            order = Order(self.place.stream, Decision([("lock_broken", broken)]))
            commit(self.writer, [order], actor=self.actor, now=clock.now())
        return done

    def _execute(self, command: dict[str, Any], now: int, id: str) -> TrackResult:
        stream, folder = self.place.stream, self.place.folder

        def ask(what: dict[str, Any], id: str = "") -> Outcome:
            return self.writer.execute(
                stream, what, actor=self.actor, now=now, id=id, raise_removed=True
            )

        self._refuse_no_file()
        if not self._opened and self.place.metadata.status() is not None:
            # So that what the file says is known before anything is decided.
            ask({"do": "open", "folder": folder})
        done = TrackResult(self, ask({**command, "folder": folder, "actor": self.actor}, id))
        if not done.outcome["queued"]:
            self._opened = True
            done.warnings = [
                f"{view['path']} was not written: {view['reason']}. The record is safe."
                for view in done.outcome["views"]
                if view["status"] == "failed"
            ]
            done.warnings += self._write_history(done.outcome)
        return done

    def _refuse_no_file(self) -> None:
        """A folder or a pipe in the place of the file is refused, as it is when it is read."""
        status = self.place.metadata.status()
        if status is None:
            return
        mode = status.st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
            raise rules.corrupt(self.recorded(), f"{self.place.folder}/{METADATA}", kind)

    def _write_history(self, outcome: Outcome) -> list[str]:
        try:
            fresh = [] if outcome["duplicate"] else outcome["records"]
            history.catch_up(self.place.history, self.workspace.journal, self.place.stream, fresh)
        except OSError as error:
            name = self.place.history.name
            return [f"{name} was not written: {error.strerror}. The next command makes it good."]
        return []


def find_next_task(track: Track, state: LoopState) -> NextTask:
    """Where a track continues: the step to run, the next open task of the plan, and how many are left."""
    step = upcoming_step(state)
    known = track.plan() if step == EXECUTE else []
    left = remaining(known, checkpoint_of(state, step))
    return {
        "step": step,
        "task": left[0]["id"] if left else "",
        "title": left[0]["title"] if left else "",
        "open": len(left),
        "tasks": len(known),
    }


@contextmanager
def prepare_restore(
    workspace: Workspace, writer: Writer, stream: str, *, actor: str, now: int
) -> Iterator[str]:
    """Around the restore of any stream. For a track, hold its lock and move a corrupt file to
    quarantine, because here a person asked to replace it; the path of that file, or nothing."""
    kind, _, name = stream.partition(":")
    if kind != KIND:
        yield ""
        return
    state: LoopState = load(workspace.journal, rules, stream)[0]
    track = Track(workspace, writer, TrackFolder(workspace, name, state["folder"]), actor=actor)
    TreeFile(workspace.root, track.place.folder).make_folder()
    with track.lock():
        yield _set_aside(workspace, track.place.metadata, now)
        history.catch_up(track.place.history, workspace.journal, stream, ())


def _set_aside(workspace: Workspace, metadata: TreeFile, now: int) -> str:
    try:
        parse(text_in(read_file(metadata)[1]))
    except FileNotFoundError:
        return ""
    except (Unreadable, Corrupt):
        status = metadata.status()
        if status is not None and stat.S_ISDIR(status.st_mode):
            # Quarantine holds files; a folder is moved as it is, with all that is in it.
            aside = metadata.beside(f"{metadata.name}.{now}")
            metadata.rename(aside)
            return str(aside)
        kept = quarantine.keep(workspace, metadata, now)
        metadata.remove()
        return kept
    return ""
