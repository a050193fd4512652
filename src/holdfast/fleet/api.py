"""One agent, for programs: `with workspace.agent("Secondary-A", feature=...) as me`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.fleet import agents, messages, updates
from holdfast.fleet.context import open_context
from holdfast.fleet.rules.model import CHECKPOINTS, COMMS
from holdfast.fleet.sync import sync
from holdfast.kernel import clock
from holdfast.kernel.errors import NotFound
from holdfast.kernel.git_exclude import hide_new
from holdfast.kernel.workspace import Workspace
from holdfast.offers import Offers

if TYPE_CHECKING:
    from holdfast.fleet.context import FleetContext, Operation
    from holdfast.fleet.messages import InboxResult, SendResult


class Member:
    """The agent that this program is. Entering starts its life, or resumes it. Leaving does not end the
    life: `complete` does.

    Each update is durable when its call returns. While an emergency stop holds, an update is saved and
    then raises `Stopped`.
    """

    def __init__(
        self, workspace: Workspace, agent: str, *, feature: str = "", epic: str = "", actor: str
    ) -> None:
        self.agent = agent
        self._feature = feature
        self._context = open_context(workspace, epic, actor=actor, now=clock.now())
        self._has_begun = False

    @property
    def fence(self) -> int:
        """The number of this life; larger than that of any life before."""
        if not self._has_begun or self._context.fence is None:
            raise NotFound(f"{self.agent} has not begun.", hint="Use it in a `with` statement.")
        return self._context.fence

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The fields of the agent's checkpoint now."""
        return dict(self._now().agent(self.agent).state["checkpoint"] or {})

    def __enter__(self) -> Member:
        epic = self._context.epic
        hide_new(epic.workspace, map(epic.path, (CHECKPOINTS, COMMS)))
        result = agents.start(self._now(), self.agent, self._feature, or_resume=True)
        self._context.fence = result.fence
        self._has_begun = True
        return self

    def __exit__(self, *_: object) -> None:
        return

    def beat(self, **fields: Any) -> dict[str, Any]:
        """Send a heartbeat; what is not given stays as it was.

        The `fields` are texts (`step`, `recovery`, `stage`, `phase`, `status`, `busy_until`, `doing`, `transcript`), lists
        of texts (`done`, `next`, `files`), `file_notes`, a text for each file, and `committed`.
        """
        return self._update(updates.beat, **fields)

    def block(self, blocker: str, *, recovery: str | None = None) -> dict[str, Any]:
        """Report what keeps the agent from working."""
        return self._update(updates.block, blocker=blocker, recovery=recovery)

    def unblock(self, blocker: str = "") -> dict[str, Any]:
        """Resolve one blocker; without a text, all of them."""
        return self._update(updates.unblock, blocker=blocker)

    def phase(self, stage: str, *, next: Sequence[str] = ()) -> dict[str, Any]:
        """Go on to the stage S2.P2 or S2.P3."""
        return self._update(updates.phase, stage=stage, next=next)

    def sync(self, point: str, *, wait: bool = False) -> dict[str, Any]:
        """Arrive at a sync point: S2-S3 or S4-S5. With `wait`, return once all agents are there."""
        return self._update(sync, point=point, wait=wait)

    def complete(self) -> dict[str, Any]:
        """Report the feature as done; other agents may own it from then on."""
        return self._update(updates.complete)

    def send(
        self,
        to: str,
        subject: str,
        *,
        action: str = "",
        details: str = "",
        next: str = "",
        acknowledge: str = "",
    ) -> SendResult:
        """Send a message to another agent."""
        fields = {"action": action, "details": details, "next": next, "acknowledge": acknowledge}
        return messages.send(self._now(), to, sender=self.agent, subject=subject, **fields)

    def inbox(self, *, unread: bool = True, keep_unread: bool = False) -> InboxResult:
        """Read the messages of other agents; they count as read then, unless `keep_unread` is set."""
        return messages.inbox(self._now(), self.agent, unread=unread, keep_unread=keep_unread)

    def _update(self, operation: Operation[...], **given: Any) -> dict[str, Any]:
        result = operation(self._now(), self.agent, **given)
        result.refuse_stopped()
        return result.data()

    def _now(self) -> FleetContext:
        self._context.refresh()
        return self._context


def agent(opened: Offers, agent: str, *, feature: str = "", epic: str = "") -> Member:
    """Return the agent that this program is; use it in a `with` statement."""
    return Member(opened.place, agent, feature=feature, epic=epic, actor=opened.actor)
