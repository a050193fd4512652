"""Step 1 of a checkpoint: the session's progress, as a record and in its file."""

from __future__ import annotations

import os

from holdfast.clients.table import own_id
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError
from holdfast.session import ccc_files, session_files, sessions
from holdfast.session.checkpoint_run import (
    files_in_scope,
    find_issue,
    has_file,
    is_strangers_issue,
    look_at_world,
    position_of,
)
from holdfast.session.rules import report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import PROGRESS_FILE, UNKNOWN_ISSUE, is_issue
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.clients.discovery import FoundSession
    from holdfast.session.checkpoint_run import CheckpointRun
    from holdfast.session.rules.model import SessionState
    from holdfast.session.rules.report import Step


def observe(run: CheckpointRun) -> None:
    """Record the work before a statement: what was done earlier in the same turn is then not taken
    for work that was done since."""
    if run.profile != "manual":
        return
    from holdfast.session import observation

    workspace = run.workspace
    try:
        if workspace.exists() and workspace.journal.read_only:
            return
        found = _session_beside(run)
        if found is None:
            looked = observation.look(workspace, run.session, state=run.known, now=run.now)
        else:
            path = found["path"]
            looked = observation.look(workspace, found["session"], transcript=path, now=run.now)
        if looked is not None:
            of = found["session"] if found else ""
            observation.record(
                workspace, run.session, looked, None, of=of, actor=run.actor, now=run.now
            )
    except (HoldfastError, OSError) as error:
        run.warnings.append(f"The transcript was not read: {error}")


def _session_beside(run: CheckpointRun) -> FoundSession | None:
    """The newest client's session here, for a checkpoint of a terminal, which has no transcript of its own."""
    from holdfast.session.client_process import has_slot
    from holdfast.session.session_choice import is_bare, sessions_of_clients

    is_named = run.request.get("session") or own_id() or has_slot(run.workspace, run.session)
    if is_named or not is_bare(run.known):
        return None
    here = sessions_of_clients(run.workspace)
    return here[0] if here and here[0]["session"] != run.session else None


def persist(run: CheckpointRun, claims: list[Any]) -> Step:
    if run.adopted is not None:
        _adopt(run)
    command, stream = command_of(run, claims), rules.stream_of(run.session)
    before = _version(run, stream)
    is_first = not has_file(run) and not _was_shown(run)
    # A checkpoint creates the file when it is absent, also after a person removed it; CCC-12.
    outcome = run.writer.execute(
        stream, command, actor=run.actor, now=run.now, id=run.id, raise_removed=True
    )
    if outcome["queued"]:
        run.queued = True
        return report.done(report.PERSIST, "Progress queued: the journal cannot be written here.")
    run.recorded = True
    session_files.drop(run.workspace, run.session, session_files.RESUMED)
    left = run.writer.remembered.get(stream)
    if left is None or left.version != before + len(outcome["records"]):
        _say_where_broken_files_are(run, stream, before)
    for view in outcome["views"]:
        if view["status"] == "failed":
            not_written = f"{view['path']} was not written: {view['reason'].rstrip('.')}"
            return report.failed(report.PERSIST, f"{not_written}. The record is safe")
        if is_first and view["status"] == "written":
            run.created.append(view["path"])
    return report.done(report.PERSIST)


def _version(run: CheckpointRun, stream: str) -> int:
    """The version of the session's stream before the capture."""
    remembered = run.writer.remembered.get(stream)
    if remembered is not None:
        return remembered.version
    head = run.workspace.journal.head(stream) if run.workspace.exists() else None
    return head["version"] if head else 0


def _say_where_broken_files_are(run: CheckpointRun, stream: str, before: int) -> None:
    """More than the capture was recorded: perhaps a file that could not be read."""
    for record in run.workspace.journal.read(stream, after=before):
        if record["kind"] == "quarantined":
            words = "{path} was broken ({reason}); it is kept in {kept}"
            warning = words.format(**record["body"])
            run.warnings.append(warning)
            run.lines.append(f"Warning: {warning}")


def command_of(run: CheckpointRun, claims: list[Any]) -> dict[str, Any]:
    given, text = canonical_json.storable(dict(run.request.get("given", {})))
    # Before it is taken apart: in `password: hunter2`, neither half alone is a secret.
    given = dict(run.writer.redactor.value(given, text))
    known = run.known
    source = run.adopted
    if source is None and not known["captures"] and has_file(run):
        # The session before was killed, so no session adopts it; its work is carried over all the same.
        from holdfast.session.client_process import killed

        source = killed(run.workspace, sessions.here(run.workspace), run.now)
    if source is not None:
        given = {**sessions.carried_over(source), **given}
    kept = (source or known)["progress"]["issue"]
    given["issue"] = find_issue(
        run,
        kept if kept != UNKNOWN_ISSUE else ccc_files.issue_of_file(run.workspace),
        is_first=source is None and not known["captures"],
    )
    mode = run.state_file.get("executionMode")
    if "mode" not in given and isinstance(mode, str):
        given["mode"] = mode
    elif "mode" not in given and not known["captures"]:
        given["mode"] = ccc_files.read_preferences(run.workspace)["default_mode"] or None
    world = look_at_world(run)
    is_dirty = bool(world["dirty_files"])
    return {
        "do": "capture",
        "given": given,
        "files": files_in_scope(run),
        "position": position_of(run),
        "folder": run.folder,
        "profile": run.profile,
        "reason": run.request.get("reason", ""),
        "adopts": run.adopted["session"] if run.adopted else "",
        "resumed": bool(session_files.read(run.workspace, run.session, session_files.RESUMED)),
        "world": world,
        "claims": [{**claim, "dirty": is_dirty} for claim in claims],
        "inherits": _inherited(source),
        "tracker": _tracker_wish(run, given["issue"]),
    }


def _was_shown(run: CheckpointRun) -> bool:
    """Whether an earlier session wrote its progress into this work tree."""
    path = os.path.join(run.folder, PROGRESS_FILE)
    known = run.workspace.exists()
    return known and bool(run.workspace.journal.views(worktree=run.workspace.root, path=path))


def _adopt(run: CheckpointRun) -> None:
    """One record, one winner: another session may have been faster."""
    assert run.adopted is not None
    if not sessions.adopt(
        run.workspace, run.adopted["session"], run.session, actor=run.actor, now=run.now
    ):
        run.adopted = None


def _tracker_wish(run: CheckpointRun, issue: str) -> str:
    """`always`, `changed` (a plain stop says only what is new) or nothing."""
    if run.request.get("skip_tracker") or not is_issue(issue):
        return ""  # no tracker knows such a name
    if not is_set_up(run.settings) or is_strangers_issue(run, issue):
        return ""
    plain_stop = run.profile == "automated" and not run.request.get("at_gate")
    return "changed" if plain_stop else "always"


def _inherited(source: SessionState | None) -> dict[str, Any] | None:
    """The statement and the claims of the session that is taken over, with their own time."""
    if source is None or not source.get("stated"):
        return None
    last = source["last"]
    return {"stated": source["stated"], "claims": last["claims"] if last else []}
