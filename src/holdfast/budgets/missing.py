"""Stops and alerts that the records say hold, and whose files are gone: set again, recorded and told.

The latch and the files of alerts are what hooks look at. A program that removes one ends nothing: the
next command or check finds it missing.
"""

from __future__ import annotations

from holdfast.budgets import alerts, stop
from holdfast.budgets.rules import budget as rules
from holdfast.estop.stop import is_recorded
from holdfast.kernel import clock, config, latch
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.budgets.rules.ledger import BudgetState
    from holdfast.kernel.workspace import Workspace

# An alert is recorded first, and its file written a moment later.
SETTLED = 10_000


def put_back(workspace: Workspace, *, now: int) -> list[str]:
    """Set what is missing; what it was, in words. Nothing here fails a command."""
    if workspace.url or not workspace.exists() or workspace.journal.read_only:
        return []  # of a server's streams, the forwarder brings this machine's files up to date
    try:
        if workspace.local and config.load(workspace, workspace.journal)["journal.url"]:
            return []  # a copy of the server's, which the forwarder brings up to date
        found = _put_back(workspace, now)
        if found:
            _record(workspace, found, now)
    except (HoldfastError, OSError):
        return []
    return found


def _put_back(workspace: Workspace, now: int) -> list[str]:
    found = []
    held = latch.read(workspace)
    if held is None and (stopped := is_recorded(workspace)) is not None:
        latch.engage(workspace, stopped["reason"], by=stopped["by"], now=now)
        found.append("the emergency stop")
        held = latch.read(workspace)
    if workspace.journal.head(rules.STREAM) is None:
        return found
    state: BudgetState = load(workspace.journal, rules, rules.STREAM)[0]
    halt = state["stopped"]
    if halt is not None and held is None:
        # Its last turn was given when it was set.
        stop.engage(workspace, {**halt, "last_turn": False}, now=now)
        found.append("the budget's stop")
    for type, pending in state["pending"].items():
        is_new = now - clock.parse(pending["since"]) < SETTLED
        if not is_new and not alerts.holds(workspace, pending["session_id"], type):
            alerts.add(workspace, pending["session_id"], type, stop.describe_pending(type, pending))
            found.append(f"the alert of {type}")
    return found


def _record(workspace: Workspace, found: list[str], now: int) -> None:
    # Here, because hooks check budgets and need no terminal.
    from holdfast.gates.notices import tell_people
    from holdfast.gates.person import refuse

    for what in found:
        refuse(workspace, f"lift {what}", "its file was removed; it is set again", now=now)
    tell_people(workspace, f"The file of {', '.join(found)} was removed. It is set again.", now=now)
