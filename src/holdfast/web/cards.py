"""Agents, sessions, tracks and runs as cards of one shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from holdfast.fleet import roster
from holdfast.fleet.epic import Epic, find
from holdfast.fleet.rules.liveness import instant_of
from holdfast.git.repository import read_head
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.loop.rules import loop as loops
from holdfast.loop.rules.checkpoint import (
    checkpoint_of,
    counted,
    current_step,
    newest,
    said,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import COMPLETE
from holdfast.plans import runs as plan_runs
from holdfast.plans.rules import run as run_rules
from holdfast.plans.rules.ready import waiting_gates, wave_at
from holdfast.plans.rules.run_model import ALERT_WAITS, OVER
from holdfast.plans.runs import RunFolder
from holdfast.processes.lease import is_held
from holdfast.remote import server_time
from holdfast.session import sessions
from holdfast.session.client_process import AT_WORK, standing
from holdfast.session.rules.model import UNKNOWN_ISSUE
from holdfast.web.figures import span
from holdfast.web.record_text import link_to

if TYPE_CHECKING:
    from holdfast.fleet.roster import AgentEntry
    from holdfast.kernel.workspace import Workspace
    from holdfast.loop.rules.model import LoopState
    from holdfast.plans.rules.run_model import RunPause, RunState
    from holdfast.session.rules.model import SessionState
    from holdfast.web.background import SpendingMeter
    from holdfast.web.workspaces import ServedWorkspace

NEEDS, RUNNING, QUIET, DONE = "needs", "running", "quiet", "done"
LANES = {
    "active": RUNNING,
    "busy": RUNNING,
    "waiting": RUNNING,
    "done": DONE,
}
# After so many minutes without a sign of life, what does not beat is called quiet.
QUIET_AFTER = 30 * clock.MINUTE
MOST_RUNS = 40
_MINUTES = re.compile(r"\b(\d{3,12}) min\b")


@dataclass(kw_only=True)
class Card:
    """One agent, session, track or run. `lane` is its lane on the board, `figures` what it spent, `seen_at`
    its last sign of life, `choices` the commands to decide with."""

    key: str
    workspace: str
    kind: str
    name: str
    lane: str
    word: str
    about: str
    doing: str
    why: list[str]
    done: int
    steps: int
    seen_at: str
    worktree: str
    branch: str = ""
    machine: str = ""
    elsewhere: bool = False
    figures: dict[str, Any] = field(default_factory=dict)
    choices: list[str] = field(default_factory=list)
    epic: str = ""
    feature: str = ""
    next: str
    href: str = "/fleet"


def list_cards(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """All cards of a workspace, one kind after the other."""
    branches = Branches()
    for source in (list_agents, list_sessions, list_tracks, list_runs):
        for card in source(place, now, meter):
            card.branch = branches.of(card.worktree) or card.branch
            yield card


def list_agents(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    workspace = place.workspace
    # Lives are judged by the clock that all machines agree on, and told by the one of this page.
    agreed = server_time.now(workspace) if workspace.url else now
    for epic in list_epics(workspace):
        for entry in roster.listing(epic, agreed):
            here = entry["here"]
            spent = meter.figures(place.root, transcript=entry["transcript"] if here else "")
            yield Card(
                key=f"{place.key}/agent/{epic.folder}/{entry['agent_id']}",
                workspace=place.key,
                kind="agent",
                name=entry["agent_id"],
                lane=lane_of(entry),
                word=entry["verdict"],
                about=" · ".join(one for one in (entry["feature"], entry["stage"]) if one),
                doing=entry["current_step"],
                why=[*entry["blockers"], *_reasons(entry)],
                done=entry["done"],
                steps=entry["steps"],
                seen_at=_last_sign(entry, agreed - now),
                worktree=(entry["worktree"] or entry["home"]) if here else "",
                machine=entry["machine"],
                elsewhere=not here,
                figures=spent._asdict(),
                choices=_choices(entry),
                epic=epic.folder,
                feature=entry["feature"],
                next=entry["next"],
            )


def list_epics(workspace: Workspace) -> list[Epic]:
    """The epic of the settings, and every other epic that has agents in the journal."""
    first = find(workspace)
    heads = workspace.journal.heads("agent:") if workspace.exists() else []
    folders = {head["stream"].partition(":")[2].rpartition("/")[0]: None for head in heads}
    return [first, *(Epic(workspace, one) for one in folders if one != first.folder)]


def lane_of(entry: AgentEntry) -> str:
    """The lane of an agent on the board."""
    return NEEDS if roster.needs_decision(entry) else LANES.get(entry["verdict"], QUIET)


def _reasons(entry: AgentEntry) -> list[str]:
    problem = [entry["problem"]] if entry["problem"] else []
    plain = entry["verdict"] in ("active", "done") or entry["blockers"]
    return [*problem, *([] if plain else map(in_larger_units, entry["because"])), *entry["notes"]]


def in_larger_units(text: str) -> str:
    """Write many minutes in larger units: `no change for 9 h`."""
    return _MINUTES.sub(lambda found: span(int(found[1]) * clock.MINUTE), text)


def _last_sign(entry: AgentEntry, ahead: int) -> str:
    """The newest of the agent's heartbeat and of the signs of its worktree, transcript and hooks."""
    seen = entry["signals"]
    moments = [instant_of(entry["last_checkpoint"]), seen["activity"], seen["transcript"]]
    known = [moment for moment in moments if moment is not None]
    return clock.stamp(max(known) - ahead) if known else ""


