"""The stop of a budget: the latch that holds without the database, and the reserve beside it.

The latch and the files of alerts are what hooks read. `put_back` sets them again where a program removed
them, and `follow` sets them as the server's records say.
"""

from __future__ import annotations

import time

from holdfast.budgets import alerts, last_turn
from holdfast.budgets.counted import load_counted
from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.boxes import amount, name_of
from holdfast.budgets.rules.documents import ALERT_STOP
from holdfast.budgets.rules.thresholds import ALERT
from holdfast.estop.rules.stop import STREAM as STOPS
from holdfast.estop.stop import BUDGET, is_recorded
from holdfast.kernel import clock, config, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from holdfast.budgets.rules.ledger import BudgetState, Halt, Pending, Ruling
    from holdfast.journal.interface import Journal
    from holdfast.kernel.workspace import Workspace

AROUND = "(in the repository's own journal; HOLDFAST_HOME names another)"
# Seconds in which the forwarder has set the latch of a stop that it brought.
FOLLOWED_SECONDS = 0.2
# An alert is recorded first, and its file written a moment later.
SETTLED = 10_000


def engage(workspace: Workspace, halt: Halt, *, now: int) -> bool:
    """Set the latch. False when one holds already: an emergency stop is not written over."""
    if latch.read(workspace) is not None:
        return False
    latch.engage(workspace, describe(halt), by=BUDGET, now=now)
    if halt["last_turn"]:
        last_turn.grant(workspace, now=now)
    return True


def engage_again(workspace: Workspace, halt: Halt, *, now: int) -> bool:
    """Set the latch of a stop that holds; its last turn was given when it was reached."""
    return engage(workspace, {**halt, "last_turn": False}, now=now)


def describe(halt: Halt) -> str:
    reached = _reached(halt["type"], halt["value"])
    if halt["reason"] == ALERT_STOP:
        return f"A person said stop: {reached}"
    return f"{reached}, the limit is {amount(halt['type'], halt['threshold'])}"


def describe_alerts(state: BudgetState, ruling: Ruling) -> dict[str, str]:
    """The alerts that wait for a person after a check: each type, and how far it had come."""
    found = {
        type: (one["value"], one["threshold"])
        for type, one in state["pending"].items()
        if state["values"].get(type) is None
    }
    for one in ruling["handled"]:
        if one["how"] == "waiting":
            found[one["type"]] = (one["value"], one["threshold"])
    return {type: _describe_alert(type, *numbers) for type, numbers in found.items()}


def describe_pending(type: str, pending: Pending) -> str:
    return f"An alert waits: {_reached(type, pending['value'])}"


def _describe_alert(type: str, value: float, threshold: float) -> str:
    return f"{_reached(type, value)}, the alert is at {amount(type, threshold)}"


def _reached(type: str, value: float) -> str:
    return f"{name_of(type)} at {amount(type, value)}"


def is_held(workspace: Workspace) -> bool:
    """Whether the latch is a budget's."""
    held = latch.read(workspace)
    return held is not None and held["by"] == BUDGET


def let_go(workspace: Workspace) -> bool:
    """Release a budget's latch, and no other."""
    last_turn.end(workspace)
    return is_held(workspace) and latch.release(workspace)


def list_waiting(workspace: Workspace) -> Iterator[tuple[str, str]]:
    """Alerts that wait, and a stop whose latch was removed: what it is, and the command for it."""
    state = load_counted(workspace)[0]
    halt = state["stopped"]
    if halt is not None and latch.read(workspace) is None:
        yield f"A budget has stopped: {_reached(halt['type'], halt['value'])}", rules.LIFT
    for type, pending in state["pending"].items():
        yield describe_pending(type, pending), f"holdfast guard ack {quote(type)}"
    for type in rules.list_stated(state):
        if type not in state["pending"]:
            what = f"An acknowledgment of {type} is stated in the file, and does not count yet"
            yield what, f"holdfast guard ack {quote(type)}"


