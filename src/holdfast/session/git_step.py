"""Step 2 of a checkpoint, and the snapshot of the work tree that comes with it: all that runs git."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from holdfast.git.commit import commit_files
from holdfast.git.repository import GitError
from holdfast.git.snapshot import create
from holdfast.git.status import read_status
from holdfast.kernel.config import variable_of
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.processes.relaunch import command, leave
from holdfast.session.rules import report
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.session.rules.model import STATE_FILE
from holdfast.session.rules.prompt import position_of

if TYPE_CHECKING:
    from holdfast.session.checkpoint import Ask
    from holdfast.session.rules.model import Progress
    from holdfast.session.rules.report import Step


QUESTION = "Files for this checkpoint's commit (names with blanks between them; empty for none)"
CLEAN = "Git snapshot skipped — working tree clean."


def ask_for_files(workspace: Workspace, ask: Ask, exclude: list[str]) -> list[str]:
    """Return the files that a person names for the commit. Ask only where something changed."""
    if not _is_dirty(workspace, exclude):
        return []
    answer = ask(QUESTION)
    try:
        return shlex.split(answer)
    except ValueError as problem:
        raise Usage(f"{answer!r:.80} are no names of files: {problem}.") from None


def commit_files_in_scope(
    workspace: Workspace, files: list[str], message: str, checkpoint: str, exclude: list[str]
) -> tuple[Step, list[str]]:
    """Commit the tracked files in scope. Return the step, and what a person should know."""
    done = commit_files(workspace.root, files, message, checkpoint, exclude=exclude)
    warnings = [
        f"{name} is in scope but not tracked, so it was not committed."
        for name in done["untracked"]
    ]
    outcome = done["outcome"]
    if outcome in ("committed", "already"):
        commit = (done["commit"] or "")[:12]
        said = f"Git snapshot {commit} is a commit: git show {quote(commit)}"
        step = report.done(report.SNAPSHOT, said)
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
    task = progress["current"] or "no current task"
    message = template.format(issue=issue, number=number, total=total, task=task)
    return message if issue in message else f"{message} ({issue})"


def _is_dirty(workspace: Workspace, exclude: list[str]) -> bool:
    try:
        return bool(read_status(workspace.root, exclude=exclude))
    except GitError:
        return False


def keep_work_tree(
    workspace: Workspace, session: str, *, largest_mb: int, now: int
) -> tuple[str, list[str]]:
    """Keep the whole work tree under a private ref. Return the snapshot's id, and what is to be said."""
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
