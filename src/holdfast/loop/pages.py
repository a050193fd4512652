"""Tracks: their cards and rows, and one with its steps, its tasks, its attempts, and its next step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.state import load
from holdfast.kernel.streams import open_writer
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.loop import track as places
from holdfast.loop.history import Attempt, find_attempts
from holdfast.loop.rules import loop as loops
from holdfast.loop.rules.checkpoint import (
    active_blockers,
    checkpoint_of,
    checkpoints_of,
    count_done,
    current_step,
    list_steps,
    loop_of,
    newest,
    problems,
    said,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import COMPLETE, DONE_TASKS, IN_PROGRESS, MAX_FIX_CYCLES, LoopState
from holdfast.loop.rules.tasks import remaining, same_task
from holdfast.loop.track import Track, find_next_task
from holdfast.web import figures
from holdfast.web.background import SpendingMeter
from holdfast.web.cards import DONE, NEEDS, find_lane
from holdfast.web.record_text import read_end, read_last, show_records
from holdfast.web.table import Card, Cards, Page, PageContext, Pages, link_to
from holdfast.web.workspaces import ServedWorkspace

TONES = {"PASSED": "good", "FAILED": "bad", "BLOCKED": "wait", IN_PROGRESS: "now"}
MOST_TASKS, MOST_ATTEMPTS = 80, 12
LOOKED_BACK = 400
LARGEST_PLAN = 1_000_000


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    track = _track(workspace, page.words["id"])
    state = track.read()
    step = current_step(state)
    recent = read_last(workspace, track.place.stream, LOOKED_BACK)
    attempts = find_attempts(recent)[::-1][:MOST_ATTEMPTS]
    held = waiting_for(state)
    why = why_paused(state)
    return {
        "workspace": place.key,
        "track": state["track"],
        "folder": state["folder"],
        "step": step,
        "status": "COMPLETE" if step == COMPLETE else status_of(state, step),
        "waits": held,
        "failed": "" if held else why,
        "loop_state": dict(loop_of(state)),
        "fix_cycles": loop_of(state).get("fix_cycle_count", 0),
        "most_fix_cycles": loop_of(state).get("max_fix_cycles", MAX_FIX_CYCLES),
        "steps": [_step(state, each, page.now) for each in list_steps(state)],
        "tasks": _tasks(track, state),
        "goes_on": {**find_next_task(track, state)} if _has_plan(track) else None,
        "blockers": [dict(one) for one in active_blockers(state)],
        "problems": {
            each: found
            for each, checkpoint in checkpoints_of(state).items()
            if (found := list(problems(checkpoint)))
        },
        "attempts": attempts,
        "log": _log(track, attempts),
        "work": figures.draw_bars([_work(state, each) for each in checkpoints_of(state)], page.now),
        "next": "" if step == COMPLETE else f"holdfast loop resume --track {quote(state['track'])}",
        "timeline": show_records(place, track.place.stream, page.number("before")),
    }  # fmt: skip


def _track(workspace: Workspace, id: str) -> Track:
    """The track in the folder that its records name, which need not be the usual one."""
    place = places.find_track(workspace, id)
    return Track(workspace, open_writer(workspace), place, actor="page")


def _step(state: LoopState, step: str, now: int) -> dict[str, Any]:
    checkpoint, status = checkpoint_of(state, step), status_of(state, step)
    begun, ended = (
        clock.instant_of(checkpoint.get(name)) for name in ("started_at", "completed_at")
    )
    took = ""
    if begun is not None and (ended is not None or status == IN_PROGRESS):
        took = figures.span((now if ended is None else ended) - begun)
    return {
        "step": step,
        "status": status,
        "tone": TONES.get(status, ""),
        "current": step == current_step(state),
        "agent": said(checkpoint, "agent"),
        "task": said(checkpoint, "current_task") if status == IN_PROGRESS else "",
        "done": count_done(checkpoint, "tasks_completed")
        or count_done(checkpoint, "issues_fixed")
        or 0,
        "total": count_done(checkpoint, "tasks_total")
        or count_done(checkpoint, "issues_total")
        or 0,
        "notes": said(checkpoint, "notes"),
        "files": [str(one) for one in checkpoint.get("output_files") or []][:12],
        "commits": [
            {"sha": str(one.get("sha") or ""), "message": str(one.get("message") or "")}
            for one in (checkpoint.get("commits") or [])[-8:]
            if isinstance(one, dict)
        ],
        "took": took,
        "updated_at": said(checkpoint, "last_updated"),
    }


def _tasks(track: Track, state: LoopState) -> dict[str, Any]:
    """The tasks of the EXECUTE step with their states."""
    checkpoint = checkpoint_of(state, "EXECUTE")
    plan = track.plan() if _has_plan(track) else []
    accepted = [str(one) for one in checkpoint.get(DONE_TASKS) or []]
    open_ids = {one["id"] for one in remaining(plan, checkpoint)}
    named = [one["id"] for one in plan]
    done = [one for one in accepted if not any(same_task(one, id) for id in named)]
    done += [f"{one['id']} {one['title']}".strip() for one in plan if one["id"] not in open_ids]
    left = [f"{one['id']} {one['title']}".strip() for one in plan if one["id"] in open_ids]
    return {
        "done": done[-MOST_TASKS:],
        "left": left[:MOST_TASKS],
        "more": max(0, len(done) - MOST_TASKS) + max(0, len(left) - MOST_TASKS),
    }


def _has_plan(track: Track) -> bool:
    """Whether there is a plan that a page can read: a pipe would make every page wait."""
    path = os.path.join(track.place.root, "plan.md")
    return os.path.isfile(path) and os.path.getsize(path) <= LARGEST_PLAN


def _work(state: LoopState, step: str) -> figures.WorkSpan:
    checkpoint, status = checkpoint_of(state, step), status_of(state, step)
    running = status == IN_PROGRESS
    end = said(checkpoint, "completed_at") or ("" if running else said(checkpoint, "last_updated"))
    begin, tone = said(checkpoint, "started_at"), TONES.get(status, "")
    return figures.WorkSpan(step, begin, end, tone, status.lower())


def _log(track: Track, attempts: list[Attempt]) -> str:
    if not attempts:
        return ""
    try:
        return read_end(track.place.log(attempts[0]["log"]))
    except (HoldfastError, OSError):
        return ""


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
            lane=DONE if over else (NEEDS if why else find_lane(seen_at, now)),
            word="complete" if over else word_of_track(state),
            about=f"step {step}",
            doing=said(checkpoint, "current_task") or ("" if why else said(checkpoint, "notes")),
            why=[why] if why else [],
            done=count_done(checkpoint, "tasks_completed") or 0,
            steps=count_done(checkpoint, "tasks_total") or 0,
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


PAGES = Pages(
    pages=(Page("track", "/w/{workspace}/tracks/{id}", gather, words=("before",), stream="loop"),),
    cards=(
        Cards("tracks", list_tracks, "Tracks", stream="loop", begin="holdfast loop start", rank=20),
    ),
)
