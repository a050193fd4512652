"""Move an RFC from phase to phase, and say what the protocol asks for at that point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.kernel import config
from holdfast.kernel.errors import Usage
from holdfast.rfc.bootstrap import read_review
from holdfast.rfc.reader import Reader, RfcContext, state_after
from holdfast.rfc.rules.model import BootstrapError, rounds_of, version_of
from holdfast.rfc.rules.rfc import decide
from holdfast.rfc.rules.transitions import TRANSITIONS, advise, is_done
from holdfast.rfc.write import Answers, command_for, enter, execute, result_of

if TYPE_CHECKING:
    from holdfast.kernel.commit import Outcome
    from holdfast.rfc.rules.model import RfcState
    from holdfast.rfc.rules.transitions import Advice
    from holdfast.rfc.write import WriteResult


@dataclass(frozen=True, kw_only=True)
class TransitionRequest:
    """A transition by its name. `answers` writes the group of the phase in the same step."""

    id: str = ""
    name: str
    to: str = ""
    restart: bool | None = None
    pressure: int | None = None
    answers: Answers | None = None
    dry_run: bool = False
    accept_versions: bool = False


class TransitionResult(TypedDict):
    """What a transition did, and what it asks for. `owed` is the group still to be written."""

    id: str
    advice: Advice
    owed: str
    round: int
    repeated: bool
    written: WriteResult | None
    warnings: list[str]
    outcome: Outcome | None


def transition(context: RfcContext, request: TransitionRequest) -> TransitionResult:
    """Leave a phase: change state.json, and write the answers if they are given."""
    with Reader(context.workspace) as reader:
        state = enter(context, reader, request.id, request.dry_run, request.accept_versions)
        command = _command(context, request)
        repeated = is_done(state, request.name)
        advice = None if repeated else advise(state, command)
        given: list[str] = []
        if request.answers is not None:
            exits = TRANSITIONS[request.name].exits
            if not exits:
                raise Usage(f"{request.name} is no trigger point: there is nothing to answer.")
            command["answers"], given = command_for(reader, state, exits, request.answers)
        outcome: Outcome | None = None
        warnings: list[str] = []
        if request.dry_run:
            after = state_after(state, decide(state, command, context.now).records)
            taken = version_of(after["fields"]) > version_of(state["fields"])
        else:
            outcome, warnings = execute(context, state["id"], command)
            queued = bool(outcome["queued"])
            after = state if queued else reader.stored(state["id"])[0]
            kinds = {record["kind"] for record in outcome["records"]}
            # Another process may have made the transition since we read the state.
            repeated = "moved" not in kinds and not queued
            taken = "written" in kinds or queued
        if repeated or advice is None:
            advice = _repeated_advice(after, request.name)
        if advice["restart"]:
            warnings += _check_restart(reader, after)
        written = result_of(after, given, outcome) if command["answers"] and taken else None
    return {
        "id": state["id"],
        "advice": advice,
        "owed": after["move"]["owed"] if after["move"] else "",
        "round": rounds_of(after["fields"]),
        "repeated": repeated,
        "written": written,
        "warnings": warnings,
        "outcome": outcome,
    }


def _command(context: RfcContext, request: TransitionRequest) -> dict[str, Any]:
    return {
        "do": "move",
        "name": request.name,
        "to": request.to,
        "restart": request.restart,
        "pressure": request.pressure,
        "threshold": int(config.load(context.workspace)["rfc.pressure"]),
        "answers": None,
    }


def _repeated_advice(state: RfcState, name: str) -> Advice:
    """A repeated transition asks for the same as the first time."""
    move = state["move"]
    assert move is not None
    return {
        "transition": name,
        "source": move["to"],
        "target": move["to"],
        "group": move["owed"],
        "write": bool(move["owed"]),
        "restart": move["restart"],
        "why": "made already",
    }


def _check_restart(reader: Reader, state: RfcState) -> list[str]:
    """Warn if the bootstrap after the restart would fail, while this context can still repair it."""
    if not rounds_of(state["fields"]):
        return []
    try:
        read_review(reader, state["id"])
    except BootstrapError as refusal:
        return [f"After the restart, {refusal.message} Write it before you restart."]
    return []
