"""Alerts and stops of budgets that wait for a person, and limits that cannot be followed."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.budgets.limits import describe_raised, find_problem, has_file
from holdfast.kernel.stops import find_own_home
from holdfast.kernel.workspace import Workspace
from holdfast.registry import BROKEN, STOPPED, Attention

STREAM = "budget:default"


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the alerts and stops, those of the repository's own home included, and problems of the limits."""
    own = find_own_home(workspace)
    if own is not None:
        try:
            for one in _list_waiting(own):
                from holdfast.budgets.stop import AROUND

                yield Attention(f"{one.what} {AROUND}", f"env -u HOLDFAST_HOME {one.next}", STOPPED)
        finally:
            own.close()
    yield from _list_waiting(workspace)
    if not has_file(workspace):
        return
    from holdfast.budgets.check import Budget

    state = Budget(workspace, actor="").state()
    problem = find_problem(workspace, state)
    if problem:
        yield Attention(problem.removesuffix("."), "holdfast guard limits", BROKEN)
        return
    raised = describe_raised(state.get("own", {}))
    if raised:
        yield Attention(raised, "holdfast trust", BROKEN)


def _list_waiting(workspace: Workspace) -> Iterator[Attention]:
    if workspace.exists() and workspace.journal.head(STREAM) is not None:
        from holdfast.budgets.stop import list_waiting

        yield from list_waiting(workspace)
