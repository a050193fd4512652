"""What a budget knows, as plain data; how each record changes it, and what outside edits of its files add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from holdfast.budgets.rules import documents as files
from holdfast.budgets.rules.thresholds import ALL_TYPES, TYPES, Limits
from holdfast.kernel.blank import blank
from holdfast.kernel.money import millionths

if TYPE_CHECKING:
    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change


How = Literal["warned", "acknowledged", "waiting", "stopped"]
Verdict = Literal["go", "wait", "stop"]

# By type, what was measured or reported; None is unknown and never passes as zero. Of people's own types,
# only those that have a limit.
Values = dict[str, float | None]


class StepSum(TypedDict):
    """What programs reported for a step. Money in millionths; None: none was reported."""

    cost: int | None
    tokens: int
    errors: int


class Added(StepSum):
    """What programs reported for all steps."""

    recent_errors: list[str]


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
    """What a session has read: its levels, and when a checkpoint was suggested to it."""

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
    """The first three stand in the file; `extra` are the keys that others wrote there. Without a person in
    `by`, it stands only in the file, and does not count."""

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


class OwnConfirmed(TypedDict):
    """A person's word about their own limits, and the limits before it."""

    by: dict[str, Any]
    own: Limits
    before: Limits


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
    """Where the work stands, for the session that resumes from a waypoint."""

    phase: Any
    plan: Any
    last_task_completed: str | None
    next_task: str | None


class Saved(TypedDict):
    """The newest waypoint, as its file says it."""

    path: str
    content: dict[str, Any]


class BudgetCheck(TypedDict):
    """The command that asks whether work may go on."""

    do: Literal["check"]
    values: Values
    limits: Limits
    own: NotRequired[Limits]
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
    # The person's own limits for all projects, as they were last seen or confirmed, and who confirmed them.
    own: NotRequired[Limits]
    confirmed: NotRequired[list[OwnConfirmed]]


# So many of the newest sessions and errors are remembered.
SESSIONS_KEPT = 64
ERRORS_KEPT = 5
LONGEST_ERROR = 500


def initial(stream: str) -> BudgetState:
    name, values = stream.partition(":")[2], dict.fromkeys(TYPES)
    tables: dict[str, Any] = {"limits": {}, "given": {}, "lowered": {}}
    return blank(BudgetState, name=name, added=blank(Added), values=values, **tables)


def last_items(items: dict[str, Any], name: str, value: Any, most: int) -> dict[str, Any]:
    """The mapping with one entry renewed, as its newest; the oldest go."""
    kept = {**{key: old for key, old in items.items() if key != name}, name: value}
    return dict(list(kept.items())[-most:])


def apply(state: BudgetState, event: Event) -> BudgetState:
    kind, body = event["kind"], event["body"]
    state = {**state, "opened": True}
    if kind == "added":
        return _apply_report(state, body)
    if kind == "checked":
        return _apply_check(state, body)
    if kind == "stopped":
        state = {**state, "stopped": body["halt"]}
    if kind in ("prepared", "stopped"):
        return {**state, "waypoint": body["saved"], "lowered": body["lowered"]}
    if kind == "acknowledged":
        return _apply_acknowledgment(state, body)
    if kind == "reset":
        return _apply_reset(state, body)
    if kind == "own_confirmed":
        said = {name: body[name] for name in ("by", "own", "before")}
        confirmed = [*state.get("confirmed", []), said]
        return {**state, "own": body["own"], "confirmed": confirmed}  # type: ignore[typeddict-item]
    if kind == "edited_outside":
        return apply_edit(state, body)
    return state


def _apply_report(state: BudgetState, body: Any) -> BudgetState:
    added = state["added"]
    errors = added["recent_errors"]
    if "error" in body:
        errors = [*errors, body["error"]][-ERRORS_KEPT:]
    state = {**state, "added": {**_add_spent(added, body), "recent_errors": errors}}
    if "step" not in body:
        return state
    step: StepSum = state["steps"].get(body["step"], {"cost": None, "tokens": 0, "errors": 0})
    state["steps"] = {**state["steps"], body["step"]: _add_spent(step, body)}
    return state


def _add_spent(known: Added | StepSum, body: Any) -> StepSum:
    cost = known["cost"]
    if "cost" in body:
        cost = (cost or 0) + millionths(body["cost"])
    return {
        "cost": cost,
        "tokens": known["tokens"] + body.get("tokens", 0),
        "errors": known["errors"] + ("error" in body),
    }


def _apply_check(state: BudgetState, body: Any) -> BudgetState:
    seen: SeenLevels = state["sessions"].get(
        body["session"], {"levels": {}, "first_at": body["at"], "suggested_at": ""}
    )
    levels = {type: level for type, level in body["levels"].items() if level is not None}
    suggested = body["at"] if "elapsed" in body else seen["suggested_at"]
    highest = {**seen.get("highest", {})}
    for type, value in body["values"].items():
        if value is not None:
            highest[type] = max(value, highest.get(type, value))
    entry = {**seen, "levels": levels, "suggested_at": suggested, "highest": highest}
    if "own" in body:
        state = {**state, "own": body["own"]}
    return {
        **state,
        "values": body["values"],
        "levels": body["levels"],
        "last_check": body["at"],
        "limits": body.get("limits", state["limits"]),
        "sessions": last_items(state["sessions"], body["session"], entry, SESSIONS_KEPT),
        "pending": _list_pending(state, body),
        "crossings": state["crossings"] + len(body["handled"]),
    }


