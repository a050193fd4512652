"""Budgets: what was spent, which alerts a person has acknowledged, and whether a stop holds.

The rules of the `budget:<name>` streams. `budget:default` is shown in `.autopilot/`: two state files
and the newest waypoint; `metrics.jsonl` is appended from its records, in `holdfast.budgets`.
"""

from __future__ import annotations

from typing import Any

from holdfast.budgets.rules import documents, thresholds
from holdfast.budgets.rules.boxes import amount
from holdfast.budgets.rules.ledger import (
    LONGEST_ERROR,
    Acknowledgment,
    BudgetCheck,
    BudgetState,
    Halt,
    Handled,
    How,
    Pending,
    Ruling,
    Saved,
    Values,
    Verdict,
    absorb,
    apply,
    initial,
)
from holdfast.budgets.rules.thresholds import ALERT, ALL_TYPES, STOP, WARNING, Limits, number_at
from holdfast.kernel import clock
from holdfast.kernel.errors import Conflict, NotAllowed, NotFound, Usage
from holdfast.kernel.rules import Decision, Person
from holdfast.kernel.text import quote

__all__ = ["STREAM", "absorb", "apply", "decide", "initial", "render"]

# Its state is made from records alone; see `kernel.state`.
PROVEN = True
DEFAULT = "default"
STREAM = f"budget:{DEFAULT}"
LIFT = "holdfast guard reset"


def decide(state: BudgetState, command: Any, now: int) -> Decision:
    """`open`, `add` (a report), `check`, `ack`, `halt` (a person's "stop" to an alert), `confirm_own`, `reset`."""
    what = command["do"]
    if what == "open":
        # What the files say is taken in with the first record.
        return Decision([] if state["opened"] else [("opened", {})])
    if what == "add":
        return Decision([("added", _read_report(command))])
    if what == "check":
        return _check(state, command, now)
    if what in ("ack", "halt"):
        _refuse_unseen(command, "answers an alert")
        return (_acknowledge if what == "ack" else _halt)(state, command, now)
    if what == "confirm_own":
        _refuse_unseen(command, "raises a limit")
        body = {"own": command["own"], "by": command["by"], "before": state.get("own", {})}
        return Decision([("own_confirmed", body)])
    if what == "reset":
        return _reset(state, command, now)
    raise Usage(f"A budget cannot {what!r:.40}.")


def _refuse_unseen(command: Any, what: str) -> None:
    if not isinstance(command.get("by"), Person):
        hint = "In a terminal of theirs."
        raise NotAllowed(f"Only a person {what}.", hint=hint, kind="no_person")


def _read_report(command: Any) -> dict[str, Any]:
    """`{"cost": dollars, "tokens": whole number, "error": text, "step": text}`, each of them optional."""
    body: dict[str, Any] = {}
    cost, tokens, error = (command.get(name) for name in ("cost", "tokens", "error"))
    if cost is not None:
        if not thresholds.is_amount(cost):
            raise Usage(f"A cost is a number of dollars from 0 on, not {cost!r:.40}.")
        body["cost"] = cost
    if tokens is not None:
        if type(tokens) is not int or tokens < 0:
            raise Usage(f"Tokens are a whole number from 0 on, not {tokens!r:.40}.")
        body["tokens"] = tokens
    if error is not None:
        body["error"] = str(error)[:LONGEST_ERROR]
    if not body:
        raise Usage("There is nothing to add.", hint="holdfast guard report --add-cost 0.42")
    if command.get("step"):
        body["step"] = str(command["step"])
    return body


