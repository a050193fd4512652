"""What the operations on agents share: their result, and what an emergency stop means for each.

An operation is `verb(context, request) -> AgentResult`. Every face calls it: the command line, MCP, the
hooks' entry, the page and the library.
"""

from __future__ import annotations

from holdfast.estop.stop import refuse_stopped
from holdfast.fleet import current_life
from holdfast.kernel.errors import HoldfastError, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypedDict, TypeVar

    from holdfast.fleet.context import FleetAgent, FleetContext
    from holdfast.fleet.current_life import CurrentLife
    from holdfast.fleet.rules.updates import Standing
    from holdfast.kernel.commit import Outcome

    class AgentRequest(TypedDict):
        """A request about one agent, by its id."""

        agent: str

    Request = TypeVar("Request")
    Operation = Callable[[FleetContext, Request], "AgentResult"]


class AgentResult:
    """What an operation did: the protocol's own lines, warnings, commands to go on with, and data."""

    def __init__(self, agent: FleetAgent) -> None:
        self.agent = agent
        self.lines: list[str] = []
        self.warnings: list[str] = []
        self.next: list[str] = []
        self.session = ""
        self.fence = 0
        self.queued = ""
        self.sync: Standing | None = None
        # Whether EPIC_README.md needs an edit.
        self.has_news = False

    def add(self, outcome: Outcome) -> None:
        """Take over what a write says: its fence, and the files that it could not write."""
        self.fence = outcome["fence"] or self.fence
        self.queued = outcome["queued"]
        for view in outcome["views"]:
            if view["status"] == "failed":
                self.warnings.append(
                    f"{view['path']} was not written: {view['reason']}. The record is safe."
                )

    def remember(self, life: CurrentLife, *, is_own: bool = True) -> None:
        """Let the commands after this one know which life they belong to."""
        try:
            current_life.remember(
                self.agent.context.worktree, self.agent.stream, life, is_own=is_own
            )
        except OSError as error:
            self.warnings.append(
                f"This worktree cannot remember its life ({error.strerror}): "
                f"say --fence {life['fence']} with each command."
            )

    def refuse_stopped(self) -> None:
        """Raise Stopped while an emergency stop holds; what the agent said is safe."""
        refuse_stopped(self.agent.context.worktree, "What you said is saved.")

    def data(self) -> dict[str, Any]:
        """The result for programs."""
        return {
            "agent_id": self.agent.id,
            "session_id": self.session,
            "fence": self.fence,
            "checkpoint": self.agent.state["checkpoint"],
            "path": self.agent.file,
            "queued": self.queued,
            "said": self.lines,
            "warnings": self.warnings,
            **({"sync": self.sync} if self.sync is not None else {}),
        }


def changes_life(operation: Operation[Request]) -> Operation[Request]:
    """An operation that begins, ends or repairs a life: refused while an emergency stop holds."""

    def run(context: FleetContext, request: Request) -> AgentResult:
        refuse_stopped(context.worktree)
        return _conclude(operation(context, request))

    return run


def updates_life(operation: Operation[Request]) -> Operation[Request]:
    """An operation of a living agent: saved even while an emergency stop holds. If it fails then, the
    stop is the answer."""

    def run(context: FleetContext, request: Request) -> AgentResult:
        try:
            return _conclude(operation(context, request))
        except Stopped:
            raise
        except HoldfastError as error:
            refuse_stopped(context.worktree, f"What you said was not saved: {error.message}")
            raise

    return run


def _conclude(result: AgentResult) -> AgentResult:
    """Write the agent's news into EPIC_README.md. What fails is a warning, and is tried again."""
    if result.has_news:
        from holdfast.fleet.epic_readme import deliver

        result.warnings += [
            f"EPIC_README.md was not written: {problem} It is tried again later."
            for problem in deliver(result.agent.context, result.agent.writer)
        ]
        result.agent.reload()
    return result
