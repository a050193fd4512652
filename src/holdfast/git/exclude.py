"""Keep files that a program's call makes out of git's untracked files, with lines in `.git/info/exclude`.

A person who runs a protocol's commands wants its files. A program that asks for a loop or an agent wants the
loop and the agent: what appears in its repository must not reach the next `git add -A`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from holdfast.kernel.plain_file import read_plain, write_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.kernel.workspace import Workspace

HEADING = "# Made by a program through holdfast. Remove a line, and git sees the files again.\n"


def hide_new(workspace: Workspace, paths: Iterable[str]) -> None:
    """Hide those of these files and folders that do not exist yet. What exists is the project's own, and a
    line that a person removed does not come back."""
    new = [path for path in paths if not os.path.lexists(os.path.join(workspace.root, path))]
    if not new or not workspace.git_dir:
        return
    file = os.path.join(workspace.git_dir, "info", "exclude")
    if os.path.islink(os.path.dirname(file)):
        return
    try:
        known = _read(file)
        lines = [f"/{path}" for path in new if f"/{path}" not in known.splitlines()]
        if not lines:
            return
        os.makedirs(os.path.dirname(file), exist_ok=True)
        heading = "" if HEADING in known else HEADING
        gap = "" if not known or known.endswith("\n") else "\n"
        text = gap + heading + "".join(f"{line}\n" for line in lines)
        # An archive can bring a link or a pipe of this name.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(file, flags | os.O_CLOEXEC, 0o644)
        try:
            write_all(descriptor, text.encode("utf-8", "surrogateescape"))
        finally:
            os.close(descriptor)
    except OSError:
        return  # a sandbox may not write there; the files are then seen


def _read(file: str) -> str:
    try:
        return read_plain(file, follow=False).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return ""
