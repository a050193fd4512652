"""A track: which one is meant, and where its files are; read, changed under its lock through the one write
path, and restored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import clock, config
from holdfast.kernel.commit import Order, commit
from holdfast.kernel.digest import digest
from holdfast.kernel.errors import HoldfastError, NotAllowed, NotFound, Usage, from_os_error
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.rules import Decision
from holdfast.kernel.state import at_version, load
from holdfast.kernel.text import nearest, quote
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.files import Unreadable, file_at, identity_of, read_file
from holdfast.kernel.views.files import text_of as text_in
from holdfast.kernel.views.reconcile import UNKNOWN, make_change
from holdfast.kernel.workspace import Workspace
from holdfast.kernel.writer import Writer
from holdfast.loop import history
from holdfast.loop.lock import Broken, TrackLock
from holdfast.loop.rules import loop as rules
from holdfast.loop.rules.checkpoint import checkpoint_of, upcoming_step
from holdfast.loop.rules.document import Corrupt, parse
from holdfast.loop.rules.loop import stream_of
from holdfast.loop.rules.model import EXECUTE, HISTORY, METADATA, TRACKS, LoopState
from holdfast.loop.rules.tasks import DONE, TrackTask, UnreadLine, remaining, tasks_of, unread
from holdfast.runner.folder import RunnerFolder

if TYPE_CHECKING:
    from holdfast.journal.interface import Event, ViewRow
    from holdfast.kernel.commit import Outcome


LARGEST_METADATA = 1 << 24


class TrackFolder(RunnerFolder):
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
        super().__init__(os.path.join(workspace.home, "loop", f"{track}-{known}"))
        self.guard = os.path.join(self.own, "holder")

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
        return find_track(workspace, track) if track else _only(workspace)
    place = os.path.realpath(folder)
    inside = os.path.relpath(place, workspace.root)
    if inside.startswith("..") or inside == ".":
        raise NotAllowed(
            f"{folder} is not a folder inside the workspace {workspace.root}.",
            kind="outside_workspace",
        )
    inside, names = inside.replace(os.sep, "/"), [os.path.basename(place)]
    if os.path.dirname(inside) != TRACKS:
        names = [*_named_in(os.path.join(place, METADATA)), *names]
    if track and track not in names:
        raise Usage(f"The track {track} is not in {folder}.", hint=f"--track {names[0]}")
    return TrackFolder(workspace, _free_name(workspace, inside, names), inside)


def _named_in(metadata: str) -> list[str]:
    """Return the track's id that a file outside the usual folder states, where it can be one."""
    try:
        stated = parse(read_plain(metadata, LARGEST_METADATA).decode("utf-8")).get("track_id")
        stream_of(str(stated))
    except (OSError, UnicodeDecodeError, Corrupt, Usage):
        return []
    return [str(stated)]


def _free_name(workspace: Workspace, folder: str, names: list[str]) -> str:
    """Return the name under which the journal knows the track of a folder; for a new one, the first that no
    other track has: packages of one repository can have tracks of one name."""
    if os.path.dirname(folder) == TRACKS:
        return names[0]
    names = [*names, f"{names[0]}.{digest(folder.encode('utf-8', 'surrogateescape')).hex()[:8]}"]
    taken = _folders_known(workspace)
    known = next((name for name in names if taken.get(name) == folder), "")
    usual = set(list_tracks(workspace))
    return known or next(name for name in names if name not in taken and name not in usual)


def _folders_known(workspace: Workspace) -> dict[str, str]:
    """Return the tracks that the journal knows in this worktree, each with its folder."""
    if not workspace.exists():
        return {}
    return {
        row["stream"].partition(":")[2]: os.path.dirname(row["path"])
        for row in workspace.journal.views(worktree=workspace.root)
        if row["stream"].startswith("loop:")
    }


def find_track(workspace: Workspace, track: str) -> TrackFolder:
    """Return a track by its id: in the package around the current folder, in the usual folder, or where the
    journal knows it."""
    around = f"{_tracks_around(workspace)}/{track}"
    if os.path.isdir(os.path.join(workspace.root, around)) and os.path.dirname(around) != TRACKS:
        return TrackFolder(workspace, _free_name(workspace, around, [track]), around)
    usual = TrackFolder(workspace, track)
    if usual.exists():
        return usual
    return TrackFolder(workspace, track, _folders_known(workspace).get(track, ""))


def _tracks_around(workspace: Workspace) -> str:
    """Return the nearest `conductor/tracks` from the current folder up to the worktree's."""
    around = os.path.relpath(os.getcwd(), workspace.root).replace(os.sep, "/")
    while around != "." and not around.startswith(".."):
        if os.path.isdir(os.path.join(workspace.root, around, TRACKS)):
            return f"{around}/{TRACKS}"
        around = os.path.dirname(around) or "."
    return TRACKS


def _only(workspace: Workspace) -> TrackFolder:
    around = _tracks_around(workspace)
    found = list_tracks(workspace, around)
    if around == TRACKS:
        known = _folders_known(workspace).items()
        elsewhere = (
            name
            for name, folder in known
            if os.path.dirname(folder) != TRACKS
            and os.path.isdir(os.path.join(workspace.root, folder))
        )
        found = sorted({*found, *elsewhere})
    if len(found) == 1:
        return find_track(workspace, found[0])
    if not found:
        raise NotFound(
            f"There is no track in {around}.",
            hint="holdfast loop start PLAN --track NAME begins one.",
        )
    shown = [*found[:8], "..."] if len(found) > 8 else found
    raise Usage(f"Which of {len(found)} tracks?", hint="--track " + ", --track ".join(shown))


def list_tracks(workspace: Workspace, folder: str = TRACKS) -> list[str]:
    """Return the tracks of a folder of this worktree, by name."""
    try:
        with os.scandir(os.path.join(workspace.root, folder)) as found:
            return sorted(one.name for one in found if one.name[0] != "." and one.is_dir())
    except OSError:
        return []


def missing(workspace: Workspace, place: TrackFolder) -> NotFound:
    """The refusal of a track that is not there, with the nearest that is."""
    known = sorted({*list_tracks(workspace), *_folders_known(workspace)})
    begin = f"holdfast loop start PLAN --track {quote(place.track)}"
    hint = nearest(place.track, known, begin)
    return NotFound(f"There is no track {place.track}: no {place.folder}.", hint=hint)


class NextTask(TypedDict):
    """Where a track continues."""

    step: str
    task: str
    title: str
    open: int
    tasks: int


@dataclass
class TrackResult:
    """What a command changed, the locks that were broken for it, and the track after it."""

    track: Track
    outcome: Outcome
    broken: list[Broken] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def state(self) -> LoopState:
        return self.track.recorded()


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
        change = make_change("edited", path, here, version, text=text)
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
    """Hold a track's lock around its restore, and move a corrupt file to quarantine, because here a person asked to
    replace it; yield the path of that file, or nothing."""
    name = stream.partition(":")[2]
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