def _choices(entry: AgentEntry) -> list[str]:
    """The commands to copy; the page itself can defer and absorb."""
    commands = roster.decisions(entry)
    return [each for each in commands if each.split()[2] not in ("defer", "absorb")]


def list_sessions(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    workspace = place.workspace
    for state in sessions.latest(workspace):
        last, progress = state["last"], state["progress"]
        if last is None or state["adopted_by"]:
            continue
        done, left = len(progress["completed"]), len(progress["remaining"])
        stands = standing(workspace, state, now)
        over = stands == "ended"
        seen_at = state["ended_at"] or last["at"]
        yield Card(
            key=f"{place.key}/session/{state['session']}/{state['session'][:8]}",
            workspace=place.key,
            kind="session",
            name=state["session"][:8],
            href=link_to(place.key, f"session:{state['session']}"),
            lane=DONE if over else _by_age(seen_at, now) if stands == AT_WORK else QUIET,
            word=stands,
            about=_issue(state),
            doing=progress["current"] or progress["status"],
            why=[blocker["blocker"] for blocker in progress["blockers"]],
            done=done,
            steps=done + left + bool(progress["current"]),
            seen_at=seen_at,
            worktree=last["world"]["worktree"],
            branch=last["world"]["branch"] or "",
            figures=meter.figures(place.root, session=state["session"])._asdict(),
            next=f"holdfast resume --session {quote(state['session'][:8])}",
        )


def _issue(state: SessionState) -> str:
    progress = state["progress"]
    issue = "" if progress["issue"] == UNKNOWN_ISSUE else progress["issue"]
    return " · ".join(one for one in (issue, progress["title"]) if one)


def list_tracks(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    workspace = place.workspace
    if not workspace.exists():
        return
    for head in workspace.journal.heads("loop:"):
        state: LoopState = load(workspace.journal, loops, head["stream"])[0]
        if not state["opened"]:
            continue
        step = current_step(state)
        checkpoint = checkpoint_of(state, step)
        moment = newest(state["document"])
        seen_at = clock.stamp(moment) if moment else head["seen_at"]
        over = step == COMPLETE
        why = why_paused(state)
        yield Card(
            key=f"{place.key}/track//{state['track']}",
            workspace=place.key,
            kind="track",
            name=state["track"],
            href=link_to(place.key, head["stream"]),
            lane=DONE if over else (NEEDS if why else _by_age(seen_at, now)),
            word="complete" if over else word_of_track(state),
            about=f"step {step}",
            doing=said(checkpoint, "current_task") or ("" if why else said(checkpoint, "notes")),
            why=[why] if why else [],
            done=counted(checkpoint, "tasks_completed") or 0,
            steps=counted(checkpoint, "tasks_total") or 0,
            seen_at=seen_at,
            worktree=place.root,
            choices=[f"holdfast loop resume --track {quote(state['track'])}"] if why else [],
            next="" if over else f"holdfast loop resume --track {quote(state['track'])}",
        )


def why_paused(state: LoopState) -> str:
    """Why a track does not go on by itself: it waits for a person, or its step failed. Empty if it
    does."""
    held, step = waiting_for(state), current_step(state)
    if held:
        return held["reason"]
    if step == COMPLETE or status_of(state, step) != "FAILED":
        return ""
    return said(checkpoint_of(state, step), "notes") or f"{step} failed"


def word_of_track(state: LoopState) -> str:
    """`paused`, `failed`, or the step that a track is at."""
    if waiting_for(state):
        return "paused"
    return "failed" if why_paused(state) else current_step(state).replace("_", " ").lower()


def list_runs(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[Card]:
    """The newest runs of plans. A run that waits for a gate is quiet: the gate itself needs the
    person."""
    workspace = place.workspace
    if not workspace.exists():
        return
    heads = workspace.journal.heads(run_rules.STREAMS)
    heads.sort(key=lambda head: head["seen_at"], reverse=True)
    for head in heads[:MOST_RUNS]:
        state: RunState = load(workspace.journal, run_rules, head["stream"])[0]
        if not state["status"]:
            continue
        runner = bool(is_held(RunFolder(workspace, state["id"]).lease))
        over = state["status"] in OVER
        unanswered = plan_runs.unanswered_gates(workspace, state)
        waits = bool(unanswered)
        lane = DONE if over else RUNNING if runner else QUIET if waits else NEEDS
        word = (
            state["status"] if over else "running" if runner else "waiting" if waits else "paused"
        )
        phase, wave = wave_at(state)
        resume = plan_runs.resume_command(state)
        yield Card(
            key=f"{place.key}/run//Run {state['id']}",
            workspace=place.key,
            kind="run",
            name=f"Run {state['id']}",
            href=link_to(place.key, head["stream"]),
            lane=lane,
            word=word,
            about=f"phase {phase}, wave {wave}" if phase and not over else "",
            doing=_task_of(state),
            why=_why_waiting(state, lane, unanswered),
            done=state["done"],
            # A gate that waits is something to be done as well: the bar is not full.
            steps=state["total"] + len(waiting_gates(state)),
            seen_at=head["seen_at"],
            worktree=state["root"],
            choices=[resume] if lane == NEEDS else [],
            next="" if over else resume,
        )


def _why_waiting(state: RunState, lane: str, unanswered: list[tuple[str, str]]) -> list[str]:
    """What a run waits for: the questions by their titles, the alert, or the next runner."""
    if lane not in (NEEDS, QUIET):
        return []
    if lane == NEEDS and waiting_gates(state):
        return ["its question is answered"]
    if lane == NEEDS:
        return [_stopped(state["pause"]) if state["pause"] else "its runner is gone"]
    asked = []
    for id, key in unanswered:
        task = next(one for one in state["plans"][id]["plan"]["tasks"] if one["key"] == key)
        asked.append(
            f"waits for your answer: {task['gate']['title'] if task['gate'] else task['name']}"
        )
    return asked


def _stopped(pause: RunPause) -> str:
    held = pause["reason"] == ALERT_WAITS
    return f"a budget's alert holds it: {pause['text']}" if held else pause["text"]


def _task_of(state: RunState) -> str:
    """The current task, or the title of the run."""
    for id, plan in state["plans"].items():
        titles = {task["key"]: task["name"] for task in plan["plan"]["tasks"]}
        for key, task in plan["tasks"].items():
            if task["status"] == "running":
                return f"{id} #{key} {titles.get(key, '')}".strip()
    return ", ".join(plan["plan"]["title"] or id for id, plan in state["plans"].items())


def _by_age(seen_at: str, now: int) -> str:
    moment = instant_of(seen_at)
    return RUNNING if moment is not None and now - moment <= QUIET_AFTER else QUIET


class Branches:
    """The branch of each worktree, read once for a page."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, worktree: str) -> str:
        if worktree not in self._known:
            try:
                self._known[worktree] = (worktree and read_head(worktree)["branch"]) or ""
            except (HoldfastError, OSError):
                self._known[worktree] = ""
        return self._known[worktree]
