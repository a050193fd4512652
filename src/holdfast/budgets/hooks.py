"""What a budget does at a client's events: it checks what a session spent, and denies tools at an alert."""

from __future__ import annotations

import os

from holdfast.budgets import alerts
from holdfast.session import session_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from holdfast.kernel.workspace import Workspace

CONFIG_FILE = ".autopilot/config.yaml"
# The session's file with the problem of the limits that its agent was told.
LIMITS = "limits"


def held(workspace: Workspace, session: str) -> str:
    """Return the alerts that hold a session, and who lets it go on."""
    waiting = alerts.read(workspace, session)
    if not waiting:
        return ""
    from holdfast.kernel.text import quote

    reached = "; ".join(waiting.values())
    freed = " and ".join(f"`holdfast guard ack {quote(type)}`" for type in waiting if type)
    by = f" A person lets you go on with {freed}." if freed else ""
    return (
        f"An alert waits for a person: {reached}.{by} "
        "Until then only `holdfast checkpoint` and `holdfast status` run: save your work and end."
    )


def has_budget(workspace: Workspace) -> bool:
    """Return whether a person set a budget in this workspace. Without one, none stops the agent: the folder alone
    may be what a look (`guard check`) left."""
    if os.path.exists(os.path.join(workspace.root, CONFIG_FILE)):
        return True
    if not workspace.exists():
        return False
    from holdfast.kernel.errors import HoldfastError

    try:
        # Not by the folder: an agent could move it away.
        if workspace.journal.head("budget:default") is None:
            return False
        from holdfast.budgets.check import Budget
        from holdfast.budgets.limits import is_set

        return is_set(workspace, Budget(workspace, actor="hook").state())
    except HoldfastError:
        return True  # the check itself says what is wrong


def see(workspace: Workspace, session: str, now: int) -> str:
    """Check the budget of a session at work. Return what is wrong with the file of limits, once a session."""
    if not has_budget(workspace):
        return ""
    _check(workspace, session, now)
    from holdfast.budgets.check import Budget
    from holdfast.budgets.limits import find_problem

    problem = find_problem(workspace, Budget(workspace, actor="hook").state())
    if session_files.read(workspace, session, LIMITS).get("problem", "") == problem:
        return ""
    session_files.keep(workspace, session, LIMITS, {"problem": problem})
    return f"Holdfast: {problem} Tell your user." if problem else ""


def check_spent(workspace: Workspace, session: str, now: int) -> None:
    """Check the budget of a session whose turn ended."""
    if has_budget(workspace):
        _check(workspace, session, now)


def check_paid(workspace: Workspace, session: str, now: int) -> None:
    """Check the budget of a session before it uses a tool. Only what is new is recorded."""
    _check(workspace, session, now, is_sparse=True)


def _check(workspace: Workspace, session: str, now: int, *, is_sparse: bool = False) -> None:
    """Hold what a session spent against its limits; alerts and stops are set by it. A file of limits
    that cannot be understood frees no agent."""
    from holdfast.budgets.check import Budget
    from holdfast.kernel.errors import Stopped

    try:
        report = Budget(workspace, actor="hook").check(
            session=session, now=now, tells=False, holds=True, is_sparse=is_sparse
        )
    except Stopped:
        return  # by another cause, which the latch names
    for one in report["handled"]:
        if one["type"] == "quota" and one["entered"]:
            from holdfast.hooks.run import command
            from holdfast.processes import relaunch

            relaunch.leave(command("tell-quota", one["level"]))


def tell_quota(
    arguments: Sequence[str], _payload: Mapping[str, Any], workspace: Workspace, now: int
) -> dict[str, Any]:
    """Tell people that a client's usage limit has reached a level of their budget; once a limit."""
    from holdfast.clients.table import title_of
    from holdfast.hooks.question_notices import NO_RESET, ToldOnce
    from holdfast.people.notices import tell_people
    from holdfast.usage import quotas

    full = quotas.list_quotas(workspace, now)
    if not full:
        return {"told": False}
    one, (level,) = full[0], arguments
    with ToldOnce(workspace, f"{one['client']} {one['name']} {level}") as told:
        resets_at = one["resets_at"] or NO_RESET
        if told is None or any(quotas.is_same_reset(each, resets_at) for each in told.words):
            return {"told": False}
        name = title_of(one["client"])
        text = f"{name}: {quotas.describe(one, now)}. This is your budget's {level}."
        title = f"Holdfast: the usage limit of {name} is near"
        is_told = tell_people(workspace, text, title=title, now=now)
        if is_told:
            told.add(resets_at)
    return {"told": is_told}
