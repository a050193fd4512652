"""What only a person may do to a budget: acknowledge an alert, and lift a stop."""

from __future__ import annotations

import os
from typing import Any, Literal, TypedDict

from holdfast.budgets import counted, stop
from holdfast.budgets.check import Budget, place_of
from holdfast.budgets.limits import (
    PROJECT_FILE,
    WAYPOINT,
    InForce,
    describe_raised,
    find_raised,
    in_force,
)
from holdfast.budgets.measure import gather
from holdfast.budgets.rules import boxes, thresholds
from holdfast.budgets.rules.boxes import amount
from holdfast.budgets.rules.budget import list_stated, make_halt
from holdfast.budgets.rules.documents import (
    ACKNOWLEDGMENTS,
    ALERT_STOP,
    is_outdated,
    read_acknowledgments,
)
from holdfast.budgets.rules.ledger import Acknowledgment, BudgetState, Halt
from holdfast.budgets.rules.thresholds import ALERT, ALL_TYPES, QUANTITIES, STOP, Limits
from holdfast.clients.table import own_id
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.rules import Person, Unparsable
from holdfast.kernel.signatures import sign
from holdfast.kernel.signatures import text_of as make_text
from holdfast.kernel.text import quote
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.people import person as people
from holdfast.session import sessions

# An acknowledgment that no person of ours gave.
STATED = "stated in the file"


class Answered(TypedDict):
    """What became of an alert: `acknowledged` by a person now or before, or `stopped` by them."""

    answer: Literal["acknowledged", "already", "stopped"]
    type: str
    value: float | None
    until: float | None
    by: Person | None
    waypoint: str


class Reset(TypedDict):
    cleared: list[str]
    lifted: Halt | None
    limits: Limits
    by: Person | None
    last_reset: str | None
    # The alerts that still wait for a person.
    waiting: list[str]
    # Limits of a program's `--limit` that no longer count; the program may give them again.
    dropped: Limits


def acknowledge(
    budget: Budget,
    type: str,
    *,
    until: float | None,
    now: int,
    person: Person | None = None,
    goes_on: bool = True,
) -> Answered:
    """Let the work go on at an alert that waits, or halt it. Without a `person`, such as the one who signed
    in to the page, the one at the terminal is asked: 'ack' lets it go on, anything else halts it."""
    state = budget.state()
    value = _find_alert(state, type, until)
    if value is None:
        if type in find_stated(budget):
            return _confirm_at_terminal(budget, type, until, person, now)
        return _answered_before(state, type)
    threshold = state["pending"][type]["threshold"]
    limit = thresholds.number_at(state["limits"], STOP, type)
    box, purpose = boxes.alert(type, value, threshold, limit), counted.purpose_of_answer(type)
    if person is None:
        person = people.require(budget.workspace, purpose, now=now)
        people.show(box)
        goes_on = people.ask(f"{boxes.QUESTION} ").strip().lower() == "ack"
    else:
        person = people.refuse_made_up(budget.workspace, purpose, person, now=now)
    if not goes_on:
        return _halt(budget, state, type, person)
    return _answer(budget, state, type, person, until, box)


def find_stated(budget: Budget) -> dict[str, Acknowledgment]:
    """Return the acknowledgments that stand only in the protocol's file, also before its first look."""
    state = budget.state()
    if state["opened"]:
        return list_stated(state)
    try:
        text = text_of(read_file(os.path.join(budget.workspace.root, ACKNOWLEDGMENTS))[1])
        found, reset, _ = read_acknowledgments(text)
    except (OSError, Unreadable, Unparsable):
        return {}
    known = {type: one for type, one in found.items() if type in ALL_TYPES}
    return {type: one for type, one in known.items() if not is_outdated(one, reset)}


def describe_stated(type: str, stated: Acknowledgment) -> str:
    value = stated["value_at_ack"]
    at = "" if value is None else f" at {amount(type, value)}"
    when = stated["acknowledged_at"]
    return f"{ACKNOWLEDGMENTS} states that {type} was acknowledged{at}, {when}."


def _confirm_at_terminal(
    budget: Budget, type: str, until: float | None, person: Person | None, now: int
) -> Answered:
    stated, purpose = find_stated(budget)[type], counted.purpose_of_answer(type)
    shown = [describe_stated(type, stated), "If you say so, it counts."]
    person = people.require(budget.workspace, purpose, shown, now=now, person=person)
    return confirm(budget, type, person, until)


