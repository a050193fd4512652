"""What the verbs about agents share: where they stand, and how they answer."""

from __future__ import annotations

from holdfast.cli.frame import Reply, warn
from holdfast.cli.terminal import safe
from holdfast.estop.stop import refuse_stopped
from holdfast.fleet.standpoint import carried_out as carried_out
from holdfast.fleet.standpoint import concluded, standpoint
from holdfast.kernel import latch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.cli.frame import Call
    from holdfast.fleet.agents import Told
    from holdfast.fleet.context import Post
    from holdfast.fleet.roster import Entry


def post_of(call: Call, epic: str | None, fence: int | None = None) -> Post:
    """The standpoint of a call."""
    return standpoint(
        call.workspace,
        epic or "",
        folder=call.folder,
        actor=call.actor,
        now=call.now,
        fence=fence,
    )


def beginning_post(call: Call, epic: str | None) -> Post:
    """The standpoint of a call that begins or ends a life: under an emergency stop nothing does."""
    refuse_stopped(call.workspace)
    return post_of(call, epic)


def reply(told: Told, *, next: Sequence[str] = (), **more: Any) -> Reply:
    """The protocol's own lines for people, the checkpoint for programs. Under an emergency stop the
    answer is that, though what was said is safe."""
    concluded(told)
    for warning in told.warnings:
        warn(warning)
    state = told.agent.state
    data = {
        "agent_id": told.agent.id,
        "session_id": told.session,
        "fence": told.fence,
        "checkpoint": state["checkpoint"],
        "path": told.agent.file,
        "queued": told.queued,
        "said": told.lines,
        "warnings": told.warnings,
        **more,
    }
    return Reply(data, [safe(line) for line in told.lines], next=next)


def roster_of(post: Post) -> list[Entry]:
    """Everybody, as the settings want them judged."""
    from holdfast.fleet.roster import listing
    from holdfast.kernel import config

    workspace = post.epic.workspace
    settings = config.load(workspace, workspace.journal if workspace.exists() else None)
    return listing(post.epic, post.now, inclusive=bool(settings["fleet.inclusive"]))


def stop_of(post: Post) -> str:
    """What holds everybody back, if anything does."""
    stopped = latch.read(post.worktree)
    return stopped["reason"] if stopped else ""
