"""Runs of plans that are stalled because their runner is gone."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.kernel.workspace import Workspace
from holdfast.registry import STALLED, Attention


def find(workspace: Workspace, now: int) -> Iterator[Attention]:
    """Return the runs that no runner carries on and that wait for no person."""
    if not workspace.exists() or not workspace.journal.heads("run:"):
        return
    from holdfast.kernel import clock
    from holdfast.kernel.text import plural
    from holdfast.pack.handover_text import age_of
    from holdfast.plans import runs

    for state in runs.list_unfinished(workspace):
        # An open gate says by itself that a person is waited for.
        if runs.runner_of(workspace, state) or runs.unanswered_gates(workspace, state):
            continue
        head = workspace.journal.head(f"run:{state['id']}")
        since = age_of(clock.parse(head["seen_at"]), now) if head else ""
        done = f"{state['done']} of {plural(state['total'], 'task')} done"
        what = f"Plan run {state['id']} stands still ({done}, last seen {since}): {runs.why_stalled(state)}"
        yield Attention(what, runs.resume_command(state), STALLED, has_card=True)
