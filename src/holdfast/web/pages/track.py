"""One track: its steps, its tasks, its attempts, and its next step."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.text import quote
from holdfast.loop import track as places
from holdfast.loop.rules.checkpoint import (
    active_blockers,
    checkpoint_of,
    checkpoints_of,
    counted,
    current_step,
    instant_of,
    loop_of,
    problems,
    said,
    status_of,
    waiting_for,
)
from holdfast.loop.rules.model import COMPLETE, DONE_TASKS, IN_PROGRESS, MAX_FIX_CYCLES, STEPS
from holdfast.loop.rules.tasks import remaining, same_task
from holdfast.loop.track import Track, find_next_task
from holdfast.streams import open_writer
from holdfast.web import figures
from holdfast.web.cards import why_paused
from holdfast.web.record_text import read_end, read_last, show_records

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from holdfast.kernel.workspace import Workspace
    from holdfast.loop.rules.model import LoopState
    from holdfast.web.pages import PageContext

USUAL = ("PLAN", "EVALUATE_PLAN", "EXECUTE", "EVALUATE_EXECUTION")
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
    attempts = _attempts(recent)
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
        "steps": [_step(state, each, page.now) for each in _steps(state, step)],
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
    place = places.TrackFolder(workspace, id)
    if workspace.exists():
        for row in workspace.journal.views(worktree=workspace.root, stream=place.stream):
            folder = os.path.dirname(row["path"])
            if folder != place.folder:
                place = places.TrackFolder(workspace, id, folder)
    return Track(workspace, open_writer(workspace), place, actor="page")


def _steps(state: LoopState, current: str) -> list[str]:
    """The steps of the track; an optional step only if it is used."""
    known = checkpoints_of(state)
    shown = [step for step in STEPS[:-1] if step in known or step in USUAL or step == current]
    return shown + [step for step in known if step not in STEPS]


def _step(state: LoopState, step: str, now: int) -> dict[str, Any]:
    checkpoint, status = checkpoint_of(state, step), status_of(state, step)
    begun, ended = (instant_of(checkpoint.get(name)) for name in ("started_at", "completed_at"))
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
        "done": counted(checkpoint, "tasks_completed") or counted(checkpoint, "issues_fixed") or 0,
        "total": counted(checkpoint, "tasks_total") or counted(checkpoint, "issues_total") or 0,
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


def _attempts(records: list[Record]) -> list[dict[str, Any]]:
    """The programs that were started, as far as the newest records tell; newest first."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        body = record["body"] if isinstance(record["body"], dict) else {}
        if record["kind"] == "attempt_begun":
            names = ("number", "step", "task", "program", "log")
            found[body["log"]] = {
                **{name: body[name] for name in names},
                "at": record["at"],
                "exit_code": None,
            }
        ended = body.get("attempt")
        if isinstance(ended, dict) and ended.get("log") in found:
            found[ended["log"]]["exit_code"] = ended["exit_code"]
    return list(found.values())[::-1][:MOST_ATTEMPTS]


def _log(track: Track, attempts: list[dict[str, Any]]) -> str:
    if not attempts:
        return ""
    try:
        return read_end(os.path.join(track.place.logs, os.path.basename(attempts[0]["log"])))
    except (HoldfastError, OSError):
        return ""
