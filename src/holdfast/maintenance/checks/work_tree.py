"""What `doctor` checks of the work tree: the files that Holdfast reads and writes there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from glob import iglob

from holdfast.clients.installation import hide_from_git, made_settings
from holdfast.git.repository import GitError
from holdfast.git.run import git
from holdfast.kernel import clock, inbox
from holdfast.kernel.commit import REPAIR, Order, commit, take_in
from holdfast.kernel.digest import new_id
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.git_index import tracked_below
from holdfast.kernel.places import list_places
from holdfast.kernel.plain_file import is_nested_deeper, read_plain
from holdfast.kernel.private_folder import FOLDER, prepare
from holdfast.kernel.rename import is_supported
from holdfast.kernel.state import load
from holdfast.kernel.streams import is_known, open_writer, rules_of
from holdfast.kernel.text import plural, quote
from holdfast.kernel.tree_file import TreeFile, place_new
from holdfast.kernel.views import quarantine
from holdfast.kernel.views.asides import list_strange_asides
from holdfast.kernel.views.files import content_digest, identity_of, target_of
from holdfast.kernel.workspace import TOOL_FOLDER, Workspace, worktrees
from holdfast.maintenance import conflicts
from holdfast.maintenance.checks import explain_read_only
from holdfast.parts import Check, accept, fail, warn

DEEPEST = 500


def check_strange_files(workspace: Workspace, now: int, fix: bool) -> Check:
    """Check that what is in the place of a file can be read. `fix` moves it aside."""
    return _check_strange(
        workspace,
        ("files", "Every file that Holdfast reads is a plain one"),
        list(list_strange_files(workspace)),
        "What it should say is not known, and is not written there.",
        now if fix else None,
    )


def check_asides(workspace: Workspace, now: int, fix: bool) -> Check:
    """Check that what has the name of a file on its way into place is such a file."""
    found = [each for root in worktrees(workspace) for each in list_strange_asides(workspace, root)]
    return _check_strange(
        workspace,
        ("asides", "Nothing strange has the name of a file on its way into place"),
        found,
        "It may have come with the repository. Nothing is read from it, and nothing is written to it.",
        now if fix else None,
    )


def _check_strange(
    workspace: Workspace,
    check: tuple[str, str],
    found: list[tuple[TreeFile, str]],
    why_it_matters: str,
    fix_now: int | None,
) -> Check:
    id, all_is_well = check
    if not found:
        return accept(id, all_is_well)
    fixed, left = [], []
    for file, why in found:
        moved, reason = _move_aside(workspace, file, fix_now) if fix_now is not None else ("", "")
        if moved:
            fixed.append(f"{file} is now {moved}")
        else:
            left.append((file, f"{why}, and cannot be moved: {reason}" if reason else why))
    if not left:
        return accept(id, "Strange files were moved aside", fixed="; ".join(fixed))
    file, why = left[0]
    more = f", and {len(left) - 1} more" if len(left) > 1 else ""
    problem = fail(
        id,
        f"{file} cannot be read: {why}{more}",
        why=why_it_matters,
        fix="holdfast doctor --fix moves it aside" if fix_now is None else "Move it away.",
    )
    return {**problem, "fixed": "; ".join(fixed)}


def list_strange_files(workspace: Workspace) -> Iterator[tuple[TreeFile, str]]:
    """Return the places of files that hold something else, or more than a reader takes; and what it is."""
    tops = {"tree": "", "tool": f"{TOOL_FOLDER}/"}
    patterns = [f"{tops[one.area]}{one.name}" for _, one in list_places() if one.is_read]
    for root in worktrees(workspace):
        for pattern in patterns:
            for path in sorted(iglob(pattern, root_dir=root)):
                why = _why_strange(os.path.join(root, path))
                if why:
                    yield TreeFile(root, path), why


def _why_strange(path: str) -> str:
    try:
        content = read_plain(path)
    except FileNotFoundError:
        return "it is a link to nothing" if os.path.islink(path) else ""
    except PermissionError:
        return ""  # a file like others, of another user
    except OSError as error:
        return error.strerror or str(error)
    is_deep = is_nested_deeper(content.decode("utf-8", "replace"), DEEPEST)
    return f"it is nested deeper than {DEEPEST} levels" if is_deep else ""


def _move_aside(workspace: Workspace, file: TreeFile, now: int) -> tuple[str, str]:
    """Rename it: a copy of a pipe would wait for ever. Return where it is now, or why it stays."""
    stamp = clock.stamp(now).replace(":", "").replace("-", "")
    name = f"{stamp}-{new_id()[:8]}-{file.name}"
    reason = ""
    # By its mark the next command knows the journal's folder for ours, and leaves links and pipes in it alone.
    prepare(f"{workspace.home}/{FOLDER}")
    # Beside it where the journal is on another disk.
    for to in (TreeFile(workspace.home, f"aside/{name}"), file.beside(f".{name}")):
        try:
            place_new(file, to, folder_mode=0o700)
            return str(to), ""
        except OSError as error:
            reason = error.strerror or str(error)
    return "", reason


def check_views(workspace: Workspace, now: int, fix: bool) -> Check:
    behind = [
        (row["stream"], row["path"])
        for row in workspace.journal.views(worktree=workspace.root)
        if not row["removed"]
        and is_known(row["stream"])
        and not _is_current(workspace, row["stream"], row["path"])
    ]
    if not behind:
        return accept("views", "Files say what the journal says")
    fixed, refused = "", None
    if fix and not workspace.journal.read_only:
        writer = open_writer(workspace)
        for stream in dict.fromkeys(stream for stream, _ in behind):
            try:
                commit(writer, [Order(stream, REPAIR)], actor="holdfast", now=now)
            except HoldfastError as error:
                refused = error  # a file that its protocol will not have written over
        left = [path for stream, path in behind if not _is_current(workspace, stream, path)]
        fixed = f"{len(behind) - len(left)} of {len(behind)} brought up to date"
        if not left:
            return accept("views", "Files say what the journal says", fixed=fixed)
    return warn(
        "views",
        f"Not what the journal says: {', '.join(path for _, path in behind[:5])}",
        why=refused.message
        if refused
        else "A crash came before the file was written, or it was edited since.",
        fix=refused.hint if refused else "holdfast doctor --fix",
        fixed=fixed,
    )


def _is_current(workspace: Workspace, stream: str, path: str) -> bool:
    try:
        subject = rules_of(stream)
        state, _ = load(workspace.journal, subject, stream)
        text = subject.render(state).get(path)
        if text is None:
            return True
        target = target_of(workspace, path)
        if identity_of(target) is None:
            return False
        return content_digest(read_plain(target)) == content_digest(text.encode())
    except (HoldfastError, OSError):
        return False


def check_conflicts(workspace: Workspace) -> Check:
    """Check for edits by hand that met a newer change. No repair: a person chooses."""
    found = conflicts.list_all_conflicts(workspace)
    if not found:
        return accept("conflicts", "No edit by hand met a newer change")
    return warn(
        "conflicts",
        "; ".join(conflicts.describe(one, 200) for one in found[:5]),
        why="Both changed one value since the editor read the file. The file shows the newer one.",
        fix=f"Choose: holdfast conflicts {quote(found[0]['id'][:8])} --take edited, or --take kept",
    )


def check_inboxes(workspace: Workspace, now: int, fix: bool) -> Check:
    roots = worktrees(workspace)
    waiting = [path for root in roots for path in inbox.list_waiting(root)]
    refused = [path for root in roots for path in inbox.refused(root)]
    if waiting and fix and not workspace.journal.read_only:
        taken = take_in(open_writer(workspace), roots)
        return accept("inbox", "No command waits for the journal", fixed=f"{taken} taken in")
    if waiting:
        return warn(
            "inbox",
            f"{plural(len(waiting), 'command waits', 'commands wait')} in .holdfast/inbox to be taken in.",
            why="They could not write the journal; any next command here takes them in.",
            fix="holdfast doctor --fix",
        )
    if refused:
        return warn(
            "inbox",
            f"{plural(len(refused), 'command was', 'commands were')} refused: {refused[0]}",
            why="Their life was taken over, or their text is damaged.",
            fix="Read them, and remove the files when they are of no more use.",
        )
    return accept("inbox", "No command waits for the journal")


def check_committed(workspace: Workspace) -> Check:
    """Check for Holdfast's files that came with the repository: they do not count."""
    found = [
        os.path.join(root, path)
        for root in worktrees(workspace)
        for path in sorted(tracked_below(root, TOOL_FOLDER))
        if os.path.basename(path) != ".gitignore"
    ]
    if not found:
        return accept("committed", "The repository brought no files of Holdfast along")
    return warn(
        "committed",
        f"{plural(len(found), 'file')} of {TOOL_FOLDER}/ came with the repository and {'is' if len(found) == 1 else 'are'} ignored: {found[0]}",
        why="They would be commands, or a journal, of the author of that repository.",
        fix=f"Read them. To remove them: git rm -r --cached {TOOL_FOLDER}",
    )


