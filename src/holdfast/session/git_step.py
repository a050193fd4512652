"""Step 2 of a checkpoint, and the snapshot of the work tree that comes with it: all that runs git."""

from __future__ import annotations

import os

from holdfast.git.commit import commit_files
from holdfast.git.repository import GitError
from holdfast.git.snapshot import create
from holdfast.git.status import read_status
from holdfast.kernel.config import variable_of
from holdfast.kernel.crash import reached
from holdfast.processes.relaunch import command, leave
from holdfast.session.rules import report
from holdfast.session.rules.model import STATE_FILE, UNKNOWN_ISSUE
from holdfast.session.rules.prompt import position_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.rules.model import Progress
    from holdfast.session.rules.report import Step


CLEAN = "Git snapshot skipped — working tree clean."


def commit(
    workspace: Workspace, files: list[str], message: str, checkpoint: str, exclude: list[str]
) -> tuple[Step, list[str]]:
    """Commit the tracked files in scope; the step, and what a person should know."""
    done = commit_files(workspace.root, files, message, checkpoint, exclude=exclude)
    warnings = [
        f"{name} is in scope but not tracked, so it was not committed."
        for name in done["untracked"]
    ]
    outcome = done["outcome"]
    if outcome in ("committed", "already"):
        step = report.done(report.SNAPSHOT, f"Git snapshot {(done['commit'] or '')[:12]}.")
    elif outcome == "clean":
        step = report.skipped(report.SNAPSHOT, CLEAN)
    elif outcome == "nothing":
        nowhere = f"no files in scope: give --file, or activeTaskFiles in {STATE_FILE}"
        why = "nothing to stage" if files else nowhere
        step = report.skipped(report.SNAPSHOT, f"Git snapshot skipped — {why}.")
    elif outcome == "hook_failed":
        hook = f"{done['hook'] or 'pre-commit'} hook"
        said = f"Git snapshot skipped — {hook} said no: {done['message']}"
        step = report.skipped(report.SNAPSHOT, said, cause=hook, counts=False)
    else:
        step = report.failed(report.SNAPSHOT, done["message"].rstrip("."))
    return step, warnings


def message_of(template: str, progress: Progress, position: tuple[int, int] | None) -> str:
    """The commit names its issue, whatever the setting says; AMB-CCC-01. Without one it names none."""
    issue = progress["issue"]
    if issue == UNKNOWN_ISSUE:
        issue, template = "", template.replace("({issue})", "").replace("{issue}", "").strip()
    number, total = position or position_of(progress) or (0, 0)
    message = template.format(
        issue=issue,
        number=number,
        total=total,
        task=progress["current"] or "no current task",
    )
    return message if issue in message else f"{message} ({issue})"


def is_dirty(workspace: Workspace, exclude: list[str]) -> bool:
    try:
        return bool(read_status(workspace.root, exclude=exclude))
    except GitError:
        return False


def keep_work_tree(
    workspace: Workspace, session: str, *, largest_mb: int, now: int
) -> tuple[str, list[str]]:
    """The whole work tree under a private ref. No step of the protocol: a failure is a warning."""
    try:
        kept = create(workspace.root, session=session, limit=largest_mb * 1_000_000, now=now)
        reached("after snapshot")
    except Exception as error:
        return "", [f"No snapshot of the work tree: {error}"]
    if os.environ.get(variable_of("snapshot.remote")):
        # Pushed by another process: a checkpoint does not wait for a network.
        leave(command("snapshot", "create", "-C", workspace.root))
    return kept["id"], [
        f"{left_out['path']} is not in the snapshot: {left_out['reason']}."
        for left_out in kept["skipped"]
    ]
