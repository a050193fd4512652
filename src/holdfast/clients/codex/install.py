"""Codex: the project's `.codex/hooks.json` and `.codex/config.toml`, both read in trusted projects.

In a linked worktree Codex takes the hooks of the main one, but only where there is a `.codex/` too, and
the rest of the settings of the linked one.

A hook runs only after its user has reviewed it; that is theirs to do, and never ours.
"""

from __future__ import annotations

import os
import tomllib

from holdfast.clients import launcher
from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import (
    JsonPart,
    TomlPart,
    hook_group,
    server_entry,
    with_seconds,
)
from holdfast.clients.table import CLIENTS, home_of
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.workspace import Workspace, worktrees

HOOKS, SETTINGS = CLIENTS["codex"].files
# At a session's end Codex waits 3 seconds at most.
EVENTS = with_seconds(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PermissionRequest PreCompact Stop"
) | {"SessionEnd": 3}


def parts(workspace: Workspace, server: list[str]) -> list[Part]:
    # Codex has no form without a shell, and takes the user's own, whichever that is.
    groups = {
        event: [hook_group(launcher.line("codex", event), limit)] for event, limit in EVENTS.items()
    }
    found: list[Part] = [JsonPart(path, hooks=groups) for path in _hook_files(workspace)]
    if server:
        path = os.path.join(workspace.root, SETTINGS)
        found.append(TomlPart(path, ["mcp_servers", "holdfast"], server_entry(server)))
    return found


def _hook_files(workspace: Workspace) -> list[str]:
    """In the worktrees that need the hooks: this one, and the main one."""
    roots = dict.fromkeys((workspace.root, _main_worktree(workspace)))
    return [os.path.join(root, HOOKS) for root in roots]


def _main_worktree(workspace: Workspace) -> str:
    root = os.path.realpath(os.path.dirname(workspace.git_dir)) if workspace.git_dir else ""
    return root if root in worktrees(workspace) else workspace.root


def is_reviewed(workspace: Workspace) -> bool:
    """Whether the user has reviewed a hook of this project: Codex keeps the digests of those in its
    settings. They are the user's word, and never written by us."""
    paths = _hook_files(workspace)
    try:
        text = read_plain(os.path.join(home_of("codex"), "config.toml")).decode()
        hooks = tomllib.loads(text).get("hooks")
    except (OSError, ValueError, RecursionError):
        return False
    state = hooks.get("state") if isinstance(hooks, dict) else None
    known = list(state) if isinstance(state, dict) else []
    return any(key.startswith((path, os.path.realpath(path))) for key in known for path in paths)


def notes(workspace: Workspace) -> list[str]:
    shared = (
        "Codex takes the hooks of every worktree from the main one, where there is a .codex/ in "
        "both: run this in each worktree. `holdfast uninstall` in one takes them from all."
    )
    return [
        *([shared] if len(worktrees(workspace)) > 1 else []),
        f"Codex runs no hook before you have reviewed it. {CLIENTS['codex'].review}",
    ]