def _check(state: BudgetState, check: BudgetCheck, now: int) -> Decision:
    _refuse_unsound(check)
    if state["stopped"] is not None:
        return Decision()
    ruling = judge(state, check, now)
    body: dict[str, Any] = {
        "at": clock.stamp(now),
        "session": check["session"],
        "values": keep_highest(state, check),
        "levels": ruling["levels"],
        "handled": ruling["handled"],
        "summary": _summarize(ruling["handled"]),
        # Since this version, only a person ends an alert; records before it are read as they were.
        "alerts_stay": True,
    }
    if check["limits"] != state["limits"]:
        body["limits"] = check["limits"]
    own = thresholds.tighten(state.get("own", {}), check.get("own", {}))
    if own != state.get("own", {}):
        body["own"] = own
    if ruling["elapsed"] is not None:
        body["elapsed"] = ruling["elapsed"]
    records: list[tuple[str, Any]] = [("checked", body)]
    # A limit that was given as a flag stays with the waypoint, and holds after the resume.
    lowered = thresholds.combine(state["lowered"], check["flags"])
    for one in ruling["handled"]:
        if one["how"] == "stopped":
            reason = documents.THRESHOLD_STOP
            saved = _waypoint(state, check, reason, one, LIFT, now)
            halt = make_halt(reason, one, check, at=clock.stamp(now), waypoint=saved["path"])
            records.append(_make_stop_record(halt, saved, lowered))
        elif _is_new_context_alert(state, one) and ruling["verdict"] == "wait":
            resume = f"holdfast guard ack {quote(one['type'])}"
            saved = _waypoint(state, check, documents.CONTEXT_ALERT, one, resume, now)
            records.append(("prepared", {"saved": saved, "lowered": lowered}))
    return Decision(records)


def _refuse_unsound(check: BudgetCheck) -> None:
    """Refuse a check that is not made of finite numbers: the next check reads what it records."""
    known = [value for value in check["values"].values() if value is not None]
    own = check.get("own", {})
    numbers = [
        number
        for level in thresholds.LEVELS
        for number in (*check["limits"][level].values(), *own.get(level, {}).values())
    ]
    if not all(thresholds.is_number(number) for number in [*known, *numbers]):
        raise Usage("A check is made of finite numbers.")


def _summarize(handled: list[Handled]) -> str:
    """A check in a few words, for `holdfast history`."""
    reached = [f"{one['type']} {amount(one['type'], one['value'])} {one['how']}" for one in handled]
    return ", ".join(reached) or "nothing reached"


def _is_new_context_alert(state: BudgetState, crossed: Handled) -> bool:
    """Its checkpoint is prepared when it is raised, before a person is asked; AMB-PILOT-03."""
    is_one = crossed["type"] == "context" and crossed["how"] == "waiting"
    return is_one and "context" not in state["pending"]


def make_halt(reason: str, crossed: Any, command: Any, *, at: str = "", waypoint: str = "") -> Halt:
    """The stop that a command makes at a level that was crossed. Before it is recorded, it has no time and
    no waypoint."""
    return {
        "reason": reason,
        **{name: crossed[name] for name in ("type", "level", "value", "threshold")},  # type: ignore[typeddict-item]
        "at": at,
        "session_id": command["session"],
        "waypoint": waypoint,
        "last_turn": command["last_turn"],
    }


def _make_stop_record(halt: Halt, saved: Saved, lowered: Limits) -> tuple[str, Any]:
    summary = f"{halt['type']} at {amount(halt['type'], halt['value'])}"
    return "stopped", {"halt": halt, "saved": saved, "summary": summary, "lowered": lowered}


def _waypoint(
    state: BudgetState, check: Any, reason: str, crossed: Any, resume: str, now: int
) -> Saved:
    trigger = {name: crossed[name] for name in ("type", "level", "value")}
    if reason == documents.THRESHOLD_STOP:
        trigger["reason"] = documents.EXCEEDED
    return documents.make_waypoint(
        reason,
        trigger=trigger,
        session=check["session"],
        place=check["place"],
        totals=check["values"],
        thresholds=check["limits"],
        acknowledgments=state["acknowledgments"],
        resume=resume,
        taken=state["waypoint"]["path"] if state["waypoint"] else "",
        now=now,
    )


def list_stated(state: BudgetState) -> dict[str, Acknowledgment]:
    """Return the acknowledgments that stand only in `acknowledgments.json`. They count once a person
    confirmed them."""
    return {type: one for type, one in state["acknowledgments"].items() if one["by"] is None}


def _confirm(stated: Acknowledgment, command: Any, now: int) -> Decision:
    """Let an acknowledgment of the file count, as a person said."""
    summary = f"{command['type']}, as {documents.ACKNOWLEDGMENTS} states"
    body = _answer(stated, command, now) | {"value": stated["value_at_ack"], "stop": None}
    body |= {"summary": summary, "alert": None, "confirms": True}
    return Decision([("acknowledged", body)])


