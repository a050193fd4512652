"""Whether a session that only hooks saw writes `.ccc-progress.md`: where the CCC protocol is in use. Elsewhere the
journal alone has its progress, and no file appears in a work tree whose owner never asked for one."""

from __future__ import annotations

import os

from holdfast.clients.table import home_of
from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.tree_file import TreeFile
from holdfast.kernel.views.files import Unreadable, content_digest, read_file
from holdfast.session import ccc_files, sessions
from holdfast.session.rules.model import PROGRESS_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.kernel.workspace import Workspace

SETTING = "session.progress_file"
ALWAYS, COMMIT = "always", "commit"
# Where the protocol's own plugin or its stop handler is named, and how.
STOP_HANDLER = "ccc-stop-handler"
HANDLERS = (f"hooks/scripts/{STOP_HANDLER}.sh", f".claude/hooks/{STOP_HANDLER}.sh")
SETTINGS = (".claude/settings.json", ".claude/settings.local.json", "hooks/hooks.json")
NAMED = (STOP_HANDLER.encode(), b'"ccc@', b'"claude-command-centre@')


def is_wanted(workspace: Workspace, settings: dict[str, Any], state_file: dict[str, Any]) -> bool:
    """Return whether a hook's checkpoint belongs into the file, too."""
    return (
        settings[SETTING] in (ALWAYS, COMMIT)
        or (bool(state_file) and set(state_file) != {ccc_files.COMMENT, ccc_files.COMMENT_ISSUE})
        or _has_plugin(workspace.root)
        or (_exists(workspace) and not is_of_hooks_alone(workspace))
    )


def is_of_hooks_alone(workspace: Workspace) -> bool:
    """Return whether the file is there as a hook wrote it where nobody uses the protocol: earlier versions did that.
    `shown` and `stated` pass from a session to the one that takes it over."""
    path = ccc_files.path_of(workspace, PROGRESS_FILE)
    try:
        _, content = read_file(TreeFile(workspace.root, path))
        rows = workspace.exists() and workspace.journal.views(worktree=workspace.root, path=path)
        if not rows or rows[0]["digest"] != content_digest(content):
            return False
        state = sessions.read(workspace, rows[0]["stream"].partition(":")[2])
    except (OSError, Unreadable, HoldfastError):
        return False
    return not (state.get("shown") or state.get("stated"))


def describe_files(workspace: Workspace) -> str:
    """Return what sessions will write into the work tree and into the journal, for a person who runs `init`."""
    settings, problem = config.settings_of(workspace), False
    try:
        state_file = ccc_files.read_state(workspace)
    except HoldfastError:
        state_file, problem = {}, True
    said = f"Sessions are recorded in {workspace.home}."
    if problem or is_wanted(workspace, settings, state_file):
        hidden = "" if settings[SETTING] == COMMIT else ", which git does not see"
        return f"{said} The CCC protocol is in use here: they also write {PROGRESS_FILE}{hidden}."
    return f"{said} They write no file into the work tree; `holdfast checkpoint` writes {PROGRESS_FILE}."


def _exists(workspace: Workspace) -> bool:
    path = ccc_files.path_of(workspace, PROGRESS_FILE)
    return os.path.lexists(os.path.join(workspace.root, path))


def _has_plugin(root: str) -> bool:
    """Return whether the protocol's plugin or its stop handler is installed, here or for this user."""
    if any(os.path.lexists(os.path.join(root, name)) for name in HANDLERS):
        return True
    of_user = os.path.join(home_of("claude"), "settings.json")
    files = [*(os.path.join(root, name) for name in SETTINGS), of_user]
    for file in files:
        try:
            content = read_plain(file)
        except OSError:
            continue
        if any(name in content for name in NAMED):
            return True
    return False
