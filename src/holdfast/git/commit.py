"""The commit of a checkpoint: exactly the in-scope tracked files, and nothing else moves.

`git commit --only` builds the commit from HEAD and the named files, so what the user had staged
stays staged (AMB-CCC-09). The user's hooks and filters run, as in any commit that the user makes (CCC-35):
a filter that were left out would commit what it should have encrypted. The trailer says which checkpoint it was, so that a
crash between the commit and its record makes no second one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from holdfast.git.repository import GitError, Place, head_of, locate
from holdfast.git.run import Finished, git, run, without_submodules
from holdfast.git.status import UNTRACKED, is_covered, read_status
from holdfast.kernel.crash import reached
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import split_words

if TYPE_CHECKING:
    from holdfast.git.status import StatusChange

TRAILER = "Holdfast-Checkpoint"
# How many commits back a checkpoint's own commit is looked for.
REMEMBERED = 20
# Paths are words of the command up to here; the kernel's bound on all words is a few times larger.
WORDS = 100_000
# A checkpoint is brief: no collection of garbage on its time. A task's name may begin with `#`.
SETTINGS = split_words("-c gc.auto=0 -c maintenance.auto=false -c commit.cleanup=whitespace")
COMMIT = split_words("commit --only --quiet -F -")

Outcome = Literal["committed", "already", "clean", "nothing", "hook_failed", "failed"]


class CommitOutcome(TypedDict):
    """What became of the commit. Paths are seen from the asked folder."""

    outcome: Outcome
    commit: str | None
    files: list[str]
    """What was committed, or would have been."""
    untracked: list[str]
    """In scope but not tracked, so left alone (AMB-CCC-08)."""
    message: str
    """Why not, in one line."""
    hook: str
    """The hook that said no."""


def commit_files(
    root: str,
    files: Iterable[str],
    message: str,
    checkpoint: str,
    *,
    exclude: Iterable[str] = (),
    seconds: float = 30.0,
) -> CommitOutcome:
    """Commit the tracked ones among these files and folders; `exclude` never counts as dirty.

    No failure of git is raised: it is an outcome. Only a path that leaves the root is, and one that
    is the root: a scope is never everything, AMB-CCC-07.
    """
    report = _report("failed")
    try:
        place = locate(root)
        scope = [place.from_top(file) for file in files]
        if any(path in ("", place.inside) for path in scope):
            raise Usage("The scope names the whole work tree.", hint="Name the files in scope.")
        hidden = [place.from_top(file) for file in exclude]
        changes = [
            change for change in read_status(place.top) if not is_covered(change["path"], hidden)
        ]
        made = _find_commit(place, checkpoint)
        if made:
            return _report("already", commit=made)
        if not changes:
            return _report("clean")
        chosen, untracked = _split_scope(changes, scope)
        report["files"] = [place.from_root(path) for path in chosen]
        report["untracked"] = [place.from_root(path) for path in untracked]
        if chosen:
            _commit(place, chosen, message, checkpoint, report, seconds)
            reached("after git commit")
        else:
            report["outcome"] = "nothing"
    except GitError as error:
        report["message"] = error.message
    return report


def _report(outcome: Outcome, commit: str | None = None) -> CommitOutcome:
    return {
        "outcome": outcome,
        "commit": commit,
        "files": [],
        "untracked": [],
        "message": "",
        "hook": "",
    }


def _split_scope(
    changes: Sequence[StatusChange], scope: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Tracked and untracked changes among the wanted paths.

    A file that was only taken out of the index (`git rm --cached`) has two entries; committing it
    would put it back, so it counts as untracked.
    """
    wanted = [change for change in changes if is_covered(change["path"], scope)]
    untracked = {change["path"] for change in wanted if change["index"] == UNTRACKED}
    tracked = {change["path"] for change in wanted} - untracked
    # The other half of a staged rename, when that is in scope too.
    origins = {
        change["origin"] for change in wanted if change["index"] == "R" or change["worktree"] == "R"
    }
    tracked |= {origin for origin in origins if is_covered(origin, scope)}
    return sorted(tracked), sorted(untracked)


def _commit(
    place: Place,
    files: list[str],
    message: str,
    checkpoint: str,
    report: CommitOutcome,
    seconds: float,
) -> None:
    # It loads bz2, lzma and random, as long as one and a half bare interpreters; only a commit needs it.
    import tempfile

    text = f"{message.strip()}\n\n{TRAILER}: {checkpoint}\n".encode("utf-8", "surrogateescape")
    with tempfile.TemporaryDirectory(prefix="holdfast-commit-") as folder:
        events = os.path.join(folder, "events")
        done = run(
            place.top,
            *SETTINGS,
            *without_submodules(place.top),
            *COMMIT,
            *_name_files(files, folder),
            input=text,
            environment={"GIT_LITERAL_PATHSPECS": "1", "GIT_TRACE2_EVENT": events},
            seconds=seconds,
            as_the_user=True,
        )
        hook = _failed_hook(events) if done.code else ""
    # A commit may be made and git still fail after it, at writing the index.
    report["commit"] = _find_commit(place, checkpoint)
    if report["commit"]:
        report["outcome"] = "committed"
    elif hook:
        report["outcome"], report["hook"] = "hook_failed", hook
        report["message"] = _first_line(done)
    elif done.code == 1 and not done.errors.strip():
        # What was staged is not what the file says now, and that is what HEAD has.
        report["outcome"] = "nothing"
    else:
        report["message"] = done.reason


def _name_files(files: list[str], folder: str) -> list[str]:
    if sum(len(file) + 1 for file in files) < WORDS:
        return ["--", *files]
    listing = os.path.join(folder, "paths")
    with open(listing, "wb") as file:
        file.write(b"\0".join(map(os.fsencode, files)))
    return [f"--pathspec-from-file={listing}", "--pathspec-file-nul"]


def _find_commit(place: Place, checkpoint: str) -> str | None:
    """The recent commit that carries the trailer of a checkpoint."""
    head = head_of(place)
    if head["known"] and not head["commit"]:
        return None
    words = ("log", "-z", f"--max-count={REMEMBERED}", "--format=%H%n%B")
    log = git(place.top, *words, check=False)
    line = f"{TRAILER}: {checkpoint}"
    for entry in log.decode("utf-8", "surrogateescape").split("\0"):
        commit, _, text = entry.partition("\n")
        if line in text.split("\n"):
            return commit
    return None


def _failed_hook(events: str) -> str:
    """The name of the hook that made git give up, from git's own account of its children."""
    hooks: dict[int, str] = {}
    try:
        with open(events, encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return ""
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        # A slash in the session's id: a git that some hook started, not ours.
        if "/" in event.get("sid", ""):
            continue
        if event.get("event") == "child_start" and event.get("child_class") == "hook":
            hooks[event["child_id"]] = event.get("hook_name") or "a hook"
        elif event.get("event") == "child_exit" and event.get("code"):
            name = hooks.get(event["child_id"], "")
            if name:
                return name
    return ""


def _first_line(done: Finished) -> str:
    said = done.errors + "\n" + done.output.decode("utf-8", "replace")
    return next((line.strip() for line in said.splitlines() if line.strip()), "it gave no reason")
