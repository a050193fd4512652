"""Whether work may go on: each type's highest level, in the protocol's order, handled once a check."""

from __future__ import annotations

from holdfast.budgets.rules.thresholds import (
    ALERT,
    ALL_TYPES,
    STOP,
    STOPPING,
    TYPES,
    WARNING,
    level_of,
    number_at,
)
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import (
        Acknowledgment,
        BudgetCheck,
        BudgetState,
        Handled,
        How,
        Pending,
        Ruling,
        Values,
        Verdict,
    )


def judge(state: BudgetState, check: BudgetCheck, now: int) -> Ruling:
    """What a check comes to. While a stop holds, nothing is looked at: only a person lifts it."""
    if state["stopped"] is not None:
        return {"verdict": "stop", "handled": [], "levels": state["levels"], "elapsed": None}
    handled: list[Handled] = []
    levels: dict[str, str | None] = {}
    verdict: Verdict = "go"
    seen = state["sessions"].get(check["session"])
    values = risen(state, check)
    for type in ALL_TYPES:
        value: float | None = values.get(type)  # type: ignore[assignment]
        level = level_of(check["limits"], type, value) if value is not None else None
        waiting = _waits_here(state, check, type)
        if waiting is not None and level in (None, WARNING):
            # Only a person ends an alert: neither a lower figure nor a higher limit does.
            value, level = max(value or 0.0, waiting["value"]), ALERT
        if type in TYPES or level is not None:
            levels[type] = level
        if value is None or level is None or verdict == "stop":
            continue
        how = _how(state, check, type, level, value)
        handled.append(
            {
                "number": state["crossings"] + len(handled) + 1,
                "type": type,
                "level": level,
                "value": value,
                "threshold": min(number_at(check["limits"], level, type), waiting["threshold"])
                if waiting is not None and level == ALERT
                else number_at(check["limits"], level, type),
                "how": how,
                "entered": seen is None or seen["levels"].get(type) != level,
            }
        )
        # The first type at its stop ends the check; the others' values are in the waypoint.
        verdict = "stop" if how == "stopped" else "wait" if how == "waiting" else verdict
    elapsed = _elapsed(state, check, now)
    return {"verdict": verdict, "handled": handled, "levels": levels, "elapsed": elapsed}


def risen(state: BudgetState, check: BudgetCheck) -> Values:
    """The values of a check. A figure that was reported never lowers one that was measured or reported
    before in that session. Where a check does not say which were, as in an inbox, all were."""
    seen = state["sessions"].get(check["session"])
    highest = seen.get("highest", {}) if seen else {}
    values = check["values"].copy()
    for type in check.get("reported", TYPES):
        value: float | None = values.get(type)  # type: ignore[assignment]
        if type in highest and (value is None or value < highest[type]):
            values[type] = highest[type]  # type: ignore[literal-required]
    return values


def _waits_here(state: BudgetState, check: BudgetCheck, type: str) -> Pending | None:
    """The alert of a type that holds the session of a check: one that it raised or was at when it was
    last checked. An alert or a check without a session holds, and is held, always."""
    pending, session = state["pending"].get(type), check["session"]
    if pending is None or session in (pending["session_id"], "") or not pending["session_id"]:
        return pending
    seen = state["sessions"].get(session)
    return pending if seen is not None and seen["levels"].get(type) == ALERT else None


def _how(state: BudgetState, check: BudgetCheck, type: str, level: str, value: float) -> How:
    if level == STOP or check["actions"][level][type] in STOPPING:
        return "stopped"
    if level == WARNING:
        return "warned"
    known = state["acknowledgments"].get(type)
    if type in check.get("uncounted", ()):
        return "waiting"
    if known is not None and covers(known, value, number_at(check["limits"], ALERT, type)):
        return "acknowledged"
    return "waiting"


def covers(known: Acknowledgment, value: float, alert: float) -> bool:
    """Whether an acknowledgment still holds: below the ceiling that its person named, and unless the
    alert was set lower since; AMB-PILOT-05."""
    if known["threshold"] is not None and alert < known["threshold"]:
        return False
    return known["until"] is None or value < known["until"]


def _elapsed(state: BudgetState, check: BudgetCheck, now: int) -> int | None:
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
