"""The names, fields, types and numbers of FLEET."""

from __future__ import annotations

from holdfast.kernel.clock import HOUR, MINUTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    from holdfast.kernel.conflicts import EditConflict
    from holdfast.processes.agent_process import AgentProcess

    class Machine(TypedDict):
        """The machine with an agent's files, when several share a journal: its random id, and its host
        name."""

        id: str
        name: str

    class Pushed(TypedDict):
        """A snapshot of a life's work tree that other machines can fetch from a remote."""

        id: str
        commit: str
        remote: str
        at: str

    class Origin(TypedDict):
        """Where the work of a life was before: the agent that did it, its worktree, and a snapshot of that
        worktree, if there is one. `machine` is empty for this one; another machine's snapshot was pushed
        to `remote` at a time."""

        agent: str
        worktree: str
        machine: str
        snapshot: str
        remote: str
        at: str

    class AgentLife(TypedDict):
        """One session of an agent, from its start to its end. A life that `takeover` or `restart` made
        `awaits` its session: until one starts it, it has no process. A life is `launched` if a
        person or a script typed the command that began it: its process is then not the agent's own."""

        session: str
        started_at: str
        worktree: str
        process: AgentProcess | None
        transcript: str
        busy_until: str
        doing: str
        awaits: NotRequired[bool]
        launched: NotRequired[bool]

    class Ending(TypedDict):
        """How a life ended. `by` is the agent that goes on, or empty; `archive` is the path of the archived
        file, or empty."""

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
        """One agent. `checkpoint` has the fields of its file, also unknown ones; `text` is the file as
        another program wrote it, until holdfast writes it again. `machine` has the `worktree`,
        `snapshot` is the newest that its life has pushed, `origin` is where its work came from, and
        `backups` are the names of its last backups in the order of writing."""

        agent: str
        folder: str
        worktree: str
        checkpoint: dict[str, Any] | None
        text: str
        life: AgentLife | None
        past: list[Ending]
        file_notes: dict[str, str]
        has_status_file: bool
        ready_for_sync: bool
        sync: Arrival | None
        machine: NotRequired[Machine | None]
        snapshot: NotRequired[Pushed | None]
        origin: NotRequired[Origin | None]
        backups: NotRequired[list[str]]
        conflicts: NotRequired[list[EditConflict]]


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
# The phase at the beginning of each stage.
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
