"""Take a snapshot of the work tree, and send it where the user wants it kept."""

from __future__ import annotations

from holdfast.fleet import transfer
from holdfast.kernel import failures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.git.trailers import Snapshot
    from holdfast.kernel.workspace import Workspace


def create_snapshot(
    workspace: Workspace, *, actor: str, now: int, session: str = "", unattended: bool = False
) -> tuple[Snapshot, list[str]]:
    """Take a snapshot, and push it where `snapshot.remote` names a remote; what went wrong there.

    `unattended` also writes the problems down for `holdfast status`: a hook starts this in a process
    whose output no person sees."""
    made = transfer.take_snapshot(workspace, now, session=session)
    problems = transfer.push_if_configured(workspace, actor=actor)
    if unattended:
        for problem in problems:
            failures.note(workspace, "snapshot push", problem, now)
    return made, problems