def _answer(alert: Acknowledgment | Pending, command: Any, now: int) -> dict[str, Any]:
    """Return what a person's answer to an alert says, whichever it is."""
    return {
        "type": command["type"],
        "level": ALERT,
        "threshold": alert["threshold"],
        "until": command.get("until"),
        "at": clock.stamp(now),
        "session": alert["session_id"],
        "by": command["by"],
    }


def _acknowledge(state: BudgetState, command: Any, now: int) -> Decision:
    stated = list_stated(state).get(command["type"])
    if stated is not None and command["type"] not in state["pending"]:
        return _confirm(stated, command, now)
    type = command["type"] if command.get("alert") else _find_alert(state, command["type"])
    if type is None:
        return Decision()
    # `alert`: it was acknowledged before, without the signature that is asked for.
    pending: Pending = command.get("alert") or state["pending"][type]
    value: float = state["values"].get(type) or pending["value"]
    until = command.get("until")
    if until is not None and until <= value:
        raise Usage(f"The ceiling {until:g} is reached already: {type} is at {value:g}.")
    body = _answer(pending, command, now) | {"value": value, "alert": pending}
    body["session"] = body["session"] or command["session"]
    body |= {"stop": state["limits"][STOP].get(type), "summary": f"{type} at {amount(type, value)}"}
    return Decision([("acknowledged", body)])


def _find_alert(state: BudgetState, type: str) -> str | None:
    """The type, when its alert waits; None when a person has acknowledged it already."""
    if type not in ALL_TYPES:
        raise Usage(f"{type!r:.40} is not one of {', '.join(ALL_TYPES)}.")
    if state["stopped"] is not None:
        raise Conflict("A stop holds; there is nothing to acknowledge.", hint=f"{LIFT} lifts it.")
    if type in state["pending"]:
        return type
    if type in state["acknowledgments"]:
        return None
    raise NotFound(f"No alert of {type} waits.", hint="holdfast guard check looks at them all.")


def _halt(state: BudgetState, command: Any, now: int) -> Decision:
    type = _find_alert(state, command["type"])
    if type is None:
        raise Conflict(f"The alert of {command['type']} was acknowledged meanwhile.")
    pending: Pending = state["pending"][type]
    value = state["values"].get(type) or pending["value"]
    crossed = {"type": type, "level": ALERT, "value": value, "threshold": pending["threshold"]}
    check = {**command, "values": state["values"], "limits": state["limits"]}
    reason = documents.ALERT_STOP
    saved = _waypoint(state, check, reason, crossed, LIFT, now)
    halt = make_halt(reason, crossed, command, at=clock.stamp(now), waypoint=saved["path"])
    halt["by"] = command["by"]
    return Decision([_make_stop_record(halt, saved, state["lowered"])])


def _reset(state: BudgetState, command: Any, now: int) -> Decision:
    """An agent may clear acknowledgments: alerts ask again. Only a person lifts a stop, ends an alert
    that waits, or raises a limit."""
    before = command.get("before")
    lifts, given = bool(state["stopped"] or before), command.get("given")
    by = command.get("by")
    by = by if isinstance(by, Person) else None
    if lifts or given is not None:
        _refuse_unseen(command, "lifts a stop or raises a limit")
    new = {} if given is None else command
    body = {
        "at": clock.stamp(now),
        "by": by,
        "lifted": lifts,
        "alerts_stay": by is None,
        "before": before,
        "summary": "the stop is lifted" if lifts else "acknowledgments cleared",
        "given": new.get("given", state["given"]),
        "lowered": new.get("lowered", state["lowered"]),
        "forgiven": command.get("forgiven", {}) if lifts else {},
    }
    return Decision([("reset", body)])


def render(state: BudgetState) -> dict[str, str]:
    if state["name"] != DEFAULT or not state["opened"]:
        return {}
    views = {
        documents.ACKNOWLEDGMENTS: documents.write_acknowledgments(state),
        documents.THRESHOLDS: documents.write_thresholds(state),
    }
    if state["waypoint"] is not None:
        views[state["waypoint"]["path"]] = documents.write_waypoint(state["waypoint"])
    return views


# Whether work may go on: each type's highest level, in the protocol's order, handled once a check.


