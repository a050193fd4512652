"""Step 2 of a checkpoint, and the snapshot of the work tree that comes with it: all that runs git."""

from __future__ import annotations

import os
import shlex

from holdfast.git.commit import commit_files
from holdfast.git.repository import GitError
from holdfast.git.snapshot import create
from holdfast.git.status import read_status
from holdfast.kernel.config import variable_of
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote
from holdfast.processes.relaunch import command, leave
from holdfast.session.checkpoint_run import (
    control_files,
    files_in_scope,
    known_progress,
    look_at_world,
)
from holdfast.session.checkpoint_run import position_of as position_in_loop
from holdfast.session.rules import report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import STATE_FILE, UNKNOWN_ISSUE
from holdfast.session.rules.prompt import position_of
from holdfast.session.world import head_now

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.session.checkpoint_run import CheckpointRun
    from holdfast.session.rules.model import Progress
    from holdfast.session.rules.report import Step


QUESTION = "Files for this checkpoint's commit (names with blanks between them; empty for none)"
CLEAN = "Git snapshot skipped — working tree clean."


def ask_for_files(run: CheckpointRun) -> None:
    """Ask a person before the first step: a person who leaves the question has changed nothing."""
    is_left_out = run.request.get("skip_git") or not run.workspace.git_dir
    if run.ask is None or is_left_out:
        return
    if files_in_scope(run) or not _is_dirty(run.workspace, control_files(run)):
        return
    answer = run.ask(QUESTION)
    try:
        names = shlex.split(answer)
    except ValueError as problem:
        raise Usage(f"{answer!r:.80} are no names of files: {problem}.") from None
    run.request = {**run.request, "files": names}


def commit_in_scope(run: CheckpointRun) -> Step:
    if run.request.get("skip_git"):
        return report.skipped(report.SNAPSHOT, "Git snapshot skipped (--skip-git).")
    if not run.workspace.git_dir:
        return report.skipped(report.SNAPSHOT, "Git snapshot skipped — no git repository.")
    message = message_of(
        str(run.settings["session.commit_message"]), known_progress(run), position_in_loop(run)
    )
    step, warnings = _commit(
        run.workspace, files_in_scope(run), message, run.id, control_files(run)
    )
    run.warnings += warnings
    return step


def keep_snapshot(run: CheckpointRun) -> None:
    if not run.workspace.git_dir:
        return
    largest = int(run.settings["snapshot.largest_mb"])
    run.snapshot, warnings = _keep_work_tree(
        run.workspace, run.session, largest_mb=largest, now=run.now
    )
    run.warnings += warnings
    step = run.steps[-1]
    is_left_out = step["status"] == "skipped" and step["message"] != CLEAN
    if run.snapshot and is_left_out and not run.request.get("skip_git"):
        run.lines.append(f"The work tree is kept: holdfast snapshot show {quote(run.snapshot)}")


def survey(run: CheckpointRun) -> None:
    """Step 2 moved HEAD: the world as it is left is the one to compare with at resume."""
    before = run.head
    run.head = head_now(run.workspace)
    if run.head == before:
        return
    try:
        run.writer.execute(
            rules.stream_of(run.session),
            {"do": "survey", "world": look_at_world(run)},
            actor=run.actor,
            now=run.now,
        )
    except HoldfastError as error:
        run.warnings.append(f"The commit was not noted: {error.message}")


def _commit(
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
    message = template.format(
        issue=issue,
        number=number,
        total=total,
        task=progress["current"] or "no current task",
    )
    return message if issue in message else f"{message} ({issue})"


def _is_dirty(workspace: Workspace, exclude: list[str]) -> bool:
    try:
        return bool(read_status(workspace.root, exclude=exclude))
    except GitError:
        return False


def _keep_work_tree(
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
