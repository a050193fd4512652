"""Work that stands still because its process is gone: what it is, since when, and the command that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.fleet import roster
from holdfast.fleet.epic import Epic
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.kernel.text import plural, quote
from holdfast.loop.rules import loop as loops
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    counted,
    current_step,
    newest,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import FAILED, IN_PROGRESS
from holdfast.plans import runs
from holdfast.plans.rules.ready import waiting_gates
from holdfast.remote import server_time
from holdfast.session.handover_text import age_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace
    from holdfast.loop.rules.model import LoopState

GONE = "process gone"
# A track has no process of its own: its agent may think for so long between two commands.
SILENT_AFTER = 30 * clock.MINUTE


def list_interrupted(workspace: Workspace, now: int) -> list[tuple[str, str]]:
    """What stands still, each with the command that goes on: runs, agents, tracks."""
    if not workspace.exists():
        return []
    return [*_runs(workspace, now), *_agents(workspace, now), *_tracks(workspace, now)]


def _runs(workspace: Workspace, now: int) -> Iterator[tuple[str, str]]:
    for state in runs.unfinished(workspace) if workspace.journal.heads("run:") else ():
        # An open gate says by itself that a person is waited for.
        if runs.runner_of(workspace, state) or runs.unanswered_gates(workspace, state):
            continue
        head = workspace.journal.head(f"run:{state['id']}")
        since = age_of(clock.parse(head["seen_at"]), now) if head else ""
        if state["pause"] is None:
            why = "its runner is gone"
        elif waiting_gates(state):
            why = "its question is answered"
        else:
            why = state["pause"]["text"]
        done = f"{state['done']} of {plural(state['total'], 'task')} done"
        what = f"Plan run {state['id']} stands still ({done}, last seen {since}): {why}"
        yield what, runs.resume_command(state)


def _agents(workspace: Workspace, now: int) -> Iterator[tuple[str, str]]:
    heads = workspace.journal.heads("agent:")
    if not heads:
        return
    agreed = server_time.now(workspace) if workspace.url else now
    folders = {head["stream"].partition(":")[2].rpartition("/")[0] for head in heads}
    for folder in sorted(folders):
        try:
            entries = roster.listing(Epic(workspace, folder), agreed)
        except (HoldfastError, OSError):
            continue  # `doctor` tells why
        for entry in entries:
            is_gone = GONE in entry["because"] and entry["verdict"] != "done"
            if not entry["next"] or not (is_gone or roster.needs_decision(entry)):
                continue
            last = entry["last_checkpoint"]
            since = f", last checkpoint {last}" if last else ""
            because = "; ".join(entry["because"]) or entry["problem"]
            yield f"{entry['agent_id']} is {entry['verdict']} ({because}{since})", entry["next"]


def _tracks(workspace: Workspace, now: int) -> Iterator[tuple[str, str]]:
    for head in workspace.journal.heads("loop:"):
        state: LoopState = load(workspace.journal, loops, head["stream"])[0]
        why = _why_silent(state, head["seen_at"], now) if state["opened"] else ""
        if why:
            yield (
                f"Track {state['track']} {why}",
                f"holdfast loop resume --track {quote(state['track'])}",
            )


def _why_silent(state: LoopState, seen_at: str, now: int) -> str:
    step = current_step(state)
    moment = newest(state["document"]) or clock.parse(seen_at)
    held = waiting_for(state)
    if held is not None:
        return f"is blocked at {held['step']} since {age_of(moment, now)}: {held['reason']}"
    status = status_of(state, step)
    if status == FAILED:
        return f"failed at {step} {age_of(moment, now)}"
    if status != IN_PROGRESS or now - moment < SILENT_AFTER:
        return ""
    checkpoint = checkpoint_of(state, step)
    done, total = counted(checkpoint, "tasks_completed"), counted(checkpoint, "tasks_total")
    tasks = f", {done or 0} of {plural(total, 'task')} done" if total else ""
    return f"stands at {step}{tasks}; last word {age_of(moment, now)}"