def judge(state: BudgetState, check: BudgetCheck, now: int) -> Ruling:
    """What a check comes to. While a stop holds, nothing is looked at: only a person lifts it."""
    if state["stopped"] is not None:
        return {"verdict": "stop", "handled": [], "levels": state["levels"], "elapsed": None}
    handled: list[Handled] = []
    levels: dict[str, str | None] = {}
    verdict: Verdict = "go"
    seen = state["sessions"].get(check["session"])
    values = keep_highest(state, check)
    for type in ALL_TYPES:
        value: float | None = values.get(type)
        level = thresholds.level_of(check["limits"], type, value) if value is not None else None
        waiting = _waits_here(state, check, type)
        if waiting is not None and level in (None, WARNING):
            # Only a person ends an alert: neither a lower figure nor a higher limit does.
            value, level = max(value or 0.0, waiting["value"]), ALERT
        if type in thresholds.TYPES or level is not None:
            levels[type] = level
        if value is None or level is None or verdict == "stop":
            continue
        how = _handle(state, check, type, level, value)
        threshold = number_at(check["limits"], level, type)
        if waiting is not None and level == ALERT:
            threshold = min(threshold, waiting["threshold"])
        handled.append(
            {
                "number": state["crossings"] + len(handled) + 1,
                "type": type,
                "level": level,
                "value": value,
                "threshold": threshold,
                "how": how,
                "entered": seen is None or seen["levels"].get(type) != level,
            }
        )
        # The first type at its stop ends the check; the others' values are in the waypoint.
        verdict = "stop" if how == "stopped" else "wait" if how == "waiting" else verdict
    elapsed = _find_elapsed(state, check, now)
    return {"verdict": verdict, "handled": handled, "levels": levels, "elapsed": elapsed}


def keep_highest(state: BudgetState, check: BudgetCheck) -> Values:
    """The values of a check. A figure that was reported never lowers one that was measured or reported
    before in that session. Where a check does not say which were, as in an inbox, all were."""
    seen = state["sessions"].get(check["session"])
    highest = seen.get("highest", {}) if seen else {}
    values = check["values"].copy()
    for type in check.get("reported", thresholds.TYPES):
        value: float | None = values.get(type)
        if type in highest and (value is None or value < highest[type]):
            values[type] = highest[type]
    return values


def _waits_here(state: BudgetState, check: BudgetCheck, type: str) -> Pending | None:
    """The alert of a type that holds the session of a check: one that it raised or was at when it was
    last checked. An alert or a check without a session holds, and is held, always."""
    pending, session = state["pending"].get(type), check["session"]
    if pending is None or session in (pending["session_id"], "") or not pending["session_id"]:
        return pending
    seen = state["sessions"].get(session)
    return pending if seen is not None and seen["levels"].get(type) == ALERT else None


def _handle(state: BudgetState, check: BudgetCheck, type: str, level: str, value: float) -> How:
    if level == STOP or check["actions"][level][type] in thresholds.STOPPING:
        return "stopped"
    if level == WARNING:
        return "warned"
    known = state["acknowledgments"].get(type)
    if type in check.get("uncounted", ()):
        return "waiting"
    if known is not None and is_acknowledged(known, value, number_at(check["limits"], ALERT, type)):
        return "acknowledged"
    return "waiting"


def is_acknowledged(known: Acknowledgment, value: float, alert: float) -> bool:
    """Whether an acknowledgment still holds: a person gave it or confirmed it, the value is below the ceiling
    that they named, and the alert was not set lower since; AMB-PILOT-05."""
    if known["by"] is None:
        return False
    if known["threshold"] is not None and alert < known["threshold"]:
        return False
    return known["until"] is None or value < known["until"]


def _find_elapsed(state: BudgetState, check: BudgetCheck, now: int) -> int | None:
    """Suggested once after the pause, then after each further pause without a checkpoint."""
    seen = state["sessions"].get(check["session"])
    began = check["started_at"] or (seen["first_at"] if seen else "")
    if not began:
        return None
    elapsed = now - clock.parse(began)
    suggested = seen["suggested_at"] if seen else ""
    since = clock.parse(began)
    if suggested:
        since = max(clock.parse(each) for each in (suggested, check["checkpoint_at"]) if each)
    return elapsed if now - since >= check["pause"] else None
