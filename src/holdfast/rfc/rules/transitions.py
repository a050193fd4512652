"""The transitions between phases: which of them write a checkpoint, and which restart the context."""

from __future__ import annotations

from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import quote
from holdfast.rfc.rules.model import (
    DESIGN,
    DISCOVER,
    GATE_B,
    MAX_ROUNDS,
    REVIEW,
    REVIEWERS,
    ROUND,
    ConvergenceError,
    heading_of,
    max_rounds,
    round_of,
    rounds_of,
    strictness_of,
    word_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from holdfast.rfc.rules.model import RfcState

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
    """The phases a transition leaves, the one it enters, the group it writes, the restart, and the
    results that it sets in state.json."""

    def __init__(
        self,
        sources: tuple[str, ...],
        target: str,
        exits: str = "",
        restart: Restart = "no",
        **results: str | bool | None,
    ) -> None:
        self.sources = sources
        self.target = target
        self.exits = exits
        self.restart: Restart = restart
        self.results = results


GATES = ("gate_a", "gate_b")
# The first four are the trigger points. They may skip phases without a checkpoint, so that an agent
# needs only these four.
TRANSITIONS: dict[str, Transition] = {
    "discover-design": Transition(("discover", "baseline_change"), "design", DISCOVER),
    "design-gate-a": Transition(
        ("design",), "gate_a", DESIGN, gate_a_result=None, gate_b_result=None
    ),
    "gate-b-fail": Transition(GATES, "design", GATE_B, "yes"),
    "review-reject": Transition((*GATES, "review"), "design", REVIEW, "pressure"),
    "gate-a-pass": Transition(("gate_a",), "gate_b", gate_a_result="pass"),
    "gate-a-fail": Transition(("gate_a",), "design", gate_a_result="fail"),
    "gate-b-pass": Transition(GATES, "review", gate_a_result="pass", gate_b_result="pass"),
    "review-approve": Transition((*GATES, "review"), "finalize", baseline_accepted=True),
    "baseline-change": Transition(
        ("finalize",), "baseline_change", gate_a_result=None, gate_b_result=None
    ),
}
# A change of an accepted baseline writes no checkpoint before its gate failed twice; AMB-RFC-23.
ROUNDS_OF_A_LOOP = 2


# Rounds of Gate-B


def group_for(state: RfcState, word: str) -> str:
    """The key of the group that an answer for this word is written to now."""
    if word != GATE_B:
        return word
    number = rounds_of(state["fields"]) + (1 if _counts(state) else 0)
    _check_round(state, number)
    return f"{ROUND}{number}"


def round_to_count(state: RfcState, key: str) -> int:
    """The round that writing this group counts as failed, or 0 if it is counted already."""
    return round_of(key) if _counts(state) else 0


def _counts(state: RfcState) -> bool:
    """Whether the RFC is in a gate whose failure is not counted yet."""
    rounds = rounds_of(state["fields"])
    in_gate = state["fields"].get("current_phase") in GATES
    return in_gate and not (rounds and state["counted"] == rounds)


def _check_round(state: RfcState, number: int) -> None:
    """Refuse a round that the strictness does not allow; AMB-RFC-12."""
    fields, id = state["fields"], state["id"]
    most, word = max_rounds(fields), strictness_of(fields).capitalize()
    if most == 0:
        raise HoldfastError(
            f"{word} has no Gate-B: after Gate-A comes the review.",
            hint=f"When the review rejects it: holdfast rfc transition review-reject {quote(id)}",
            kind="no_gate_b",
        )
    if number < 1:
        raise HoldfastError(
            "Gate-B has not failed yet: there is no round to write about.",
            hint=f"When it fails: holdfast rfc transition gate-b-fail {quote(id)}",
            kind="no_round",
        )
    if number > most:
        raise ConvergenceError(
            f"Round {number} is past the {most} rounds of {word}: Gate-B has to converge.",
            hint="A person decides: cut the scope, accept the risk, or escalate the review.",
        )


def count_failure(fields: dict[str, Any], number: int) -> dict[str, Any]:
    """The changes that a failed round makes in state.json."""
    return {
        "gate_a_result": "pass",
        "gate_b_round": number,
        "gate_b_result": "fail",
        "rejection_count": int(fields.get("rejection_count") or 0) + 1,
    }


# Moving


def is_done(state: RfcState, name: str) -> bool:
    """Whether this transition was the last one: repeating it changes nothing."""
    move = state["move"]
    return (
        move is not None
        and move["name"] == name
        and state["fields"].get("current_phase") == move["to"]
    )


def changes(state: RfcState, name: str, to: str) -> dict[str, Any]:
    """The changes that a transition makes in state.json, without the times."""
    fields = state["fields"]
    target = _target(state, name, to)
    changed: dict[str, Any] = {"current_phase": target, **TRANSITIONS[name].results}
    if name == "gate-b-fail":
        number = round_to_count(state, group_for(state, GATE_B))
        if number:
            changed |= count_failure(fields, number)
        if target == "discover":
            changed["detour_count"] = int(fields.get("detour_count") or 0) + 1
    elif name == "baseline-change":
        strictness = max(strictness_of(fields), "standard", key=lambda word: MAX_ROUNDS[word])
        changed |= {"gate_b_round": 0, "gate_b_max_rounds": MAX_ROUNDS[strictness]}
        changed |= {"reviewer_count": REVIEWERS[strictness]}
    return changed


def advise(state: RfcState, command: Any) -> Advice:
    """Whether to write and whether to restart at the transition of a `move` command. A transition
    that is not possible now is refused."""
    name = command["name"]
    if name not in TRANSITIONS:
        raise Usage(f"{name!r} is no transition.", hint=f"Known are: {', '.join(TRANSITIONS)}.")
    transition = TRANSITIONS[name]
    _check_source(state, name, transition)
    target = _target(state, name, command.get("to", ""))
    group = group_for(state, transition.exits)
    number = round_of(group) or rounds_of(state["fields"])
    bounded = bool(state["fields"].get("baseline_accepted")) and number < ROUNDS_OF_A_LOOP
    write = bool(group) and not bounded
    restart, why = _restart(transition, target, write, command)
    return {
        "transition": name,
        "source": str(state["fields"].get("current_phase", "")),
        "target": target,
        "group": group if write else "",
        "write": write,
        "restart": restart,
        "why": why,
    }


def _restart(transition: Transition, target: str, write: bool, command: Any) -> tuple[bool, str]:
    wanted, pressure = command.get("restart"), command.get("pressure")
    threshold = command["threshold"]
    if not write:
        if wanted:
            raise Usage("A restart is asked for at trigger points only.")
        return False, "not a trigger point"
    if transition.restart == "yes" and target == "design":
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
    if transition.restart == "no":
        return False, "the context is still light"
    if pressure is None:
        return False, f"no --pressure was given; above {threshold} % the context would restart"
    above = pressure > threshold
    return above, f"context pressure {pressure} % is {'above' if above else 'within'} {threshold} %"


def owed_after(state: RfcState, group: str) -> str:
    """The group that is still to be written after a transition, or "" if it was, in this phase."""
    if round_of(group):
        return "" if state["counted"] == round_of(group) else group
    since = state["move"]["version"] if state["move"] else 0
    written = [one["written"] for one in state["groups"] if one["key"] == group]
    return "" if any(version > since for version in written) else group


def _check_source(state: RfcState, name: str, transition: Transition) -> None:
    phase = str(state["fields"].get("current_phase", ""))
    owed = state["move"]["owed"] if state["move"] else ""
    if owed:
        raise HoldfastError(
            f"{heading_of(owed)} is not written yet: a checkpoint is always written.",
            hint=f"`holdfast rfc prompt {word_of(owed)} {quote(state['id'])}` asks the questions, and "
            f"`holdfast rfc write {word_of(owed)} {quote(state['id'])}` takes the answers.",
            kind="owed",
        )
    if phase not in transition.sources:
        possible = [other for other, one in TRANSITIONS.items() if phase in one.sources]
        raise HoldfastError(
            f"{name} begins in {' or '.join(transition.sources)}; {state['id']} is in {phase}.",
            hint=f"From here: {', '.join(possible) or 'none'}.",
            kind="wrong_phase",
        )


def _target(state: RfcState, name: str, to: str) -> str:
    target = TRANSITIONS[name].target
    if name == "gate-a-pass" and max_rounds(state["fields"]) == 0:
        return "review"
    if to and to != target and not (name == "gate-b-fail" and to == "discover"):
        raise Usage(f"{name} leads to {target}, not to {to}.")
    return to or target
