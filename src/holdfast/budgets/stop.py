"""The stop of a budget: the latch that holds without the database, and the reserve beside it.

The latch and the files of alerts are what hooks read. `list_missing` finds those that a program removed, and
`follow` sets them as the server's records say.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holdfast.budgets import alerts
from holdfast.budgets.counted import load_counted
from holdfast.budgets.rules import boxes
from holdfast.budgets.rules import budget as rules
from holdfast.budgets.rules.boxes import COCKPIT, OURS, amount, name_of
from holdfast.budgets.rules.documents import ALERT_STOP
from holdfast.budgets.rules.ledger import BudgetState, Halt, Pending, Ruling
from holdfast.budgets.rules.thresholds import ALERT
from holdfast.clients.table import home_of
from holdfast.kernel import clock, last_turn, latch
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.registry import STOPPED, WAITS, Attention

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal
    from holdfast.people.removed_stops import Missing


# Who sets the latch; the feature names who lifts it.
BUDGET = "guard"
SETTINGS = ("settings.json", "settings.local.json")
AROUND = "(in the repository's own journal; HOLDFAST_HOME names another)"
# An alert is recorded first, and its file written a moment later.
SETTLED = 10_000


def draw_stop(workspace: Workspace, reached: Mapping[str, Any]) -> list[str]:
    """Return the box of a stop: the document's; on a terminal aligned, and with the command that there is."""
    on_terminal = sys.stdout.isatty()
    resume = OURS if on_terminal and not _has_autopilot(workspace.root) else COCKPIT
    type, value, threshold = reached["type"], reached["value"], reached["threshold"]
    return boxes.stop(type, value, threshold, reached["level"], aligned=on_terminal, resume=resume)


def _has_autopilot(root: str) -> bool:
    """Return whether a client's settings name a plugin whose command the box names."""
    files = [os.path.join(home_of("claude"), "settings.json")]
    files += [os.path.join(root, ".claude", name) for name in SETTINGS]
    for file in files:
        try:
            if b'"autopilot@' in read_plain(file):
                return True
        except OSError:
            continue
    return False


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


def list_waiting(workspace: Workspace) -> Iterator[Attention]:
    """Return the alerts that wait, and a stop whose latch was removed."""
    state = load_counted(workspace)[0]
    halt = state["stopped"]
    if halt is not None and latch.read(workspace) is None:
        what = f"A budget has stopped: {_reached(halt['type'], halt['value'])}"
        yield Attention(what, rules.LIFT, STOPPED)
    for type, pending in state["pending"].items():
        command = f"holdfast guard ack {quote(type)}"
        yield Attention(describe_pending(type, pending), command, WAITS, has_card=True)
    for type in rules.list_stated(state):
        if type not in state["pending"]:
            what = f"An acknowledgment of {type} is stated in the file, and does not count yet"
            yield Attention(what, f"holdfast guard ack {quote(type)}", WAITS, has_card=True)


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


def list_missing(workspace: Workspace, now: int, *, is_held: bool, is_copy: bool) -> list[Missing]:
    """Return what holds by the records and has no file."""
    missing: list[Missing] = []

    def add(what: str, function: Callable[..., object], *arguments: Any, **named: Any) -> None:
        missing.append((what, lambda: function(workspace, *arguments, **named)))

    state = load_counted(workspace)[0]
    halt = state["stopped"]
    if halt is not None and not is_held:
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
