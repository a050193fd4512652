"""Step 4 of a checkpoint: the continuation prompt, and what is weak in it."""

from __future__ import annotations

import os

from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.session.checkpoint_run import known_progress, known_session
from holdfast.session.rules import progress, report
from holdfast.session.rules import session as rules
from holdfast.session.rules.model import PROGRESS_FILE, empty_progress
from holdfast.session.rules.prompt import (
    CONTINUE,
    NAMES_NO_ISSUE,
    draw_box,
    generic,
    next_action_of,
    weaknesses,
)
from holdfast.trackers import is_set_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.session.checkpoint_run import CheckpointRun
    from holdfast.session.rules.report import Step


def show(run: CheckpointRun) -> Step:
    run.prompt, warning = read_prompt(run)
    if warning:
        run.lines.append(f"Warning: {warning}")
        run.warnings.append(warning)
    run.lines.append(draw_box(run.prompt))
    if warning.startswith(PROGRESS_FILE):
        return report.failed(report.PROMPT, f"{PROGRESS_FILE} cannot be read")
    return report.done(report.PROMPT)


def read_prompt(run: CheckpointRun) -> tuple[str, str]:
    """The section as the file has it, and what is wrong with it."""
    path = os.path.join(run.workspace.root, run.folder, PROGRESS_FILE)
    try:
        _, content = read_file(path)
        read = progress.parse(text_of(content))
        for shortcoming in progress.shortcomings(
            text_of(content), needs_issue=is_set_up(run.settings)
        ):
            run.warnings.append(f"{PROGRESS_FILE}: {shortcoming}.")
    except (OSError, Unreadable, rules.Unparsable) as problem:
        return generic(known_progress(run)["issue"]), f"{PROGRESS_FILE} cannot be read: {problem}"
    persisted = run.steps[0]["status"] == "ok" and not run.queued
    if not persisted:
        stamp = progress.session_of(text_of(content))
        why = "Progress is queued" if run.queued else "Step 1 failed"
        return read["prompt"], f"{why}; this prompt is of {stamp}"
    return read["prompt"], ""


def warn_of_weakness(run: CheckpointRun, prompt: str) -> None:
    """CCC-24: a weak prompt is a warning; only --strict in the manual profile refuses it."""
    for name in run.request.get("files", []):
        if not os.path.lexists(os.path.join(run.workspace.root, name)):
            run.warnings.append(f"{name} is in scope, but there is no such file.")
    if run.profile == "manual" and run.recorded and _says_nothing(run):
        run.warnings.append(_what_it_holds(run))
        return
    for weakness in weaknesses_of(run, prompt):
        run.warnings.append(f"The continuation prompt is weak: {weakness}.")


def _says_nothing(run: CheckpointRun) -> bool:
    """Whether neither a statement nor a client's transcript tells anything of the work."""
    state = known_session(run)
    known, last = state["progress"], state["last"]
    if state.get("observed") or (last is not None and last["claims"]) or run.request.get("files"):
        return False
    empty = {**empty_progress(), **{name: known[name] for name in ("issue", "mode", "prompt")}}
    return known == empty and next_action_of(known["prompt"]) in ("", CONTINUE)


def _what_it_holds(run: CheckpointRun) -> str:
    """What an empty checkpoint is good for all the same."""
    last = known_session(run)["last"]
    world = last["world"] if last else None
    held = []
    if world is not None and world["commit"]:
        held.append(f"commit {world['commit'][:12]}")
    if world is not None and world["dirty_files"]:
        files = len(world["dirty_files"])
        held.append(f"the work tree with {files} uncommitted file{'s' if files > 1 else ''}")
    holds = f"It holds {' and '.join(held)}. " if held else ""
    return (
        "This checkpoint says nothing about the work: no task, no next action, and no session of a "
        f"client was found here. {holds}Give --task and --next"
    )


def weaknesses_of(run: CheckpointRun, prompt: str) -> list[str]:
    """Without a tracker there need not be an issue."""
    return [one for one in weaknesses(prompt) if one != NAMES_NO_ISSUE or is_set_up(run.settings)]
