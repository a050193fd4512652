"""What a budget knows, as plain data."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NotRequired, TypedDict

    from holdfast.budgets.rules.thresholds import Limits

    How = Literal["warned", "acknowledged", "waiting", "stopped"]
    Verdict = Literal["go", "wait", "stop"]

    class Values(TypedDict):
        """What was measured or reported; None is unknown and never passes as zero."""

        cost: float | None
        context: float | None
        variance: float | None
        errors: float | None

    class Added(TypedDict):
        """What programs reported. Money in millionths; None: nobody reported any."""

        cost: int | None
        tokens: int
        errors: int
        recent_errors: list[str]

    class StepSum(TypedDict):
        cost: int | None
        tokens: int
        errors: int

    class Handled(TypedDict):
        """One (type, level) of one check, and what was done about it. `number` counts all of them,
        `entered` says that the session was not at this level before."""

        number: int
        type: str
        level: str
        value: float
        threshold: float
        how: How
        entered: bool

    class SeenLevels(TypedDict):
        """What a session was told: its levels, and when a checkpoint was suggested to it."""

        levels: dict[str, str]
        first_at: str
        suggested_at: str
        # The highest value of each type, since a person last lifted a stop.
        highest: NotRequired[dict[str, float]]

    class Pending(TypedDict):
        """An alert that waits for a person."""

        value: float
        threshold: float
        since: str
        session_id: str

    class Acknowledgment(TypedDict):
        """The first three stand in the file; `extra` are the keys that others wrote there."""

        acknowledged_at: str
        value_at_ack: float | None
        session_id: str
        level: str
        threshold: float | None
        until: float | None
        by: Any
        extra: dict[str, Any]
        # The alert that it answers; none in records of earlier versions.
        alert: NotRequired[Pending | None]

    class Lift(TypedDict):
        """A person's latest reset, and what they changed with it."""

        by: dict[str, Any]
        before: dict[str, Any]

    class Halt(TypedDict):
        """A stop that holds until a person lifts it."""

        reason: str
        type: str
        level: str
        value: float
        threshold: float
        at: str
        session_id: str
        waypoint: str
        last_turn: bool
        by: NotRequired[Any]

    class Position(TypedDict):
        """Where the work stands, for whoever resumes from a waypoint."""

        phase: Any
        plan: Any
        last_task_completed: str | None
        next_task: str | None

    class Saved(TypedDict):
        """The newest waypoint, as its file says it."""

        path: str
        content: dict[str, Any]

    class BudgetState(TypedDict):
        name: str
        opened: bool
        added: Added
        steps: dict[str, StepSum]
        values: Values
        levels: dict[str, str | None]
        last_check: str | None
        limits: Limits
        # Limits that stay: those that a person gave at a reset, and those that a flag lowered when a
        # waypoint was written.
        given: Limits
        lowered: Limits
        sessions: dict[str, SeenLevels]
        pending: dict[str, Pending]
        acknowledgments: dict[str, Acknowledgment]
        last_reset: str | None
        stopped: Halt | None
        waypoint: Saved | None
        crossings: int
        # Errors of a session that a person has put behind it, by session.
        forgiven: dict[str, int]
        extra: dict[str, dict[str, Any]]
        lift: NotRequired[Lift]

    class BudgetCheck(TypedDict):
        """The command that asks whether work may go on."""

        do: Literal["check"]
        values: Values
        limits: Limits
        flags: Limits
        actions: dict[str, dict[str, str]]
        session: str
        place: Position
        started_at: str
        checkpoint_at: str
        pause: int
        last_turn: bool
        # The types whose values the caller reported; the others were measured.
        reported: NotRequired[list[str]]
        # The types whose acknowledgment lacks the signature that is asked for.
        uncounted: NotRequired[list[str]]

    class Ruling(TypedDict):
        """What a check comes to."""

        verdict: Verdict
        handled: list[Handled]
        levels: dict[str, str | None]
        # Milliseconds since the session began, when it is time to suggest a checkpoint.
        elapsed: int | None


# So many of the newest sessions and errors are remembered.
SESSIONS_KEPT = 64
ERRORS_KEPT = 5
LONGEST_ERROR = 500


def initial(stream: str) -> BudgetState:
    return {
        "name": stream.partition(":")[2],
        "opened": False,
        "added": {"cost": None, "tokens": 0, "errors": 0, "recent_errors": []},
        "steps": {},
        "values": {"cost": None, "context": None, "variance": None, "errors": None},
        "levels": {},
        "last_check": None,
        "limits": {},
        "given": {},
        "lowered": {},
        "sessions": {},
        "pending": {},
        "acknowledgments": {},
        "last_reset": None,
        "stopped": None,
        "waypoint": None,
        "crossings": 0,
        "forgiven": {},
        "extra": {},
    }


def last_items(items: dict[str, Any], name: str, value: Any, most: int) -> dict[str, Any]:
    """The mapping with one entry renewed, as its newest; the oldest go."""
    kept = {**{key: old for key, old in items.items() if key != name}, name: value}
    return dict(list(kept.items())[-most:])
