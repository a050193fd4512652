"""What the verbs about agents share: where they stand, and how they answer."""

from __future__ import annotations

import os

from holdfast.cli.frame import Reply, warn
from holdfast.cli.terminal import safe
from holdfast.emergency import refuse_stopped
from holdfast.fleet.epic import find
from holdfast.fleet.post import Post
from holdfast.kernel import latch
from holdfast.kernel.errors import HoldfastError, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from holdfast.cli.frame import Call
    from holdfast.fleet.lives import Told
    from holdfast.fleet.roster import Entry

LARGEST_FENCE = 2**63


def post_of(call: Call, epic: str | None, fence: int | None = None) -> Post:
    """The standpoint of a call. HOLDFAST_FENCE says which life a script is, as --fence does."""
    said = os.environ.get("HOLDFAST_FENCE", "")
    if fence is None and said:
        fence = int(said) if said.isascii() and said.isdigit() else -1
    if fence is not None and not 0 <= fence < LARGEST_FENCE:
        raise Usage(f"{said or fence} is no fence.", hint="The number that `agent start` gave.")
    try:
        place = find(call.workspace, epic or "", base=call.folder)
    except HoldfastError as error:
        refuse_stopped(call.workspace, f"What you said was not saved: {error.message}")
        raise
    return Post(place, call.workspace, actor=call.actor, now=call.now, fence=fence)


def beginning_post(call: Call, epic: str | None) -> Post:
    """The standpoint of a call that begins or ends a life: under an emergency stop nothing does."""
    refuse_stopped(call.workspace)
    return post_of(call, epic)


def carried_out(post: Post, act: Callable[[], Told]) -> Told:
    """What a living agent says. Under an emergency stop that is the answer, whether it could be saved
    or not."""
    try:
        return act()
    except HoldfastError as error:
        refuse_stopped(post.worktree, f"What you said was not saved: {error.message}")
        raise


def reply(told: Told, *, next: Sequence[str] = (), **more: Any) -> Reply:
    """The protocol's own lines for people, the checkpoint for programs. Under an emergency stop the
    answer is that, though what was said is safe."""
    if told.has_news:
        from holdfast.fleet.reports import report

        report(told)
    refuse_stopped(told.agent.post.worktree, "What you said is saved.")
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
