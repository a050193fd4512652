"""The data model of RFC: phases, groups, sections, limits, and the state of a stream."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.kernel.text import quote, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    from holdfast.kernel.conflicts import EditConflict

    class Section(TypedDict):
        """A `### ` heading and its bullets of one line each."""

        title: str
        bullets: list[str]

    class Group(TypedDict):
        """A `## ... Exit` of the checkpoint, and the checkpoint version that wrote it.

        `by_hand` lists the bullets that a person wrote into the file.
        """

        key: str
        sections: list[Section]
        written: int
        by_hand: NotRequired[list[str]]

    class Extra(TypedDict):
        """A `## ` heading that the protocol does not define, with its lines unchanged."""

        title: str
        lines: list[str]

    class Artifacts(TypedDict):
        """What rfc.md and evidence.json held. Without a file, `rfc` is "" and `evidence` is -1."""

        rfc: str
        evidence: int
        evidence_digest: str

    class Meta(TypedDict):
        """The `## Meta` of the checkpoint, without the values that state.json holds."""

        last_phase: str
        artifacts: Artifacts
        round: int
        extra: list[str]

    class Move(TypedDict):
        """The last transition: the checkpoint version at that time, whether it asked for a restart,
        and the group that it still owes."""

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
        # The Gate-B round that was counted as failed while the RFC is still in the gate, else 0.
        counted: int
        # When a person ended it without its being accepted, else missing or "".
        closed: NotRequired[str]
        conflicts: NotRequired[list[EditConflict]]

    Bounds = dict[str, tuple[int, int | None]]


NO_ARTIFACTS: Artifacts = {"rfc": "", "evidence": -1, "evidence_digest": ""}
FOLDER = ".ohrfc"
CHECKPOINT_FILE, STATE_FILE = "checkpoint.md", "state.json"
RFC_FILE, EVIDENCE_FILE, SUMMARY_FILE = "rfc.md", "evidence.json", ".reviews/summary.json"

MOST_LINES = 200
MOST_GROUP_LINES = 40
KEPT_ROUNDS = 2
LONGEST_BULLET = 2000
LONGEST_ID = 64
CHARACTERS_PER_TOKEN = 4
# A larger number in a file is an error: it would not fit where rounds are written.
LARGEST_COUNT = 999_999_999

PHASES = split_words("init discover design gate_a gate_b review finalize baseline_change")
STRICTNESS = ("light", "standard", "full")
MAX_ROUNDS = {"light": 0, "standard": 2, "full": 3}
REVIEWERS = {"light": 0, "standard": 3, "full": 4}

DISCOVER, DESIGN, REVIEW = "discover", "design", "review"
ROUND = "gate_b_round_"
GATE_B = "gate-b"
# The words that the commands use for groups; `gate-b` is the round that failed last.
GROUPS = (DISCOVER, DESIGN, GATE_B, REVIEW)

# Title: fewest and most bullets. None: the protocol sets no maximum.
DISCOVER_SECTIONS: Bounds = {
    "User Intent Signals": (3, 7),
    "Scan Insights": (2, 4),
    "Active Tensions": (1, 3),
}
DESIGN_SECTIONS: Bounds = {
    "Design Reasoning Notes": (0, 7),
    "Decision Interdependencies": (2, 5),
    "Tricky Sections": (1, 3),
}
TENSIONS_UPDATED = "Active Tensions Updated"
FEEDBACK_SECTIONS: Bounds = {
    "Reviewer Feedback Digest": (3, 5),
    "What Changed This Round": (1, 3),
    TENSIONS_UPDATED: (3, None),
}
LABELS = ("Resolved", "Intensified", "New")
NOTHING = "none"
# The sections that a bootstrap shows first; RFC-43.
ATTENTION = ("Active Tensions", TENSIONS_UPDATED, "Reviewer Feedback Digest")


class BudgetExceeded(HoldfastError):
    """The answers do not fit, even after every lossless step."""

    kind = "over_budget"


class BootstrapError(HoldfastError):
    """The files do not allow to enter a phase; a person has to decide."""

    kind = "bootstrap"


class ConvergenceError(HoldfastError):
    """Gate-B failed as often as the strictness allows."""

    kind = "convergence"


# The stream and its files


def stream_of(id: str) -> str:
    """The stream of an RFC. An id that cannot name a folder is refused."""
    # A purge puts its mark in the place of a text in a name.
    plain = id.replace("[purged]", "x").replace("-", "").replace("_", "").replace(".", "")
    if not plain.isalnum() or id.startswith((".", "-")) or len(id) > LONGEST_ID:
        raise Usage(
            f"{id!r:.80} cannot name an RFC.",
            hint=f"Letters, digits, '-', '_' and '.', at most {LONGEST_ID}, no '.' or '-' in front.",
        )
    return f"rfc:{id}"


def path_of(id: str, name: str) -> str:
    return f"{FOLDER}/{id}/{name}"


def unknown(id: str) -> NotFound:
    return NotFound(f"There is no RFC {id} here.", hint=f"Begin it: holdfast rfc init {quote(id)}")


# Groups


def round_of(key: str) -> int:
    """The number of a Gate-B group, or 0 for other groups."""
    digits = key.removeprefix(ROUND)
    is_round = key.startswith(ROUND) and digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if is_round else 0


def heading_of(key: str) -> str:
    """`DISCOVER Exit`, `Gate-B Round 2 Exit`."""
    known = {DISCOVER: "DISCOVER Exit", DESIGN: "DESIGN Exit", REVIEW: "REVIEW Reject Exit"}
    return known.get(key) or f"Gate-B Round {round_of(key)} Exit"


def key_of(heading: str) -> str:
    """The group of a `## ` heading, ignoring case; "" if the protocol does not define it."""
    words = heading.lower().split()
    number = words[2] if len(words) == 4 else ""
    for key in (DISCOVER, DESIGN, REVIEW, f"{ROUND}{number}"):
        if words == heading_of(key).lower().split() and (key in GROUPS or round_of(key)):
            return key
    return ""


def word_of(key: str) -> str:
    """The word that the commands use for a group."""
    return GATE_B if round_of(key) else key


def phase_of(key: str) -> str:
    """The phase of a group as `last_checkpoint_phase` in state.json names it."""
    return "gate_b" if round_of(key) else key


def sections_of(key: str) -> Bounds:
    """The sections of a group with their bounds."""
    return {DISCOVER: DISCOVER_SECTIONS, DESIGN: DESIGN_SECTIONS}.get(key, FEEDBACK_SECTIONS)


def is_feedback(key: str) -> bool:
    """Whether a group is a Gate-B round or a rejected review."""
    return key not in (DISCOVER, DESIGN)


def order_of(key: str) -> tuple[int, int]:
    """Sort key: DISCOVER, DESIGN, the rounds in ascending order, the review."""
    return {DISCOVER: 0, DESIGN: 1, REVIEW: 3}.get(key, 2), round_of(key)


def in_order(groups: list[Group]) -> list[Group]:
    return sorted(groups, key=lambda group: order_of(group["key"]))


def sections_in(state: RfcState, key: str) -> list[Section]:
    return next((group["sections"] for group in state["groups"] if group["key"] == key), [])


def bullets_in(group: Group, title: str) -> list[str]:
    return next((one["bullets"] for one in group["sections"] if one["title"] == title), [])


# Values of state.json


def max_rounds(fields: dict[str, Any]) -> int:
    """How often Gate-B may fail: from state.json, else from the strictness."""
    value = fields.get("gate_b_max_rounds")
    return value if type(value) is int else MAX_ROUNDS[strictness_of(fields)]


def strictness_of(fields: dict[str, Any]) -> str:
    word = str(fields.get("strictness", "")).lower()
    return word if word in STRICTNESS else "standard"


def rounds_of(fields: dict[str, Any]) -> int:
    """How often Gate-B failed so far."""
    return _count(fields, "gate_b_round")


def version_of(fields: dict[str, Any]) -> int:
    return _count(fields, "checkpoint_version")


def _count(fields: dict[str, Any], key: str) -> int:
    value = fields.get(key, 0)
    return value if isinstance(value, int) and value > 0 else 0


def is_open(fields: dict[str, Any]) -> bool:
    """Whether an RFC is not accepted yet, or its baseline is being changed."""
    accepted = fields.get("baseline_accepted") and fields.get("current_phase") == "finalize"
    return bool(fields) and not accepted


def is_active(state: RfcState) -> bool:
    """Whether an RFC is open, and no person has closed it."""
    return is_open(state["fields"]) and not state.get("closed")


def owed_by(state: RfcState) -> str:
    """The word of the group that the last transition still waits for, or ""."""
    move = state["move"]
    return word_of(move["owed"]) if move and move["owed"] else ""


def wants_restart(state: RfcState) -> bool:
    return bool(state["move"] and state["move"]["restart"])
