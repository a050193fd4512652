"""Undo for programs: `workspace.undo.preview()`, `workspace.undo.run(back=2)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.kernel import clock
from holdfast.undo import operations
from holdfast.undo.operations import UndoRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.kernel.workspace import Workspace
    from holdfast.undo.operations import Row, UndoReport


class Undo:
    """What prompts changed in this work tree, and the way back."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._workspace = workspace
        self._actor = actor

    def prompts(self) -> list[Row]:
        """Return the prompts and undos, newest first."""
        return operations.list_prompts(self._workspace)

    def preview(
        self, back: int = 1, *, paths: Sequence[str] = (), redo: bool = False
    ) -> UndoReport:
        """Return what an undo of the last prompts would change, with a diff."""
        request = UndoRequest(back=back, paths=paths, redo=redo, with_diff=True)
        return operations.preview(self._workspace, request, now=clock.now())

    def run(
        self, back: int = 1, *, paths: Sequence[str] = (), redo: bool = False, commits: bool = False
    ) -> UndoReport:
        """Take back what the last prompts changed. NotAllowed for an agent; Conflict where files were changed since."""
        request = UndoRequest(back=back, paths=paths, redo=redo, commits=commits)
        return operations.undo(self._workspace, request, actor=self._actor, now=clock.now())
