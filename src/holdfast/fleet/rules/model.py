"""The words of FLEET: what its files are called, what stands in them, and its numbers."""

from __future__ import annotations

from holdfast.kernel.clock import HOUR, MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    from holdfast.processes.agent_process import AgentProcess

    class Machine(TypedDict):
        """Where an agent's files are, when several machines share a journal: the machine's own random
        name, and what people call it."""

        id: str
        name: str

    class Pushed(TypedDict):
        """A snapshot of a life's work tree that others can fetch: its commit, and from which remote."""

        id: str
        commit: str
        remote: str
        at: str

    class Life(TypedDict):
        """One session of an agent, from its start to its end."""

        session: str
        started_at: str
        worktree: str
        process: AgentProcess | None
        transcript: str
        busy_until: str
        doing: str

    class Ending(TypedDict):
        """How a life ended, and who goes on: `by` is an agent's id, or empty. `archive` is where its
        file went, if it went anywhere."""

        how: str
        by: str
        at: str
        session: str
        archive: str

    class Arrival(TypedDict):
        """An agent waits at a sync point."""

        point: str
        at: str

    class AgentState(TypedDict):
        """What is known of one agent. `checkpoint` is its file, with whatever others put into it, and
        `text` that file as somebody else spelled it, until we write it again. `machine` is where
        `worktree` is, and `snapshot` the newest that its life has pushed."""

        agent: str
        folder: str
        worktree: str
        checkpoint: dict[str, Any] | None
        text: str
        life: Life | None
        past: list[Ending]
        file_notes: dict[str, str]
        has_status_file: bool
        ready_for_sync: bool
        sync: Arrival | None
        machine: NotRequired[Machine | None]
        snapshot: NotRequired[Pushed | None]


PRIMARY = "Agent-Primary"
CHECKPOINTS = "agent_checkpoints"
BACKUPS = f"{CHECKPOINTS}/backups"
COMMS = "agent_comms"
README = "EPIC_README.md"
UNREAD = "⏳ UNREAD"

# The kind of effect that writes into EPIC_README.md.
EPIC_README = "epic_readme"

# In the order of the file; FLEET-03.
FIELDS = (
    "agent_id",
    "agent_type",
    "session_id",
    "feature",
    "stage",
    "phase",
    "last_checkpoint",
    "next_checkpoint_expected",
    "status",
    "can_resume",
    "blockers",
    "files_modified",
    "recovery_instructions",
    "current_step",
    "completed_steps",
    "next_steps",
    "coordination_state",
)
COORDINATION_FIELDS = (
    "last_inbox_check",
    "unread_messages",
    "last_epic_readme_update",
    "last_status_update",
)
TYPES = ("primary", "secondary")
STAGES = ("S2.P1", "S2.P2", "S2.P3")
STATUSES = ("IN_PROGRESS", "WAITING", "BLOCKED", "COMPLETE")
# The phase that a stage begins with, as the checkpoint says it.
PHASES = {
    "S2.P1": "Research Phase - Starting",
    "S2.P2": "Specification - Starting",
    "S2.P3": "Refinement - Starting",
}
COMPLETE_PHASE = "Refinement - Complete"
TASKS = {
    "S2.P1": [
        "Read S2.P1 guide",
        "Phase 0: Discovery Context Review",
        "Phase 1: Targeted Research",
    ],
    "S2.P2": [
        "Read S2.P2 guide",
        "Write spec.md Requirements",
        "Write Acceptance Criteria",
        "Create checklist.md questions",
        "Transition to S2.P3",
    ],
    "S2.P3": [
        "Read S2.P3 guide",
        "Resolve checklist.md questions",
        "Compare spec.md with the other features",
        "Signal completion and wait for S3",
    ],
}

CADENCE = 15 * MINUTE  # FLEET-11, FLEET-20
WARNING_AFTER = 30  # minutes, floored, strictly more; FLEET-45
STALE_AFTER = 60  # minutes, floored, strictly more; FLEET-44
MINIMAL_WORK = 30 * MINUTE  # less than this may be restarted from scratch; FLEET-73
BACKUPS_KEPT = 10  # FLEET-79
LOCK_EXPIRES = 5 * MINUTE

# Soft and hard limits of the points where all agents wait for each other.
SYNC_POINTS = {"S2-S3": (4 * HOUR, 6 * HOUR), "S4-S5": (2 * HOUR, 3 * HOUR)}
