"""What the few cheap events tell of an agent at work: that it lives, and what it spends.

A look costs more than a hook should, so that each session has one a minute at most; a budget is only
looked at where one is kept.
"""

from __future__ import annotations

from holdfast.kernel import clock
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace

EVERY = clock.MINUTE
# Held at an alert, an agent is looked at more often: a person may have raised a limit.
EVERY_WHEN_HELD = 10_000
LOOKED = "looked"
# The session's file with the problem of the limits that its agent was told.
LIMITS = "limits"


def look(session: str, workspace: Workspace, now: int, *, every: int = EVERY) -> str:
    """Write down that a session was seen, and check its budget; what to remind the agent of."""
    if not session_files.is_due(workspace, session, LOOKED, every, now):
        return ""
    from holdfast.fleet.current_life import record_activity
    from holdfast.hooks.handlers import has_budget

    reminder = record_activity(workspace, session, now)
    if has_budget(workspace):
        check(workspace, session, now)
        problem = tell_problem(workspace, session)
        reminder = f"{reminder}\n{problem}" if reminder and problem else reminder or problem
    return reminder


def check(workspace: Workspace, session: str, now: int) -> None:
    """Hold what a session spent against its limits; alerts and stops are set by it. A file of limits
    that cannot be understood frees no agent."""
    from holdfast.budgets.check import Budget
    from holdfast.kernel.errors import Stopped

    try:
        report = Budget(workspace, actor="hook").check(
            session=session, now=now, tells=False, holds=True
        )
    except Stopped:
        return  # by another cause, which the latch names
    for one in report["handled"]:
        if one["type"] == "quota" and one["entered"]:
            from holdfast.hooks.run import command
            from holdfast.processes import relaunch

            relaunch.leave(command("tell-quota", one["level"]))


def tell_problem(workspace: Workspace, session: str) -> str:
    """What is wrong with the file of limits, for the agent; each problem once a session."""
    from holdfast.budgets.check import Budget
    from holdfast.budgets.limits import find_problem

    problem = find_problem(workspace, Budget(workspace, actor="hook").state())
    if session_files.read(workspace, session, LIMITS).get("problem", "") == problem:
        return ""
    session_files.keep(workspace, session, LIMITS, {"problem": problem})
    return f"Holdfast: {problem} Tell your user." if problem else ""
