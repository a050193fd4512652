"""What a command leaves to be written elsewhere: EPIC_README.md, tried now and kept when it fails."""

from __future__ import annotations

from holdfast.fleet.epic import Epic
from holdfast.fleet.epic_readme import handler
from holdfast.fleet.rules.model import EPIC_README
from holdfast.kernel import outbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.fleet.agents import Told
    from holdfast.journal.interface import Effect
    from holdfast.kernel.outbox import Delivery
    from holdfast.kernel.workspace import Workspace
    from holdfast.kernel.writer import Writer


def report(told: Told) -> None:
    """Try it for one agent's news; what fails is a warning."""
    known = told.agent
    for delivery in deliver(known.epic.workspace, known.writer, known.post.now):
        if not delivery["delivered"]:
            told.warnings.append(
                f"EPIC_README.md was not written: {delivery['error']} It is tried again later."
            )


def deliver(workspace: Workspace, writer: Writer, now: int) -> list[Delivery]:
    """Try what waits to be written into any epic's README."""

    def write(effect: Effect) -> None:
        handler(_epic_of(workspace, effect))(effect)

    return outbox.deliver(
        workspace.journal, {EPIC_README: write}, now, redactor=writer.redactor, seconds=5.0
    )


def _epic_of(workspace: Workspace, effect: Effect) -> Epic:
    folder = effect["stream"].partition(":")[2].rpartition("/")[0]
    worktree = effect["body"].get("worktree") or workspace.root
    # A life that ended here may have had its worktree on another machine.
    return Epic(workspace, folder).in_worktree(worktree)
