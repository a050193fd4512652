"""The transitions between phases: which of them ask for a checkpoint, and which for a new context."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.rfc.rules.words import (
    DESIGN,
    DISCOVER,
    MAX_ROUNDS,
    REVIEW,
    REVIEWERS,
    Converge,
    heading_of,
    max_rounds,
    round_key,
    round_of,
    rounds_of,
    strictness_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from holdfast.rfc.rules.words import RfcState

    Restart = Literal["no", "yes", "pressure"]

    class Advice(TypedDict):
        """What a transition does, and what it asks of the agent."""

        transition: str
        source: str
        target: str
        group: str
        write: bool
        restart: bool
        why: str


class Transition:
    """From which phases, to which one, whose exit it is, and whether the context restarts."""

    __slots__ = ("exits", "restart", "sources", "target")

    def __init__(
        self, sources: tuple[str, ...], target: str, exits: str = "", restart: Restart = "no"
    ) -> None:
        self.sources = sources
        self.target = target
        self.exits = exits
        self.restart: Restart = restart


GATES = ("gate_a", "gate_b")
GATE_B = "gate-b"
# What an answer can be written for; `gate-b` is the round that failed last.
GROUPS = (DISCOVER, DESIGN, GATE_B, REVIEW)

# A phase without a checkpoint of its own may be passed over, so that the four trigger points in front
# are all that an agent needs to know.
TRANSITIONS: dict[str, Transition] = {
    "discover-design": Transition(("discover", "baseline_change"), "design", DISCOVER),
    "design-gate-a": Transition(("design",), "gate_a", DESIGN),
    "gate-b-fail": Transition(GATES, "design", GATE_B, "yes"),
    "review-reject": Transition((*GATES, "review"), "design", REVIEW, "pressure"),
    "gate-a-pass": Transition(("gate_a",), "gate_b"),
    "gate-a-fail": Transition(("gate_a",), "design"),
    "gate-b-pass": Transition(GATES, "review"),
    "review-approve": Transition((*GATES, "review"), "finalize"),
    "baseline-change": Transition(("finalize",), "baseline_change"),
}
# A change of an accepted baseline writes no checkpoint before its gate failed twice; AMB-RFC-23.
ROUNDS_OF_A_LOOP = 2
CHOICES = "cut the scope, accept the risk, or escalate the review"


def group_for(state: RfcState, group: str) -> str:
    """The key of the group that an answer is written to now."""
    if group != GATE_B:
        return group
    rounds = rounds_of(state["fields"])
    number = rounds + 1 if _counts(state) else rounds
    check_round(state, number)
    return round_key(number)


def counting(state: RfcState, key: str) -> int:
    """The round that writing this group counts as failed; 0 when it is counted already."""
    number = round_of(key)
    return number if number and _counts(state) else 0


def _counts(state: RfcState) -> bool:
    """Whether the gate is being left with a failure that nobody has counted yet."""
    rounds = rounds_of(state["fields"])
    in_gate = state["fields"].get("current_phase") in GATES
    return in_gate and not (rounds and state["counted"] == rounds)


def check_round(state: RfcState, number: int) -> None:
    """Refuse a round that the strictness has no room for; AMB-RFC-12."""
    fields = state["fields"]
    most, word = max_rounds(fields), strictness_of(fields).capitalize()
    if most == 0:
        raise HoldfastError(
            f"{word} has no Gate-B: after Gate-A comes the review.",
            hint="When the review rejects it: holdfast rfc transition review-reject",
            kind="no_gate_b",
        )
    if number < 1:
        raise HoldfastError(
            "Gate-B has not failed yet: there is no round to write about.",
            hint="When it fails: holdfast rfc transition gate-b-fail",
            kind="no_round",
        )
    if number > most:
        raise Converge(
            f"Round {number} is past the {most} rounds of {word}: Gate-B has to converge.",
            hint=f"A person decides: {CHOICES}.",
        )


def failed(fields: dict[str, Any], number: int) -> dict[str, Any]:
    """What a failed round changes in state.json."""
    return {
        "gate_a_result": "pass",
        "gate_b_round": number,
        "gate_b_result": "fail",
        "rejection_count": int(fields.get("rejection_count") or 0) + 1,
    }


def is_done(state: RfcState, name: str) -> bool:
    """Whether this transition is the one that led here: a retry changes nothing."""
    move = state["move"]
    return (
        move is not None
        and move["name"] == name
        and state["fields"].get("current_phase") == move["to"]
    )


def changes(state: RfcState, name: str, to: str) -> dict[str, Any]:
    """What a transition changes in state.json, without the times."""
    fields = state["fields"]
    target = _target(state, name, to)
    done: dict[str, Any] = {"current_phase": target}
    if name == "gate-b-fail":
        number = round_of(group_for(state, GATE_B))
        if counting(state, round_key(number)):
            done |= failed(fields, number)
        if target == "discover":
            done["detour_count"] = int(fields.get("detour_count") or 0) + 1
    elif name == "design-gate-a":
        done |= {"gate_a_result": None, "gate_b_result": None}
    elif name in ("gate-a-pass", "gate-a-fail"):
        done["gate_a_result"] = "pass" if name == "gate-a-pass" else "fail"
    elif name == "gate-b-pass":
        done |= {"gate_a_result": "pass", "gate_b_result": "pass"}
    elif name == "review-approve":
        done["baseline_accepted"] = True
    elif name == "baseline-change":
        strictness = max(strictness_of(fields), "standard", key=lambda word: MAX_ROUNDS[word])
        done |= {"gate_a_result": None, "gate_b_result": None, "gate_b_round": 0}
        done |= {"gate_b_max_rounds": MAX_ROUNDS[strictness]}
        done |= {"reviewer_count": REVIEWERS[strictness]}
    return done


def advise(
    state: RfcState,
    name: str,
    *,
    to: str = "",
    restart: bool | None = None,
    pressure: int | None = None,
    threshold: int,
) -> Advice:
    """Whether to write, and whether to restart, at a transition; refused when it cannot be made."""
    transition = _named(name)
    _check_source(state, name, transition)
    target = _target(state, name, to)
    number = rounds_of(state["fields"])
    group = transition.exits
    if group == GATE_B:
        group = group_for(state, GATE_B)
        number = round_of(group)
    # The bounded change of a baseline has no trigger points until its gate fails again and again.
    bounded = bool(state["fields"].get("baseline_accepted")) and number < ROUNDS_OF_A_LOOP
    write = bool(group) and not bounded
    asked, why = _restart(transition, target, write, restart, pressure, threshold)
    return {
        "transition": name,
        "source": str(state["fields"].get("current_phase", "")),
        "target": target,
        "group": group if write else "",
        "write": write,
        "restart": asked,
        "why": why,
    }


def _restart(
    transition: Transition,
    target: str,
    write: bool,
    wanted: bool | None,
    pressure: int | None,
    threshold: int,
) -> tuple[bool, str]:
    mandatory = transition.restart == "yes" and target == "design"
    if not write:
        if wanted:
            raise Usage("A restart is asked for at trigger points only.")
        return False, "not a trigger point"
    if mandatory:
        if wanted is False:
            raise Usage(
                "After a Gate-B failure the context restarts: that is not optional.",
                hint="Leave --no-restart out.",
            )
        return True, "rounds pile up: after a Gate-B failure the context always restarts"
    if wanted is not None:
        return wanted, "as you asked"
    if transition.restart == "yes":
        return True, "a detour after a Gate-B failure restarts unless --no-restart is given"
    if transition.restart == "pressure":
        if pressure is None:
            return False, f"no --pressure was given; above {threshold} % the context would restart"
        within = pressure <= threshold
        word = "within" if within else "above"
        return not within, f"context pressure {pressure} % is {word} {threshold} %"
    return False, "the context is still light"


def owed_after(state: RfcState, group: str) -> str:
    """The group that must still be written after a transition; nothing when it was, in this phase."""
    if not group or (round_of(group) and state["counted"] == round_of(group)):
        return ""
    since = state["move"]["version"] if state["move"] else 0
    for one in state["groups"]:
        if one["key"] == group and one["written"] > since and not round_of(group):
            return ""
    return group


def _named(name: str) -> Transition:
    if name not in TRANSITIONS:
        raise Usage(f"{name!r} is no transition.", hint=f"Known are: {', '.join(TRANSITIONS)}.")
    return TRANSITIONS[name]


def _check_source(state: RfcState, name: str, transition: Transition) -> None:
    phase = str(state["fields"].get("current_phase", ""))
    move = state["move"]
    if move is not None and move["owed"]:
        raise HoldfastError(
            f"{heading_of(move['owed'])} is not written yet: a checkpoint is always written.",
            hint=f"holdfast rfc prompt {word_of(move['owed'])}, then "
            f"holdfast rfc write {word_of(move['owed'])} with the answers.",
            kind="owed",
        )
    if phase not in transition.sources:
        possible = [other for other, one in TRANSITIONS.items() if phase in one.sources]
        raise HoldfastError(
            f"{name} begins in {' or '.join(transition.sources)}; {state['id']} is in {phase}.",
            hint=f"From here: {', '.join(possible) or 'none'}.",
            kind="wrong_phase",
        )


def word_of(key: str) -> str:
    """A group as the command line names it."""
    return GATE_B if round_of(key) else key


def owes(state: RfcState) -> str:
    """The word of the group that the last transition still waits for; nothing when none."""
    move = state["move"]
    return word_of(move["owed"]) if move and move["owed"] else ""


def _target(state: RfcState, name: str, to: str) -> str:
    target = TRANSITIONS[name].target
    if name == "gate-a-pass" and max_rounds(state["fields"]) == 0:
        return "review"
    if to and to != target and not (name == "gate-b-fail" and to == "discover"):
        raise Usage(f"{name} leads to {target}, not to {to}.")
    return to or target
