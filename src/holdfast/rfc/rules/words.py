"""The words and numbers of RFC: phases, groups, sections, ranges, budgets, and how a state looks."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    class Section(TypedDict):
        """A `### ` heading and its bullets, each of one line."""

        title: str
        bullets: list[str]

    class Group(TypedDict):
        """A `## ... Exit` of the checkpoint; `written` is the version that it was written in,
        `by_hand` the bullets that came in through the file."""

        key: str
        sections: list[Section]
        written: int
        by_hand: NotRequired[list[str]]

    class Extra(TypedDict):
        """A `## ` heading that is not ours, with its lines as they were found."""

        title: str
        lines: list[str]

    class Artifacts(TypedDict):
        """What rfc.md and evidence.json were. `rfc` is "" when there was none, `evidence` is -1."""

        rfc: str
        evidence: int
        evidence_digest: str

    class Meta(TypedDict):
        """The Meta of the checkpoint, without what state.json says too."""

        last_phase: str
        artifacts: Artifacts
        round: int
        extra: list[str]

    class Move(TypedDict):
        """The last transition, the checkpoint's version then, whether it asked for a restart, and
        the group that it still owes."""

        name: str
        to: str
        version: int
        restart: bool
        owed: str

    class RfcState(TypedDict):
        id: str
        fields: dict[str, Any]
        meta: Meta
        groups: list[Group]
        extra: list[Extra]
        move: Move | None
        # The Gate-B round whose failure was counted while the RFC stays in the gate; 0 for none.
        counted: int


FOLDER = ".ohrfc"
CHECKPOINT_FILE, STATE_FILE = "checkpoint.md", "state.json"
RFC_FILE, EVIDENCE_FILE, SUMMARY_FILE = "rfc.md", "evidence.json", ".reviews/summary.json"

MOST_LINES = 200
MOST_GROUP_LINES = 40
KEPT_ROUNDS = 2
# A bullet is a signal: about as much as fits on a screen, refused beyond, never cut.
LONGEST_BULLET = 2000
CHARACTERS_PER_TOKEN = 4
# No honest file counts further; a larger number would not fit where rounds are written.
LARGEST_COUNT = 999_999_999
LONGEST_ID = 64

PHASES = (
    *("init", "discover", "design", "gate_a", "gate_b", "review", "finalize", "baseline_change"),
)
STRICTNESS = ("light", "standard", "full")
MAX_ROUNDS = {"light": 0, "standard": 2, "full": 3}
REVIEWERS = {"light": 0, "standard": 3, "full": 4}

DISCOVER, DESIGN, REVIEW = "discover", "design", "review"
ROUND = "gate_b_round_"

# title: (fewest bullets, most bullets); None where the protocol names no bound.
DISCOVER_SECTIONS: dict[str, tuple[int, int | None]] = {
    "User Intent Signals": (3, 7),
    "Scan Insights": (2, 4),
    "Active Tensions": (1, 3),
}
DESIGN_SECTIONS: dict[str, tuple[int, int | None]] = {
    "Design Reasoning Notes": (0, 7),
    "Decision Interdependencies": (2, 5),
    "Tricky Sections": (1, 3),
}
TENSIONS_UPDATED = "Active Tensions Updated"
FEEDBACK_SECTIONS: dict[str, tuple[int, int | None]] = {
    "Reviewer Feedback Digest": (3, 5),
    "What Changed This Round": (1, 3),
    TENSIONS_UPDATED: (3, None),
}
LABELS = ("Resolved", "Intensified", "New")
NOTHING = "none"
# Read these before the rest; RFC-43.
ATTENTION = ("Active Tensions", TENSIONS_UPDATED, "Reviewer Feedback Digest")


class BudgetExceeded(HoldfastError):
    """More than the protocol has room for, after everything that loses nothing was tried."""

    kind = "over_budget"


class BootstrapError(HoldfastError):
    """A phase cannot be entered from what the files say; a person has to decide."""

    kind = "bootstrap"


class Converge(HoldfastError):
    """Gate-B failed as often as the strictness allows."""

    kind = "convergence"


def round_key(number: int) -> str:
    return f"{ROUND}{number}"


def round_of(key: str) -> int:
    """The number of a Gate-B group; 0 for every other."""
    digits = key.removeprefix(ROUND)
    if not key.startswith(ROUND) or not (digits.isascii() and digits.isdigit()):
        return 0
    return int(digits) if len(digits) < 10 else 0


def sections_of(key: str) -> dict[str, tuple[int, int | None]]:
    """The sections of a group with their bounds."""
    return {DISCOVER: DISCOVER_SECTIONS, DESIGN: DESIGN_SECTIONS}.get(key, FEEDBACK_SECTIONS)


def heading_of(key: str) -> str:
    """`DISCOVER Exit`, `Gate-B Round 2 Exit`."""
    named = {DISCOVER: "DISCOVER Exit", DESIGN: "DESIGN Exit", REVIEW: "REVIEW Reject Exit"}
    return named.get(key) or f"Gate-B Round {round_of(key)} Exit"


def key_of(heading: str) -> str:
    """The group of a `## ` heading, whatever its case; "" when it is none of ours."""
    words = heading.lower().split()
    for key in (DISCOVER, DESIGN, REVIEW):
        if words == heading_of(key).lower().split():
            return key
    if len(words) == 4 and words[:2] == ["gate-b", "round"] and words[3] == "exit":
        key = round_key(0)[:-1] + words[2]
        return key if round_of(key) else ""
    return ""


def is_feedback(key: str) -> bool:
    """A Gate-B round or a rejected review."""
    return key not in (DISCOVER, DESIGN)


def order_of(key: str) -> tuple[int, int]:
    """DISCOVER, DESIGN, the rounds ascending, the review."""
    place = {DISCOVER: 0, DESIGN: 1, REVIEW: 3}.get(key, 2)
    return place, round_of(key)


def phase_of(key: str) -> str:
    """What state.json calls the phase of a group: `last_checkpoint_phase`."""
    return "gate_b" if round_of(key) else key


def max_rounds(fields: dict[str, Any]) -> int:
    """How often Gate-B may fail: what state.json says, or what the strictness allows."""
    said = fields.get("gate_b_max_rounds")
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    return MAX_ROUNDS[strictness_of(fields)]


def strictness_of(fields: dict[str, Any]) -> str:
    word = str(fields.get("strictness", "")).lower()
    return word if word in STRICTNESS else "standard"


def rounds_of(fields: dict[str, Any]) -> int:
    """How often Gate-B failed so far."""
    said = fields.get("gate_b_round", 0)
    return said if isinstance(said, int) and said > 0 else 0


def version_of(fields: dict[str, Any]) -> int:
    said = fields.get("checkpoint_version", 0)
    return said if isinstance(said, int) and said > 0 else 0


def is_open(fields: dict[str, Any]) -> bool:
    """Still worked on: not accepted yet, or being changed."""
    return bool(fields) and not (
        fields.get("baseline_accepted") and fields.get("current_phase") == "finalize"
    )
