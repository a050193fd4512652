"""Hooks in settings that a team commits: they name no path of a machine, and do nothing where Holdfast is not installed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.clients import launcher
from holdfast.clients.settings.files import Part
from holdfast.clients.settings.parts import JsonPart
from holdfast.clients.table import CLIENTS
from holdfast.kernel.workspace import Workspace

# Where the launcher of each user is, as a shell says it; settings with it are a team's.
PORTABLE = "${XDG_DATA_HOME:-$HOME/.local/share}/holdfast/hook.sh"
# It is said once in a clone, and not at all where git's folder is elsewhere.
SAID = ".git/holdfast-said"
HINT = "This project is set up for Holdfast, which is not installed here: pipx install holdfast-agents, then holdfast init"
STARTS = "SessionStart"


def is_shared(path: str) -> bool:
    """Return whether a settings file has hooks of ours that a team commits."""
    return PORTABLE in launcher.content_of(path)


def share(
    workspace: Workspace, client: str, parts: Sequence[Part], *, is_wanted: bool
) -> list[Part]:
    """Return what of a client's files is ours, with the hooks in the file that a team commits where they are there
    already. `is_wanted` puts them there, and leaves out all that names this machine."""
    file = CLIENTS[client].shared
    found: list[Part] = []
    for part in parts:
        if not file or not isinstance(part, JsonPart) or not part.hooks:
            found += [] if is_wanted else [part]
            continue
        private = os.path.join(workspace.root, CLIENTS[client].files[0])
        path = os.path.join(workspace.root, file) if part.path == private else part.path
        if not is_wanted and not is_shared(path):
            found.append(part)
            continue
        groups = {event: [_make_portable(client, event, part)] for event in part.hooks}
        if path == part.path:
            found.append(replace(part, hooks=groups, members=[] if is_wanted else part.members))
            continue
        found += [] if is_wanted else [replace(part, hooks={})]
        found.append(JsonPart(path, hooks=groups))
    return found


def _make_portable(client: str, event: str, part: JsonPart) -> dict[str, Any]:
    """Return the group of one hook that works wherever its settings are checked out."""
    group: dict[str, Any] = part.hooks[event][0]
    (hook,) = group["hooks"]
    line = f'trap \'exit 0\' 0 && test -r "{PORTABLE}" && set -- {client} {event} && . "{PORTABLE}" 2>/dev/null'
    if event == STARTS and client != "gemini":  # which takes an answer in JSON only
        line += f"; test -r \"{PORTABLE}\" || test ! -d .git || test -e {SAID} || test -L {SAID} || {{ : >{SAID} && echo '{HINT}'; }}"
    line += "; exit 0"
    if client == "codex":  # which takes the user's own shell, whichever that is
        line = f"{launcher.SHELL} -c {shlex.quote(line)}"
    return {"hooks": [{**hook, "command": line}]}
