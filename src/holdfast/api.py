"""The library: what `import holdfast` gives a programmer. docs/library.md shows how it is used.

Each method imports the operation that it calls: a program that leaves a note would otherwise wait for all
features, which cost ten times as long to load as one does.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.streams import actor as current_user
from holdfast.kernel.workspace import discover
from holdfast.offers import Offers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType
    from typing import Literal

    from holdfast.clients.table import ClientName
    from holdfast.git.restore import Restoration
    from holdfast.git.snapshot import Shown, Snapshot
    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace as Place
    from holdfast.maintenance.conflicts import OpenConflict
    from holdfast.maintenance.history import (
        RecordInWords,
        RecordShown,
        RestoredState,
        SessionShown,
        StateDifference,
        StreamShown,
    )
    from holdfast.maintenance.status import Status
    from holdfast.session.ask import Asked
    from holdfast.session.checkpoint import Request, Result
    from holdfast.session.client_start import ResumedAtReset
    from holdfast.session.edits import AppliedEdits, EditsRequest, SessionEdits
    from holdfast.session.resume import Resumption
    from holdfast.session.session_list import ListedSession


class Workspace(Offers):
    """A workspace that is open, with what its features offer. Use it as a context manager, or close it when you are
    done."""

    def __init__(self, folder: str | None = None, *, actor: str = "") -> None:
        super().__init__(discover(folder), actor or current_user())

    @property
    def root(self) -> str:
        """The top folder of this worktree."""
        return self.place.root

    @property
    def journal(self) -> Journal:
        """The journal itself, for reading."""
        return self.place.journal

    # Sessions

    def checkpoint(
        self,
        *,
        files: Sequence[str] = (),
        claims: Mapping[str, str] | None = None,
        reason: str = "handoff",
        session: str = "",
        profile: Literal["manual", "automated"] = "manual",
        skip_git: bool = False,
        skip_tracker: bool = False,
        require_verified: bool = False,
        strict: bool = False,
        dry_run: bool = False,
        **fields: str | Sequence[str] | None,
    ) -> Result:
        """Capture a session, by default the one at work here. What is not given stays as it was.

        The `fields` are texts (`task`, `status`, `next`, `issue`, `title`, `mode`) and lists of texts (`done`,
        `remaining`, `decisions`, `blockers`): the rows of `holdfast.session.rules.fields` with an option.
        `done` and `decisions` ("what: why") are added; `remaining` and `blockers` replace the lists.
        `claims` maps a claim to its probe: `run:COMMAND`, `file:PATH`, `commit:ID`, `clean`, `tests`.
        A step that fails is in `steps` and in `report`; the others are done.
        """
        from holdfast.session import progress_document, sessions
        from holdfast.session.checkpoint import checkpoint
        from holdfast.session.claims import parse

        request: Request = {
            "profile": profile,
            "reason": reason,
            "session": sessions.check_id(session),
            "given": progress_document.read_arguments(fields, "checkpoint"),
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
        workspace = self.reachable(checkpoint)
        return checkpoint(workspace, request, actor=self.actor, now=clock.now())

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
            self.reachable(resume),
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

    def ask_session(self, *, session: str = "") -> Asked:
        """Let the client continue a copy of a session that ended for one turn, without tools, and keep its
        answer as stated by that session: the next `resume` has it. Without `session`: the newest here.
        NotAllowed unless a person sits at the terminal of this program; Stopped while a stop holds. `why`
        says why there is no `answer`."""
        from holdfast.session.ask import ask_session, request_for

        request = request_for(self.resume(session=session, accept_foreign=True))
        return ask_session(self.place, request, now=clock.now())

    def edits(
        self, *, session: str = "", transcript: str = "", files: Sequence[str] = ()
    ) -> SessionEdits:
        """The edits of a session that the work tree lacks, as diffs. Nothing is written. Without
        `session` or `transcript`: the newest session here that edited files."""
        from holdfast.session.edits import show_edits

        request: EditsRequest = {"session": session, "transcript": transcript, "files": files}
        return show_edits(self.place, self.root, request, now=clock.now())

    def apply_edits(
        self, *, session: str = "", transcript: str = "", files: Sequence[str] = ()
    ) -> AppliedEdits:
        """Write the edits that `edits` shows as missing. What changed since is never overwritten; restore
        the snapshot `before` to undo it."""
        from holdfast.session.edits import apply_edits

        request: EditsRequest = {"session": session, "transcript": transcript, "files": files}
        return apply_edits(self.place, self.root, request, now=clock.now())

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
        from holdfast.session.client_start import (
            ResetRequest,
            command_for,
            first_prompt,
            wait_for_reset,
        )

        request = ResetRequest(client=client, session=session, hours=hours)
        limited = wait_for_reset(self.place, request, tell or (lambda _: None), now=clock.now())
        found = self.resume(session=limited["session"], accept_foreign=accept_foreign)
        command = command_for(client, first_prompt(found))
        return {"limited": limited, "found": found, "command": command}

    def sessions(self) -> list[ListedSession]:
        """The sessions that can be resumed here, newest first."""
        from holdfast.session.session_list import list_sessions

        return list_sessions(self.root, self.reachable(list_sessions), now=clock.now())

    # The past

    def status(self) -> Status:
        """Where the journal is, what it holds, and what needs attention."""
        from holdfast.maintenance.status import gather

        return gather(self.place)

    def history(
        self, *, stream: str = "", kind: str = "", before: int | None = None, limit: int = 50
    ) -> list[RecordInWords]:
        """What happened, newest first. `stream` may end in `*`; `before` is a sequence number."""
        from holdfast.maintenance.history import history

        request = {"stream": stream, "kind": kind, "before": before, "limit": limit}
        return history(self.place, request)  # type: ignore[arg-type]

    def show(self, what: str) -> StreamShown | RecordShown | SessionShown:
        """The state of a stream, by its name, or a record, by its id or a unique beginning of it; the
        text of a session that has no record."""
        from holdfast.maintenance.history import show

        return show(self.place, what, now=clock.now())

    def diff(self, one: str, other: str = "") -> StateDifference:
        """Two states of one stream: after a record, and after another one or the newest."""
        from holdfast.maintenance.history import diff

        return diff(self.place, one, other)

    def restore(self, id: str, *, dry_run: bool = False) -> RestoredState:
        """Bring a stream, and its files, back to what they were after a record."""
        from holdfast.maintenance.history import restore

        return restore(self.place, id, actor=self.actor, now=clock.now(), dry_run=dry_run)

    def conflicts(self) -> list[OpenConflict]:
        """Edits by hand of values that had changed meanwhile, with both texts."""
        from holdfast.maintenance.conflicts import list_conflicts

        return list_conflicts(self.place)

    def settle(self, conflict: str, take: str) -> OpenConflict:
        """End a conflict of edits: `take` is `edited`, or `kept`, which asks a person at the terminal."""
        from holdfast.maintenance.conflicts import settle

        return settle(self.place, conflict, take, actor=self.actor, now=clock.now())

    @property
    def snapshot(self) -> Snapshots:
        """Snapshots of the work tree: `snapshot.create()`, `snapshot.restore(id)`."""
        return Snapshots(self.place, actor=self.actor)

    def close(self) -> None:
        """Let go of the journal."""
        workspace = self.place
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


class Snapshots:
    """Snapshots of a work tree, untracked files too, under private git refs."""

    def __init__(self, place: Place, *, actor: str) -> None:
        self._place = place
        self._actor = actor

    def create(self, *, session: str = "") -> Snapshot:
        """Take a snapshot. When nothing changed, the newest one, with `duplicate` set."""
        from holdfast.session.snapshots import create_snapshot

        return create_snapshot(
            self._place, actor=self._actor, now=clock.now(), session=session, unattended=True
        )[0]

    def list(self, *, everywhere: bool = False) -> Sequence[Snapshot]:
        """The snapshots of this worktree, or of all worktrees and machines, newest first."""
        from holdfast.git.snapshot import list_snapshots

        return list_snapshots(self._place.root, everywhere=everywhere)

    def show(self, id: str) -> Shown:
        """What a snapshot holds, and what has changed since."""
        from holdfast.git.snapshot import show

        return show(self._place.root, id)

    def restore(self, id: str, paths: Iterable[str] = (), *, dry_run: bool = False) -> Restoration:
        """Bring the work tree, or single paths of it, back to a snapshot. The present is snapshotted
        first: restore `before` to undo it."""
        from holdfast.git.restore import restore

        return restore(self._place.root, id, paths, dry_run=dry_run)


def open(folder: str | None = None, *, actor: str = "") -> Workspace:
    """The workspace of a folder, by default of the current one. `actor` is written into each record;
    by default HOLDFAST_ACTOR, or the user's name."""
    return Workspace(folder, actor=actor)
