"""One agent's life, for programs: `with workspace.agent("Secondary-A", feature=...) as me`."""

from __future__ import annotations

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet import agents
from holdfast.fleet.context import Post
from holdfast.fleet.epic import find
from holdfast.kernel.errors import NotFound
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Any

    from holdfast.fleet.agents import Told
    from holdfast.kernel.workspace import Workspace


class Member:
    """An agent that this program is. Entering begins its life, or resumes it; what it says afterwards
    is durable when the call returns. Leaving does not end it: `complete` does."""

    def __init__(
        self, workspace: Workspace, agent: str, *, feature: str = "", epic: str = "", actor: str
    ) -> None:
        self.agent = agent
        self._feature = feature
        self._workspace = workspace
        now = server_time.now(workspace)
        self._post = Post(find(workspace, epic), workspace, actor=actor, now=now)

    @property
    def fence(self) -> int:
        """The number of this life; larger than that of any life before."""
        if self._post.fence is None:
            raise NotFound(f"{self.agent} has not begun.", hint="Use it in a `with` statement.")
        return self._post.fence

    @property
    def checkpoint(self) -> dict[str, Any]:
        """What the agent's file says now."""
        return dict(self._now().agent(self.agent).state["checkpoint"] or {})

    def __enter__(self) -> Member:
        post = self._now()
        known = post.agent(self.agent)
        known.look()
        saved = known.state["checkpoint"]
        if saved is None or saved.get("status") == "COMPLETE":
            told = agents.start(post, self.agent, self._feature)
        else:
            told = agents.resume(post, self.agent)
        post.fence = told.fence
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return

    def beat(
        self,
        *,
        step: str = "",
        done: Sequence[str] = (),
        next: Sequence[str] = (),
        files: Sequence[str] = (),
        recovery: str = "",
        file_notes: Mapping[str, str] | None = None,
        committed: bool = False,
        busy_until: str = "",
        doing: str = "",
    ) -> None:
        """A heartbeat; what is not given stays as it was. Stopped is raised, after it was saved, while
        an emergency stop holds."""
        given = {"current_step": step, "recovery_instructions": recovery, "next_steps": list(next)}
        self._update(
            {
                "do": "beat",
                "set": {name: value for name, value in given.items() if value},
                "completed_steps": list(done),
                "files_modified": list(files),
                "file_notes": dict(file_notes or {}),
                "committed": committed,
                "busy_until": busy_until,
                "doing": doing,
            }
        )

    def block(self, blocker: str) -> None:
        """Something keeps the agent from working."""
        self._update({"do": "block", "blocker": blocker})

    def unblock(self, blocker: str = "") -> None:
        """It does no more; without a text, nothing does."""
        self._update({"do": "unblock", **({"blocker": blocker} if blocker else {})})

    def phase(self, stage: str, *, next: Sequence[str] = ()) -> None:
        """The transition to S2.P2 or S2.P3."""
        self._update({"do": "phase", "stage": stage, "next_steps": list(next)})

    def complete(self) -> None:
        """The feature is done, and free for others."""
        agents.complete(self._now(), self.agent)

    def _update(self, command: dict[str, Any]) -> Told:
        told = agents.update(self._now(), self.agent, command)
        refuse_stopped(self._workspace, "What was said is saved.")
        return told

    def _now(self) -> Post:
        """The same standpoint, at this moment."""
        self._post.now = server_time.now(self._workspace)
        return self._post