def confirm(budget: Budget, type: str, person: Person, until: float | None = None) -> Answered:
    """Let an acknowledgment that stands only in the protocol's file count, for a person who was seen."""
    stated = find_stated(budget)[type]
    said, subject = {"answer": "ack", "until": until}, counted.subject_of_answer(type, None)
    purpose, saw = counted.purpose_of_answer(type), describe_stated(type, stated)
    signed = make_text(purpose, subject, said, saw)
    person = sign(budget.workspace, person, signed, command=f"holdfast guard ack {quote(type)}")
    budget.execute_now({"do": "open"}, now=clock.parse(person["at"]))
    command = {"do": "ack", "type": type, "until": until, "by": person, "session": own_id()}
    budget.execute_now(command, now=clock.parse(person["at"]))
    value = stated["value_at_ack"]
    return Answered(
        answer="acknowledged", type=type, value=value, until=until, by=person, waypoint=""
    )


def _find_alert(state: BudgetState, type: str, until: float | None) -> float | None:
    """The value of an alert that waits; None when none does."""
    if type not in ALL_TYPES:
        raise Usage(f"{type!r:.40} is not one of {', '.join(ALL_TYPES)}.")
    if type not in state["pending"]:
        return None
    value = _value(state, type)
    if until is not None and until <= value:
        raise Usage(
            f"The ceiling {amount(type, until)} is reached already: {type} is at "
            f"{amount(type, value)}."
        )
    return value


def _answer(
    budget: Budget,
    state: BudgetState,
    type: str,
    person: Person,
    until: float | None,
    box: list[str],
) -> Answered:
    alert, said = state["pending"][type], {"answer": "ack", "until": until}
    subject = counted.subject_of_answer(type, alert)
    signed = make_text(counted.purpose_of_answer(type), subject, said, "\n".join(box))
    person = sign(budget.workspace, person, signed, command=f"holdfast guard ack {quote(type)}")
    command: dict[str, Any] = {"do": "ack", "type": type, "until": until, "by": person}
    command["session"] = own_id()
    if type in budget.uncounted():
        command["alert"] = alert
    outcome = budget.execute_now(command, now=clock.parse(person["at"]))
    answer: Any = "acknowledged" if outcome["records"] else "already"
    value = _value(state, type)
    return Answered(answer=answer, type=type, value=value, until=until, by=person, waypoint="")


def _answered_before(state: BudgetState, type: str) -> Answered:
    if state["stopped"] is not None:
        raise Conflict(
            f"A stop holds: {stop.describe(state['stopped'])}.",
            hint="holdfast guard reset lifts it.",
        )
    known = state["acknowledgments"].get(type)
    if known is None:
        raise NotFound(f"No alert of {type} waits.", hint="holdfast guard check looks at them all.")
    value, until, by = known["value_at_ack"], known["until"], known["by"]
    return Answered(answer="already", type=type, value=value, until=until, by=by, waypoint="")


def _halt(budget: Budget, state: BudgetState, type: str, person: Person) -> Answered:
    """The person said anything but 'ack': a waypoint is written, and no agent goes on."""
    now, said = clock.parse(person["at"]), {"session": own_id(), "last_turn": False}
    value, threshold = _value(state, type), state["pending"][type]["threshold"]
    crossed = {"type": type, "level": ALERT, "value": value, "threshold": threshold}
    # Before anything else is read: whatever happens then, it holds.
    stop.engage(budget.workspace, make_halt(ALERT_STOP, crossed, said), now=now)
    place = place_of(sessions.at_work(budget.workspace))
    command = {"do": "halt", "type": type, "by": person, "place": place, **said}
    outcome = budget.execute_now(command, now=now)
    path = outcome["records"][-1]["body"]["saved"]["path"]
    return Answered(answer="stopped", type=type, value=value, until=None, by=person, waypoint=path)


def confirm_own(budget: Budget, person: Person) -> None:
    """Let the numbers of the person's own file hold in this workspace, for a person who was seen."""
    before = budget.state().get("own", {})
    own = thresholds.combine(before, find_raised(before)[1])
    purpose, subject = counted.RAISE_OWN, {"before": before}
    signed = make_text(purpose, subject, {"own": own}, describe_raised(before))
    person = sign(budget.workspace, person, signed, command="holdfast trust")
    command = {"do": "confirm_own", "own": own, "by": person}
    budget.execute_now(command, now=clock.parse(person["at"]))


def reset(budget: Budget, flags: Limits, *, now: int) -> Reset:
    """Clear every acknowledgment. After a stop a person has to be there, and where the value that
    stopped it stays, to say how far it may go now."""
    state = budget.state()
    halt = state["stopped"]
    if halt is None and not flags and not stop.is_held(budget.workspace):
        budget.execute_now({"do": "reset"}, now=now)
        return _describe_reset(budget, state, None)
    shown = []
    if halt is not None:
        shown = boxes.stop(halt["type"], halt["value"], halt["threshold"], halt["level"])
    purpose = counted.purpose_of_reset(halt)
    person = people.require(budget.workspace, purpose, shown, now=now)
    now = clock.parse(person["at"])
    new = _new_limits(budget, state, flags, now)
    said, subject = {"given": new["given"]}, counted.subject_of_reset(state)
    signed = make_text(purpose, subject, said, "\n".join(shown))
    person = sign(budget.workspace, person, signed, command="holdfast guard reset")
    command = {"do": "reset", "by": person, **new, "before": budget.lifted_unsigned()}
    budget.execute_now(command, now=now)
    stop.let_go(budget.workspace)
    return _describe_reset(budget, state, person)