def _list_pending(state: BudgetState, body: Any) -> dict[str, Pending]:
    """Alerts that wait. One that waits already stays the same one, until a person ends it. In records
    of earlier versions, one whose value had fallen below its level waited no more."""
    waiting = {one["type"]: one for one in body["handled"] if one["how"] == "waiting"}
    pending: dict[str, Pending] = {}
    for type in ALL_TYPES:
        if type in waiting:
            pending[type] = state["pending"].get(type) or {
                "value": waiting[type]["value"],
                "threshold": waiting[type]["threshold"],
                "since": body["at"],
                "session_id": body["session"],
            }
        elif type in state["pending"] and (
            "alerts_stay" in body or not _has_fallen(state["pending"][type], type, body)
        ):
            pending[type] = state["pending"][type]
    return pending


def _has_fallen(pending: Pending, type: str, body: Any) -> bool:
    """Whether a value fell below the limit that waits. An unknown value does not tell, nor does another
    session's value, except the context: a new session begins with an empty one."""
    if body["values"][type] is None:
        return False
    return type == "context" or pending["session_id"] == body["session"]


def _apply_acknowledgment(state: BudgetState, body: Any) -> BudgetState:
    if body.get("confirms"):
        stated = state["acknowledgments"][body["type"]]
        confirmed = {**stated, "by": body["by"], "until": body["until"], "alert": None}
        known = {**state["acknowledgments"], body["type"]: confirmed}
        return {**state, "acknowledgments": known}  # type: ignore[typeddict-item]
    entry = {
        "acknowledged_at": body["at"],
        "value_at_ack": body["value"],
        "session_id": body["session"],
        **{name: body[name] for name in ("level", "threshold", "until", "by")},
        "extra": {},
        "alert": body.get("alert"),
    }
    pending = {type: one for type, one in state["pending"].items() if type != body["type"]}
    known = {**state["acknowledgments"], body["type"]: entry}
    return {**state, "acknowledgments": known, "pending": pending}  # type: ignore[typeddict-item]


def _apply_reset(state: BudgetState, body: Any) -> BudgetState:
    if body["by"] is not None:
        names = ("stopped", "given", "lowered", "last_reset", "pending")
        before = body.get("before") or {name: state[name] for name in names}  # type: ignore[literal-required]
        sessions = {
            name: {**one, "levels": {}, "highest": {}} for name, one in state["sessions"].items()
        }
        lift = {"by": body["by"], "before": before}
        state = {**state, "lift": lift, "sessions": sessions}  # type: ignore[typeddict-item]
    state = {
        **state,
        "acknowledgments": {},
        "pending": state["pending"] if body.get("alerts_stay") else {},
        "last_reset": body["at"],
        "given": body["given"],
        "lowered": body["lowered"],
    }
    if not body["lifted"]:
        return state
    return {
        **state,
        "stopped": None,
        "forgiven": {**state["forgiven"], **body["forgiven"]},
        "added": {**state["added"], "errors": 0, "recent_errors": []},
    }


def absorb(
    state: BudgetState, base: BudgetState, change: Change, now: int
) -> list[tuple[str, Any]]:
    path = change["path"]
    if change["kind"] == "broken":
        return []
    if path == files.THRESHOLDS:
        return _absorb_thresholds(state, change)
    if path == files.ACKNOWLEDGMENTS:
        return _absorb_acknowledgments(state, base, change)
    if change["kind"] == "removed":
        return [("edited_outside", {"path": path, "gone": True})]
    return [("edited_outside", {"path": path, "text": change["text"]})]


def _absorb_thresholds(state: BudgetState, change: Change) -> list[tuple[str, Any]]:
    if change["kind"] == "removed":
        return []
    extra = files.read_thresholds(change["text"])
    if extra == state["extra"].get(files.THRESHOLDS, {}):
        return []
    return [("edited_outside", {"path": change["path"], "extra": extra})]


def _absorb_acknowledgments(
    state: BudgetState, base: BudgetState, change: Change
) -> list[tuple[str, Any]]:
    known = state["acknowledgments"]
    if change["kind"] == "removed":
        gone = {"path": change["path"], "removed": list(known)}
        return [("edited_outside", gone)] if known else []
    theirs, reset, extra = files.read_acknowledgments(change["text"])
    removed = [type for type in base["acknowledgments"] if type in known and type not in theirs]
    imported: dict[str, Any] = {}
    refused: list[str] = []
    for type, entry in theirs.items():
        ours = known.get(type) or base["acknowledgments"].get(type)
        if ours is not None and ours["acknowledged_at"] == entry["acknowledged_at"]:
            if type in known and entry["extra"] != ours["extra"]:
                imported[type] = {**ours, "extra": entry["extra"]}
        elif state["opened"] or type not in ALL_TYPES or files.is_outdated(entry, reset):
            refused.append(type)
        else:
            imported[type] = entry
    reset = state["last_reset"] if reset is None or state["opened"] else reset
    same = reset == state["last_reset"] and extra == state["extra"].get(files.ACKNOWLEDGMENTS, {})
    if same and not removed and not imported and not refused:
        return []
    body = {"path": change["path"], "removed": removed, "imported": imported, "refused": refused}
    return [("edited_outside", {**body, "last_reset": reset, "extra": extra})]


def apply_edit(state: BudgetState, body: Any) -> BudgetState:
    path = body["path"]
    if "extra" in body:
        state = {**state, "extra": {**state["extra"], path: body["extra"]}}
    if body.get("gone"):
        saved = state["waypoint"]
        return {**state, "waypoint": None} if saved and saved["path"] == path else state
    if path != files.ACKNOWLEDGMENTS:
        return state
    removed = body["removed"]
    known = {type: one for type, one in state["acknowledgments"].items() if type not in removed}
    return {
        **state,
        "acknowledgments": {**known, **body.get("imported", {})},
        "last_reset": body.get("last_reset", state["last_reset"]),
    }
