"""Our lines in a repository's `.git/info/exclude`: the settings that `init` made name paths of this machine,
so `git add -A` must not take them along."""

from __future__ import annotations

import os

from holdfast.kernel.workspace import worktrees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.clients.settings.files import Put
    from holdfast.kernel.workspace import Workspace

FIRST = "# Settings that `holdfast init` made: they name paths of this machine."
LAST = "# End of holdfast's lines; `holdfast uninstall` removes them."


class ExcludePart:
    """`patterns` are the lines that git shall not see."""

    def __init__(self, path: str, patterns: list[str]) -> None:
        self.path = path
        self._patterns = patterns

    def put(self, text: str) -> Put:
        block = "\n".join((FIRST, *self._patterns, LAST)) + "\n"
        if block in text:
            return {"text": text, "pieces": [], "notes": []}
        taken = self.take(text)
        piece = block if not taken or taken.endswith("\n") else f"\n{block}"
        return {"text": taken + piece, "pieces": [piece], "notes": []}

    def has_ours(self, text: str) -> bool:
        return self.take(text) != text

    def take(self, text: str) -> str:
        before, begun, rest = text.partition(f"{FIRST}\n")
        _, ended, after = rest.partition(f"{LAST}\n")
        return before + after if begun and ended else text

    def programs(self, text: str) -> list[str]:
        return []


def exclude_file(workspace: Workspace) -> str:
    return os.path.join(workspace.git_dir, "info", "exclude")


def exclude_part(workspace: Workspace, paths: Iterable[str]) -> ExcludePart | None:
    """Hide these files from git; None without git."""
    if not workspace.git_dir:
        return None
    roots = [os.path.realpath(root) for root in worktrees(workspace)]
    found = {
        f"/{os.path.relpath(path, root)}"
        for path in paths
        for root in roots
        if path.startswith(root + os.sep)
    }
    return ExcludePart(exclude_file(workspace), sorted(found))
