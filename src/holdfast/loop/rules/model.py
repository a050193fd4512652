"""The names, numbers and types of LOOP: steps, statuses, superpowers, and the keys of a track's file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from holdfast.kernel.clock import MINUTE
from holdfast.kernel.text import split_words

if TYPE_CHECKING:
    from holdfast.kernel.conflicts import EditConflict


# Where something stands in the document: keys, and positions in lists.
Path = list[str | int]


class Escalation(TypedDict):
    """Why the orchestrator paused, and at which step."""

    step: str
    reason: str


class LoopState(TypedDict):
    """A track: its file as data, the order of its keys, and what the file has no place for."""

    track: str
    folder: str
    # False until there is something to show; a stream that was only looked at shows nothing.
    opened: bool
    document: dict[str, Any]
    # Pointer of an object to its keys, where they do not stand in our own order.
    order: dict[str, list[str]]
    # The newest record, to which a broken file can be restored.
    last: str
    attempts: int
    escalated: Escalation | None
    # Edits by hand of values that changed meanwhile.
    conflicts: NotRequired[list[EditConflict]]


METADATA = "metadata.json"
HISTORY = "checkpoint-history.jsonl"
TRACKS = "conductor/tracks"

NOT_STARTED, IN_PROGRESS = "NOT_STARTED", "IN_PROGRESS"
PASSED, FAILED, BLOCKED = "PASSED", "FAILED", "BLOCKED"
STATUSES = (NOT_STARTED, IN_PROGRESS, PASSED, FAILED, BLOCKED)
SKIPPED = "SKIPPED"  # read, never written; AMB-LOOP-11

BRAINSTORM, PLAN, EVALUATE_PLAN = "BRAINSTORM", "PLAN", "EVALUATE_PLAN"
EXECUTE, EVALUATE_EXECUTION, FIX = "EXECUTE", "EVALUATE_EXECUTION", "FIX"
BUSINESS_SYNC, COMPLETE = "BUSINESS_SYNC", "COMPLETE"
# In the order in which a track goes through them.
STEPS = (
    BRAINSTORM,
    PLAN,
    EVALUATE_PLAN,
    EXECUTE,
    EVALUATE_EXECUTION,
    FIX,
    BUSINESS_SYNC,
    COMPLETE,
)
# The last one is where a track ends: it is reached, never run.
RUNNABLE = STEPS[:-1]
EVALUATIONS = (EVALUATE_PLAN, EVALUATE_EXECUTION)

SUPERPOWERS = {
    "superpowers:brainstorming": BRAINSTORM,
    "superpowers:writing-plans": PLAN,
    "superpowers:executing-plans": EXECUTE,
    "superpowers:systematic-debugging": FIX,
}
OWNERS = {step: superpower for superpower, step in SUPERPOWERS.items()}

MAX_FIX_CYCLES = 3
MAX_ROUNDS = 50
PROGRESS_EVERY = 5 * MINUTE  # PLAN alone is timed; AMB-LOOP-13
LONGEST_TRACK = 100
LONGEST_TEXT = 10_000
MOST_TASKS = 20_000
ACTIVE, RESOLVED = "ACTIVE", "RESOLVED"
ERROR_PREFIX, BLOCKED_PREFIX = "ERROR: ", "BLOCKED: "
FIX_LIMIT = "Fix cycle limit exceeded ({count} cycles)"

# What a report of progress may say of a step: its type, and its meaning.
PROGRESS: dict[str, tuple[type, str]] = {
    "current_phase": (int, "Number of the current phase."),
    "total_phases": (int, "Number of phases in total."),
    "current_task": (str, "Task in progress."),
    "tasks_completed": (int, "Number of completed tasks."),
    "tasks_total": (int, "Number of tasks in total."),
    "issues_fixed": (int, "Number of issues that FIX has fixed."),
    "issues_total": (int, "Number of issues in total."),
    "current_issue": (str, "Issue that FIX works on."),
}
PROGRESS_NUMBERS = ("current_phase", "total_phases", "tasks_completed", "tasks_total")
# Counters that stand at the checkpoint's level and are mirrored into `progress`; AMB-LOOP-03.
COUNTERS = ("tasks_completed", "tasks_total", "issues_fixed", "issues_total")
# All that may stand in both places. Where it does, both say the same.
MIRRORED = (*COUNTERS, "last_task", "last_commit", "current_issue")
# The tasks by name, beside the count of them: what makes an exact resume possible.
DONE_TASKS = "completed_tasks"

# Our own order of keys, for every object of the file at once: no two of its parts disagree on it.
KEYS = split_words(
    "version track_id type id description blocked_at blocked_step status created_at updated_at started_at "
    "completed_at resolved_at required agent cycle progress current_phase total_phases current_task "
    f"tasks_completed tasks_total {DONE_TASKS} last_task last_commit commits sha message task issues_fixed "
    "issues_total current_issue fixes_applied fixes_remaining issue fix commit_sha output_files notes "
    "last_updated loop_state current_step step_status step_started_at fix_cycle_count max_fix_cycles checkpoints "
    f"{' '.join(STEPS)} lead_consultations discovered_work blockers"
)
RANK = {key: position for position, key in enumerate(KEYS)}
