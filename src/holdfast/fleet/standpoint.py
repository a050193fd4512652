"""From where a face speaks for an agent, and that an emergency stop is its answer."""

from __future__ import annotations

import os

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet.context import Post
from holdfast.fleet.epic import find
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.fleet.agents import Told
    from holdfast.kernel.workspace import Workspace

LARGEST_FENCE = 2**63


def standpoint(
    workspace: Workspace,
    epic: str,
    *,
    folder: str,
    actor: str,
    now: int,
    fence: int | None = None,
) -> Post:
    """The standpoint of a call. HOLDFAST_FENCE says which life a script is, as `fence` does. Where the
    journal is on a server, its time counts and not this machine's."""
    said = os.environ.get("HOLDFAST_FENCE", "")
    if fence is None and said:
        fence = int(said) if said.isascii() and said.isdigit() else -1
    if fence is not None and not 0 <= fence < LARGEST_FENCE:
        raise Usage(f"{said or fence} is no fence.", hint="The number that `agent start` gave.")
    try:
        place = find(workspace, epic, base=folder)
        if place.workspace.url:
            now = server_time.now(place.workspace)
    except HoldfastError as error:
        refuse_stopped(workspace, f"What you said was not saved: {error.message}")
        raise
    return Post(place, workspace, actor=actor, now=now, fence=fence)


def carried_out(post: Post, act: Callable[[], Told]) -> Told:
    """What a living agent says. Under an emergency stop that is the answer, whether it could be saved
    or not."""
    try:
        return act()
    except HoldfastError as error:
        refuse_stopped(post.worktree, f"What you said was not saved: {error.message}")
        raise


def concluded(told: Told) -> None:
    """What follows from news of an agent. Under an emergency stop the answer is that, though what was
    said is safe."""
    if told.has_news:
        from holdfast.fleet.reports import report

        report(told)
    refuse_stopped(told.agent.post.worktree, "What you said is saved.")
