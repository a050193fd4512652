"""The names, fields, types and numbers of FLEET; the names of agents, of their files, and of copies of these."""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.kernel.clock import HOUR, MINUTE
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NotRequired, TypedDict

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


LONGEST_ID = 64
_SECONDARY = "Secondary-"
_ENDING = ".json"


def check_agent(agent: str) -> str:
    """Return the id; refuse one that could not name a file. FLEET-04"""
    rest = agent[len(_SECONDARY) :]
    plain = rest.replace("-", "")
    known = agent.startswith(_SECONDARY) and plain.isascii() and plain.isalnum()
    if agent != PRIMARY and not (known and len(agent) <= LONGEST_ID and rest[-1] != "-"):
        raise Usage(
            f"{agent!r} is no agent's id.",
            hint=f"{PRIMARY}, or {_SECONDARY} and letters, digits and '-': Secondary-A, Secondary-B.",
        )
    return agent


def check_feature(feature: str) -> str:
    """Return the feature; refuse what is no folder's name. FLEET-07"""
    if not feature or feature in (".", "..") or any(sign in feature for sign in "/\\\0\n\r\t"):
        raise Usage(
            f"{feature!r} names no feature.",
            hint="A folder's name, such as feature_02_team_penalty.",
        )
    return feature


def type_of(agent: str) -> Literal["primary", "secondary"]:
    return "primary" if agent == PRIMARY else "secondary"


def stem_of(agent: str) -> str:
    """`Secondary-A` is `secondary_a` in file names, `Agent-Primary` is `primary`; FLEET-02."""
    return "primary" if agent == PRIMARY else agent.lower().replace("-", "_")


def agent_of(stem: str) -> str:
    """The id for a file's name; the agent's own spelling may differ in upper and lower case."""
    if stem == "primary":
        return PRIMARY
    kind, _, rest = stem.partition("_")
    return f"{kind.capitalize()}-{rest.replace('_', '-').upper()}"


def short_of(agent: str) -> str:
    """The name in a message file's title: `Primary`, `Secondary-A`."""
    return "Primary" if agent == PRIMARY else agent


def checkpoint_path(agent: str) -> str:
    return f"{CHECKPOINTS}/{stem_of(agent)}{_ENDING}"


def archive_path(agent: str, how: Literal["crashed", "aborted"], now: int) -> str:
    """FLEET-70, FLEET-74"""
    return f"{CHECKPOINTS}/{stem_of(agent)}_{how}_{now // 1000}{_ENDING}"


def is_archive(name: str) -> bool:
    """Whether a file's name is that of an archived checkpoint; AMB-FLEET-05."""
    stem, number = name.removesuffix(_ENDING).rpartition("_")[::2]
    return number.isascii() and number.isdigit() and stem.endswith(("_crashed", "_aborted"))


def backup_path(agent: str, now: int, copy: int = 1) -> str:
    """UTC, and a number of its own for a second one in the same second; AMB-FLEET-07."""
    stamp = clock.stamp(now)
    when = stamp[:10].replace("-", "") + "_" + stamp[11:19].replace(":", "")
    number = f"_{copy}" if copy > 1 else ""
    return f"{BACKUPS}/{stem_of(agent)}_{when}{number}{_ENDING}"


def is_backup(name: str, agent: str) -> bool:
    """`<stem>_<YYYYMMDD_HHMMSS>.json`, perhaps numbered, and of no other agent; AMB-FLEET-06."""
    stem = stem_of(agent)
    if not name.startswith(f"{stem}_") or not name.endswith(_ENDING):
        return False
    parts = name[len(stem) + 1 : -len(_ENDING)].split("_")
    lengths = [len(part) for part in parts]
    digits = all(part.isascii() and part.isdigit() for part in parts)
    return digits and (lengths == [8, 6] or (len(parts) == 3 and lengths[:2] == [8, 6]))


def message_path(sender: str, receiver: str) -> str:
    return f"{COMMS}/{stem_of(sender)}_to_{stem_of(receiver)}.md"


def readme_key(folder: str, agent: str, change: str) -> str:
    """The key of an edit of EPIC_README.md: a newer edit replaces one with the same key. `stale` and
    `recovered` share a key."""
    what = "stale" if change == "recovered" else change
    return f"{folder}/{stem_of(agent)}/{what}"
