"""The library: what `import holdfast` gives a programmer. docs/library.md shows how it is used.

Each method imports the operation that it calls: a program that leaves a note would otherwise wait for all
features, which cost ten times as long to load as one does.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.arguments import checks_arguments
from holdfast.kernel.workspace import discover
from holdfast.streams import actor as current_user

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Any, Literal

    from holdfast.budgets.api import Budgets
    from holdfast.clients.table import ClientName
    from holdfast.fleet.api import Member
    from holdfast.gates.api import Gates
    from holdfast.git.restore import Restoration
    from holdfast.git.snapshot import Shown, Snapshot
    from holdfast.journal.interface import Journal
    from holdfast.kernel.commit import Outcome
    from holdfast.kernel.workspace import Workspace as Place
    from holdfast.loop.api import Loop
    from holdfast.maintenance.client_start import ResumedAtReset
    from holdfast.maintenance.conflicts import OpenConflict
    from holdfast.maintenance.emergency import StopResult
    from holdfast.maintenance.history import (
        RecordInWords,
        RecordShown,
        RestoredState,
        SessionShown,
        StateDifference,
        StreamShown,
    )
    from holdfast.maintenance.status import Status
    from holdfast.plans.api import Plans
    from holdfast.rfc.api import Rfc
    from holdfast.session.checkpoint import Request, Result
    from holdfast.session.edits import AppliedEdits, EditsRequest, SessionEdits
    from holdfast.session.resume import Resumption
    from holdfast.session.session_list import ListedSession


@checks_arguments
class Workspace:
    """A workspace that is open. Use it as a context manager, or close it when you are done."""

    def __init__(self, folder: str | None = None, *, actor: str = "") -> None:
        self._workspace = discover(folder)
        self._actor = actor or current_user()
        self._away = ""

    @property
    def away(self) -> str:
        """Why the last call went on without the journal's server, with what this machine knows: `resume`,
        `sessions`, `checkpoint` and `note` do. Empty when the server answered."""
        return self._away

    @property
    def root(self) -> str:
        """The top folder of this worktree."""
        return self._workspace.root

    @property
    def journal(self) -> Journal:
        """The journal itself, for reading."""
        return self._workspace.journal

    # Sessions

    def checkpoint(
        self,
        *,
        task: str | None = None,
        status: str | None = None,
        next: str | None = None,
        done: Sequence[str] | None = None,
        remaining: Sequence[str] | None = None,
        decisions: Sequence[str] | None = None,
        blockers: Sequence[str] | None = None,
        files: Sequence[str] = (),
        issue: str | None = None,
        title: str | None = None,
        mode: str | None = None,
        claims: Mapping[str, str] | None = None,
        reason: str = "handoff",
        session: str = "",
        profile: Literal["manual", "automated"] = "manual",
        skip_git: bool = False,
        skip_tracker: bool = False,
        require_verified: bool = False,
        strict: bool = False,
        dry_run: bool = False,
    ) -> Result:
        """Capture a session, by default the one at work here. What is not given stays as it was.

        `done` and `decisions` ("what: why") are added; `remaining` and `blockers` replace the lists.
        `claims` maps a claim to its probe: `run:COMMAND`, `file:PATH`, `commit:ID`, `clean`, `tests`.
        A step that fails is in `steps` and in `report`; the others are done.
        """
        from holdfast.kernel.git_exclude import hide_new
        from holdfast.session import progress_document, sessions
        from holdfast.session.checkpoint import checkpoint
        from holdfast.session.claims import parse
        from holdfast.session.rules.model import PROGRESS_FILE

        document = {
            "current": task,
            "status": status,
            "next": next,
            "done": done,
            "remaining": remaining,
            "decisions": decisions,
            "blockers": blockers,
            "issue": issue,
            "title": title,
            "mode": mode,
        }
        given, _ = progress_document.read(
            {
                name: value if isinstance(value, str) else list(value)
                for name, value in document.items()
                if value is not None
            }
        )
        request: Request = {
            "profile": profile,
            "reason": reason,
            "session": sessions.check_id(session),
            "given": given,
            "files": list(files),
            "claims": [
                {"claim": claim, "probe": parse(probe)} for claim, probe in (claims or {}).items()
            ],
            "skip_git": skip_git,
            "skip_tracker": "--skip-tracker" if skip_tracker else "",
            "require_verified": require_verified,
            "strict": strict,
            "dry_run": dry_run,
        }
        workspace = self._reachable(checkpoint)
        if not dry_run:
            hide_new(workspace, [PROGRESS_FILE])
        return checkpoint(workspace, request, actor=self._actor, now=clock.now())

    def resume(
        self,
        *,
        session: str = "",
        transcript: str = "",
        issue: str = "",
        budget: int = 0,
        accept_foreign: bool = False,
        recheck: bool = False,
    ) -> Resumption:
        """Check what changed since the last checkpoint, and give the text to continue from: `verdict`
        and `pack`. Without `session` or `transcript`: the newest session here. Work of another place
        is refused unless `accept_foreign` is given. `recheck` runs the probes again that you ran here."""
        from holdfast.session.resume import refuse_foreign, resume

        found = resume(
            self._reachable(resume),
            {
                "session": session,
                "transcript": transcript,
                "issue": issue,
                "budget": budget,
                "recheck": recheck,
                "accept_foreign": accept_foreign,
            },
            now=clock.now(),
        )
        if not accept_foreign:
            refuse_foreign(found)
        return found

    def edits(
        self, *, session: str = "", transcript: str = "", files: Sequence[str] = ()
    ) -> SessionEdits:
        """The edits of a session that the work tree lacks, as diffs. Nothing is written. Without
        `session` or `transcript`: the newest session here that edited files."""
        from holdfast.session.edits import show_edits

        request: EditsRequest = {"session": session, "transcript": transcript, "files": files}
        return show_edits(self._workspace, self.root, request, now=clock.now())

    def apply_edits(
        self, *, session: str = "", transcript: str = "", files: Sequence[str] = ()
    ) -> AppliedEdits:
        """Write the edits that `edits` shows as missing. What changed since is never overwritten; restore
        the snapshot `before` to undo it."""
        from holdfast.session.edits import apply_edits

        request: EditsRequest = {"session": session, "transcript": transcript, "files": files}
        return apply_edits(self._workspace, self.root, request, now=clock.now())

    def resume_at_reset(
        self,
        client: ClientName,
        *,
        session: str = "",
        hours: int = 12,
        tell: Callable[[str], None] | None = None,
        accept_foreign: bool = False,
    ) -> ResumedAtReset:
        """Wait until the usage limit of a client is reset, at most so many hours, and give what to go on
        from, with the `command` that starts the client. NotAllowed unless a person sits at the terminal of
        this program and types back a word. `tell` gets one line that says until when it waits. A stop that
        is set meanwhile, and a session that goes on elsewhere, end the wait with an error."""
        from holdfast.maintenance.client_start import ResetRequest, command_for, wait_for_reset

        request = ResetRequest(client=client, session=session, hours=hours)
        limited = wait_for_reset(
            self._workspace, request, tell or (lambda _: None), now=clock.now()
        )
        found = self.resume(session=limited["session"], accept_foreign=accept_foreign)
        command = command_for(client, found["pack"])
        return {"limited": limited, "found": found, "command": command}

    def sessions(self) -> list[ListedSession]:
        """The sessions that can be resumed here, newest first."""
        from holdfast.session.session_list import list_sessions

        return list_sessions(self.root, self._reachable(list_sessions), now=clock.now())

    # Notes and the past

    def note(self, text: str, *, name: str = "default", id: str | None = None) -> Outcome:
        """Add a line to a note, durably. The same `id` again changes nothing."""
        from holdfast.note.write import write_note

        workspace = self._reachable(write_note)
        return write_note(workspace, text, name=name, actor=self._actor, now=clock.now(), id=id)

    def status(self) -> Status:
        """Where the journal is, what it holds, and what needs attention."""
        from holdfast.maintenance.status import gather

        return gather(self._workspace)

    def history(
        self, *, stream: str = "", kind: str = "", before: int | None = None, limit: int = 50
    ) -> list[RecordInWords]:
        """What happened, newest first. `stream` may end in `*`; `before` is a sequence number."""
        from holdfast.maintenance.history import history

        request = {"stream": stream, "kind": kind, "before": before, "limit": limit}
        return history(self._workspace, request)  # type: ignore[arg-type]

    def show(self, what: str) -> StreamShown | RecordShown | SessionShown:
        """The state of a stream, by its name, or a record, by its id or a unique beginning of it; the
        text of a session that has no record."""
        from holdfast.maintenance.history import show

        return show(self._workspace, what, now=clock.now())

    def diff(self, one: str, other: str = "") -> StateDifference:
        """Two states of one stream: after a record, and after another one or the newest."""
        from holdfast.maintenance.history import diff

        return diff(self._workspace, one, other)

    def restore(self, id: str, *, dry_run: bool = False) -> RestoredState:
        """Bring a stream, and its files, back to what they were after a record."""
        from holdfast.maintenance.history import restore

        return restore(self._workspace, id, actor=self._actor, now=clock.now(), dry_run=dry_run)

    def conflicts(self) -> list[OpenConflict]:
        """Edits by hand of values that had changed meanwhile, with both texts."""
        from holdfast.maintenance.conflicts import list_conflicts

        return list_conflicts(self._workspace)

    def settle(self, conflict: str, take: str) -> OpenConflict:
        """End a conflict of edits: `take` is `edited`, or `kept`, which asks a person at the terminal."""
        from holdfast.maintenance.conflicts import settle

        return settle(self._workspace, conflict, take, actor=self._actor, now=clock.now())

    @property
    def snapshot(self) -> Snapshots:
        """Snapshots of the work tree: `snapshot.create()`, `snapshot.restore(id)`."""
        return Snapshots(self._workspace, actor=self._actor)

    # The other protocols

    def agent(self, agent: str, *, feature: str = "", epic: str = "") -> Member:
        """The agent that this program is; use it in a `with` statement."""
        from holdfast.fleet.api import Member

        return Member(self._workspace, agent, feature=feature, epic=epic, actor=self._actor)

    def loop(self, track: str) -> Loop:
        """A track of `conductor/tracks`, to take its steps one by one."""
        from holdfast.loop.api import Loop
        from holdfast.loop.track import Track, TrackFolder
        from holdfast.streams import open_writer

        place = TrackFolder(self._workspace, track)
        writer = open_writer(self._workspace)
        return Loop(Track(self._workspace, writer, place, actor=self._actor))

    @property
    def gates(self) -> Gates:
        """Questions for people: `gates.verify(built=..., how=[...]).wait()`."""
        from holdfast.gates.api import Gates

        return Gates(self._workspace, actor=self._actor)

    @property
    def budgets(self) -> Budgets:
        """What was spent, and whether work may go on: `budgets.check()["verdict"]`."""
        from holdfast.budgets.api import Budgets

        return Budgets(self._workspace, actor=self._actor)

    @property
    def plans(self) -> Plans:
        """Plans in waves: `plans.run(["plans"])`, `plans.resume()`, `plans.show()`."""
        from holdfast.plans.api import Plans
        from holdfast.streams import open_writer

        return Plans(self._workspace, open_writer(self._workspace), actor=self._actor)

    def rfc(self, id: str) -> Rfc:
        """The RFC with this id: its questions, its checkpoint, its bootstrap."""
        from holdfast.rfc.api import Rfc

        return Rfc(self._workspace, id, actor=self._actor)

    def stop(self, reason: str = "") -> StopResult:
        """Stop every agent of the workspace, until `release`."""
        from holdfast.maintenance.emergency import stop

        return stop(self._workspace, reason, by=self._actor, now=clock.now())

    def release(self, reason: str = "") -> bool:
        """Lift the emergency stop; whether there was one. NotAllowed unless a person sits at the
        terminal of this program and types back a word."""
        from holdfast.maintenance.emergency import release

        return release(self._workspace, reason, by=self._actor, now=clock.now())

    def close(self) -> None:
        """Let go of the journal."""
        workspace = self._workspace
        if workspace.wants_forwarder or workspace.spools:
            from holdfast.remote.offline import start_forwarder

            start_forwarder(workspace)
        workspace.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _reachable(self, operation: Callable[..., Any]) -> Place:
        """The workspace for an operation. While its server is away, an operation that works offline
        writes to the spool of this machine."""
        from holdfast.remote.offline import can_work_offline, reachable

        if not can_work_offline(operation):
            return self._workspace
        workspace, self._away = reachable(self._workspace)
        if self._away:
            self._workspace.wants_forwarder = True
        return workspace


@checks_arguments
class Snapshots:
    """Snapshots of a work tree, untracked files too, under private git refs."""

    def __init__(self, workspace: Place, *, actor: str) -> None:
        self._workspace = workspace
        self._actor = actor

    def create(self, *, session: str = "") -> Snapshot:
        """Take a snapshot. When nothing changed, the newest one, with `duplicate` set."""
        from holdfast.maintenance.backup import create_snapshot

        return create_snapshot(
            self._workspace, actor=self._actor, now=clock.now(), session=session, unattended=True
        )[0]

    def list(self, *, everywhere: bool = False) -> Sequence[Snapshot]:
        """The snapshots of this worktree, or of all worktrees and machines, newest first."""
        from holdfast.git.snapshot import listing

        return listing(self._workspace.root, everywhere=everywhere)

    def show(self, id: str) -> Shown:
        """What a snapshot holds, and what has changed since."""
        from holdfast.git.snapshot import show

        return show(self._workspace.root, id)

    def restore(self, id: str, paths: Iterable[str] = (), *, dry_run: bool = False) -> Restoration:
        """Bring the work tree, or single paths of it, back to a snapshot. The present is snapshotted
        first: restore `before` to undo it."""
        from holdfast.git.restore import restore

        return restore(self._workspace.root, id, paths, dry_run=dry_run)


def open(folder: str | None = None, *, actor: str = "") -> Workspace:
    """The workspace of a folder, by default of the current one. `actor` is written into each record;
    by default HOLDFAST_ACTOR, or the user's name."""
    return Workspace(folder, actor=actor)