def check_ignored(workspace: Workspace, fix: bool) -> Check:
    seen, fixed = _settings_seen(workspace), []
    if seen and fix:
        hide_from_git(workspace)
        seen, fixed = _settings_seen(workspace), ["hidden from git"]
    if seen:
        return warn(
            "ignored",
            f"Git sees {', '.join(seen)}, which `holdfast init` made.",
            why="These settings name paths of this machine; `git add -A` would take them along.",
            fix="holdfast doctor --fix",
        )
    ignore = os.path.join(workspace.tool_folder, ".gitignore")
    is_missing = os.path.isdir(workspace.tool_folder) and not os.path.exists(ignore)
    if is_missing and not fix:
        return warn(
            "ignored",
            f"{ignore} is missing.",
            why="Git would show the files of Holdfast as new.",
            fix="holdfast doctor --fix",
        )
    if is_missing:
        workspace.prepare_tool_folder()
        fixed.append(".gitignore written")
    what = "Git does not see the settings that `holdfast init` made"
    return accept("ignored", what, fixed="; ".join(fixed))


def _settings_seen(workspace: Workspace) -> list[str]:
    """The clients' settings that `init` made in this worktree, and that git shows as new files."""
    root = os.path.realpath(workspace.root)
    made = [path for path in made_settings(workspace) if path.startswith(root + os.sep)]
    if not workspace.git_dir or not made:
        return []
    words = ("ls-files", "-z", "--others", "--exclude-standard", "--", *made)
    try:
        return [name for name in git(root, *words).decode(errors="replace").split("\0") if name]
    except GitError:
        return []  # the check of git itself says it


def check_exchange(workspace: Workspace) -> Check:
    try:
        supported = is_supported(workspace.prepare_tool_folder())
    except OSError as error:
        return fail(
            "exchange",
            f"{workspace.tool_folder} cannot be written: {error.strerror}.",
            why="Files such as .ccc-progress.md do not show what was recorded since. A process that cannot "
            "write the journal has no inbox here, and its records are lost.",
            fix=explain_read_only(workspace.tool_folder),
        )
    if supported:
        return accept("exchange", "An edit at the moment of a checkpoint is kept")
    return warn(
        "exchange",
        "This file system cannot exchange two files in one step.",
        why="An edit at the very moment of a capture can be lost from the file.",
        fix="Keep the worktree on ext4, xfs, btrfs, tmpfs or APFS.",
    )


def check_quarantine(workspace: Workspace) -> Check:
    kept = quarantine.list_kept(workspace)
    if not kept:
        return accept("quarantine", "No unreadable edit is in quarantine")
    return warn(
        "quarantine",
        f"{plural(len(kept), 'file')} in {workspace.quarantine}",
        why="An edit could not be read; the file is kept there as it was, unredacted.",
        fix="Take what you need. `holdfast gc` removes old ones.",
    )
