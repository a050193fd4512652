"""An epic in a git repository, with a clock of its own, and agents in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.fleet import agents, monitor, recovery, roster, updates
from holdfast.fleet.context import AgentResult, FleetAgent, FleetContext
from holdfast.fleet.epic import find
from holdfast.kernel import clock
from holdfast.kernel.workspace import discover

if TYPE_CHECKING:
    from holdfast.fleet.monitor import CheckResult
    from holdfast.fleet.roster import AgentEntry

START = clock.parse("2026-01-15T14:30:00Z")
FEATURE = "feature_02_team_penalty"
A, B, C, PRIMARY = "Secondary-A", "Secondary-B", "Secondary-C", "Agent-Primary"


class Scene:
    """The epic at the top of a worktree. `now` moves only when a test says so."""

    def __init__(self, root: Path, *, epic: str = "") -> None:
        self.root = root
        self.workspace = discover(str(root))
        self.epic = find(self.workspace, epic)
        self.folder = Path(self.epic.root)
        self.now = START

    def context(self, fence: int | None = None) -> FleetContext:
        return FleetContext(self.epic, self.workspace, actor="test", now=self.now, fence=fence)

    def later(self, minutes: float) -> Scene:
        self.now += int(minutes * clock.MINUTE)
        return self

    def start(self, agent: str = A, feature: str = FEATURE) -> AgentResult:
        return agents.start(self.context(), agent, feature=feature)

    def update(self, agent: str = A, *, fence: int | None = None, **command: Any) -> AgentResult:
        return updates.update(self.context(fence), agent, {"do": "beat", **command})

    def beat(self, agent: str = A, **fields: Any) -> AgentResult:
        return self.update(agent, set=fields)

    def resume(self, agent: str = A, **options: Any) -> AgentResult:
        return agents.resume(self.context(), agent, **options)

    def takeover(self, old: str = A, new: str = C, *, yes: bool = True) -> AgentResult:
        return recovery.takeover(self.context(), old, by=new, yes=yes)

    def restart(self, agent: str = A, **options: Any) -> AgentResult:
        return recovery.restart(self.context(), agent, **options)

    def check(self, *, primary: bool = False) -> CheckResult:
        return monitor.check(self.context(), primary=primary)

    def listing(self) -> dict[str, AgentEntry]:
        entries = roster.listing(self.epic, self.now)
        return {entry["agent_id"]: entry for entry in entries}

    def agent(self, agent: str = A) -> FleetAgent:
        return self.context().agent(agent)

    def path(self, stem: str = "secondary_a") -> Path:
        return self.folder / "agent_checkpoints" / f"{stem}.json"

    def file(self, stem: str = "secondary_a") -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.path(stem).read_text("utf-8"))
        return value

    def names(self) -> list[str]:
        folder = self.folder / "agent_checkpoints"
        return sorted(name for name in os.listdir(folder) if name.endswith(".json"))

    def backups(self) -> list[Path]:
        folder = self.folder / "agent_checkpoints" / "backups"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def write(self, stem: str = "secondary_b", **fields: Any) -> Path:
        """What an agent does that follows the protocol's own shell snippets."""
        content = {
            **checkpoint(self.now),
            "agent_id": "Secondary-B" if stem == "secondary_b" else A,
            **fields,
        }
        path = self.path(stem)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
        return path

    def messages(self, channel: str) -> str:
        return (self.folder / "agent_comms" / f"{channel}.md").read_text("utf-8")


def checkpoint(now: int, **fields: Any) -> dict[str, Any]:
    """The second example of the protocol, at another time."""
    at = clock.stamp(now)
    return {
        "agent_id": A,
        "agent_type": "secondary",
        "session_id": "abc123def456",
        "feature": "feature_03_other",
        "stage": "S2.P2",
        "phase": "Specification - In Progress",
        "last_checkpoint": at,
        "next_checkpoint_expected": clock.stamp(now + 15 * clock.MINUTE),
        "status": "IN_PROGRESS",
        "can_resume": True,
        "blockers": [],
        "files_modified": ["feature_03_other/spec.md"],
        "recovery_instructions": "Resume from S2.P2 Specification Phase. spec.md is 80% complete.",
        "current_step": "Writing Acceptance Criteria in spec.md",
        "completed_steps": ["S2.P1 complete (Research Phase)"],
        "next_steps": ["Complete Acceptance Criteria", "Transition to S2.P3"],
        "coordination_state": {
            "last_inbox_check": at,
            "unread_messages": 0,
            "last_epic_readme_update": at,
            "last_status_update": at,
        },
        **fields,
    }