def follow(workspace: Workspace, state: BudgetState, _server: Journal) -> None:
    """Set or lift the budget's stop and settle its alerts as the server's stream says."""
    halt = state["stopped"]
    if halt is not None:
        engage_again(workspace, halt, now=clock.now())
        return
    if is_held(workspace):
        let_go(workspace)
    for type in alerts.types(workspace) - state["pending"].keys():
        alerts.settle(workspace, type)


def put_back(workspace: Workspace, *, now: int) -> list[str]:
    """Set what is missing; what it was, in words. Nothing here fails a command. Beside a server, this
    machine's copy of its streams tells what holds."""
    if not workspace.exists():
        return []
    here = workspace.offline() if workspace.url else workspace
    try:
        if not here.exists() or here.journal.read_only:
            return []
        is_copy = here.local and bool(config.load(here, here.journal)["journal.url"])
        missing = _list_missing(here, now, is_copy=is_copy)
        if missing and is_copy:
            # The forwarder brings a stop first and sets its latch a moment later.
            time.sleep(FOLLOWED_SECONDS)
            missing = _list_missing(here, now, is_copy=is_copy)
        for _, set_again in missing:
            set_again()
        found = [what for what, _ in missing if what]
        if found:
            _record_removal(workspace, found, now)
    except (HoldfastError, OSError):
        return []
    finally:
        if here is not workspace:
            here.close()
    return found


def _list_missing(
    workspace: Workspace, now: int, *, is_copy: bool
) -> list[tuple[str, Callable[[], object]]]:
    """What holds by the records and has no file: in words, and what sets it again. Without words, no program
    removed it."""
    missing: list[tuple[str, Callable[[], object]]] = []

    def add(what: str, function: Callable[..., object], *arguments: Any, **named: Any) -> None:
        missing.append((what, lambda: function(workspace, *arguments, **named)))

    held = latch.read(workspace) is not None
    stopped = None if held or not _is_known(workspace, STOPS, is_copy) else is_recorded(workspace)
    if stopped is not None:
        add("the emergency stop", latch.engage, stopped["reason"], by=stopped["by"], now=now)
        held = True
    if not _is_known(workspace, rules.STREAM, is_copy):
        return missing
    state = load_counted(workspace)[0]
    halt = state["stopped"]
    if halt is not None and not held:
        add("the budget's stop", engage_again, halt, now=now)
    for type, pending in state["pending"].items():
        words = _describe_alert(type, pending["value"], pending["threshold"])
        is_new = now - clock.parse(pending["since"]) < SETTLED
        for session in list_held(state, type):
            # Of a server's alerts, those of this machine's sessions have a file here.
            is_here = not is_copy or workspace.journal.head(f"session:{session}") is not None
            if is_here and not alerts.is_waiting(workspace, session, type):
                # Perhaps no program removed it: it is written a moment after its record, and for another
                # session when that is checked.
                is_removed = session == pending["session_id"] and not is_new
                what = f"the alert of {type}" if is_removed else ""
                add(what, alerts.add, session, type, words)
    return missing


def list_held(state: BudgetState, type: str) -> list[str]:
    """Return the sessions that the alert of a type holds: the one that raised it, and those that were at it when
    they were last checked."""
    raised_by = state["pending"][type]["session_id"]
    others = [name for name, seen in state["sessions"].items() if seen["levels"].get(type) == ALERT]
    return [raised_by, *(name for name in others if name and name != raised_by)]


def _is_known(workspace: Workspace, stream: str, is_copy: bool) -> bool:
    """Whether a stream says what holds now. In a file beside a server, only one that was brought does."""
    head = workspace.journal.head(stream)
    return head is not None and (not is_copy or head["anchor_version"] == head["version"])


def _record_removal(workspace: Workspace, found: list[str], now: int) -> None:
    # Here, because hooks check budgets and need no terminal.
    from holdfast.gates.notices import tell_people
    from holdfast.gates.person import refuse

    for what in found:
        refuse(workspace, f"lift {what}", "its file was removed; it is set again", now=now)
    tell_people(workspace, f"The file of {', '.join(found)} was removed. It is set again.", now=now)