def _new_limits(budget: Budget, state: BudgetState, flags: Limits, now: int) -> dict[str, Any]:
    """The limits that go on from here, and the errors that are put behind, by session."""
    halt = state["stopped"]
    known = gather(budget.workspace, state, {}, session="", now=now)
    given, lowered = state["given"], state["lowered"]
    if halt is not None:
        given = thresholds.drop_type(given, halt["type"])
        lowered = thresholds.drop_type(lowered, halt["type"])
    for type in {type for numbers in flags.values() for type in numbers}:
        lowered = thresholds.drop_type(lowered, type)  # the person's word is newer
    given = thresholds.combine(given, flags)
    for type in (name for name, one in QUANTITIES.items() if one.is_lasting):
        held = in_force(budget.workspace, given, lowered, own=state.get("own"))
        level, limit = held.stop_of(type)
        value = _largest(state, halt, known["values"].get(type), type)
        if value is None:
            continue
        if value < limit:
            if halt is None or type != halt["type"] or _is_said_anew(state, held, level, type):
                continue
            limit = halt["threshold"]
        if type in flags.get(level, {}):
            raise _too_low(type, limit, value)
        if halt is not None or stop.is_held(budget.workspace):
            lowered = thresholds.drop_type(lowered, type)
            given = thresholds.combine(given, {level: {type: _ask_for_limit(type, value, limit)}})
    # In order, or refused before anything is lifted.
    in_force(budget.workspace, given, lowered, own=state.get("own"))
    forgiven = {known["session"]: known["measured_errors"]}
    return {"given": given, "lowered": lowered, "forgiven": forgiven}


def _is_said_anew(state: BudgetState, held: InForce, level: str, type: str) -> bool:
    """Whether the limit after a stop is one that a person set for it. The protocol's own, which comes to
    light when a lower one is dropped, is not; and no file was written about a program's `--limit`."""
    source = held.sources[level][type]
    was_lowered = type in state["lowered"].get(level, {})
    was_given = type in state["given"].get(level, {})
    if source == WAYPOINT or not (was_lowered or was_given):
        return True
    return source == PROJECT_FILE and not was_lowered


def _largest(
    state: BudgetState, halt: Halt | None, measured: float | None, type: str
) -> float | None:
    seen: list[Any] = [state["values"].get(type), measured]
    if halt is not None and halt["type"] == type:
        seen.append(halt["value"])
    return max((value for value in seen if value is not None), default=None)


def _ask_for_limit(type: str, value: float, limit: float) -> float:
    """The new limit, typed by the person who was just there."""
    question = (
        f"{boxes.name_of(type)} is at {amount(type, value)}, the stop at {amount(type, limit)}."
    )
    wrong = ""
    while text := people.ask(f"{wrong}{question} New stop (empty leaves it stopped): "):
        try:
            number = QUANTITIES[type].read(text)
        except ValueError as problem:
            wrong = f"The new stop {problem}. "
            continue
        if number > value:
            return number
        wrong = f"{_too_low(type, number, value).message} "
    raise HoldfastError(
        "No new limit was given; the stop holds.",
        hint="Raise it in .autopilot/config.yaml, or run this again.",
        kind="still_stopped",
    )


def _too_low(type: str, number: float, value: float) -> Usage:
    return Usage(
        f"A stop at {amount(type, number)} is reached already: {type} is at {amount(type, value)}.",
        hint="The stop holds; run it again with a higher limit.",
    )


def _value(state: BudgetState, type: str) -> float:
    """The newest value of an alert that waits."""
    newest: float | None = state["values"].get(type)
    return state["pending"][type]["value"] if newest is None else newest


def _describe_reset(budget: Budget, before: BudgetState, person: Person | None) -> Reset:
    state = budget.state()
    lowered = state["lowered"]
    dropped = thresholds.select(
        before["lowered"], lambda level, kind, _: kind not in lowered.get(level, {})
    )
    return {
        "cleared": list(before["acknowledgments"]),
        "lifted": before["stopped"],
        "limits": budget.in_force().limits,
        "by": person,
        "last_reset": state["last_reset"],
        "waiting": list(state["pending"]),
        "dropped": {level: numbers for level, numbers in dropped.items() if numbers},
    }
