"""holdfast loop start"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.verbs.loop.words import reply, track_verb
from holdfast.loops.track import Track
from holdfast.protocols.loop.checkpoint import checkpoint_of, counted, status_of
from holdfast.protocols.loop.tasks import accounted, same_task
from holdfast.protocols.loop.transitions import step_named
from holdfast.protocols.loop.words import BLOCKED, EXECUTE, FIX


@click.command()
@click.argument("step")
@click.option("--tasks-total", type=int, metavar="N", help="How many tasks EXECUTE has.")
@click.option("--issues-total", type=int, metavar="N", help="How many issues FIX has.")
@click.option("--agent", metavar="NAME", help="Who works on it; by default the step's superpower.")
@click.option("--resume-from", metavar="TASK", help="The last task that is done; checked.")
@click.option("--max-fix-cycles", type=int, metavar="N", help="Allow so many fix cycles.")
@click.option("--reset", is_flag=True, help="Forget the tasks that are done: they run again.")
@click.option("--resolve", is_flag=True, help="Resolve the blockers of other steps, too.")
@track_verb
def command(
    call: Call,
    track: Track,
    step: str,
    tasks_total: int | None,
    issues_total: int | None,
    agent: str | None,
    resume_from: str | None,
    max_fix_cycles: int | None,
    reset: bool,
    resolve: bool,
) -> Reply:
    """Begin STEP, or go on with it where it was left.

    STEP is a key (PLAN, EXECUTE, FIX, ...) or a superpower's name (superpowers:executing-plans). Any step
    can be started at any time; EXECUTE keeps the tasks that are done. A start resolves the step's own
    blockers. A track that is not there yet is made.
    """
    name = step_named(step)
    done_tasks: list[str] = []
    if name == EXECUTE and track.plan():
        known = {} if reset else checkpoint_of(track.read(), name)
        done_tasks, total = accounted(track.plan(), known)
        tasks_total = total if tasks_total is None else tasks_total
    if name == FIX and issues_total is None:
        issues_total = track.issues() or None
    given: dict[str, Any] = {
        "tasks_total": tasks_total,
        "issues_total": issues_total,
        "agent": agent,
        "max_fix_cycles": max_fix_cycles,
        "reset": reset or None,
        "resolve": resolve or None,
        "done_tasks": done_tasks or None,
    }
    asked = {key: value for key, value in given.items() if value is not None}
    done = track.execute({"do": "start", "step": name, **asked}, now=call.now)
    for one in track.unread() if name == EXECUTE else []:
        warn(f"plan.md, line {one['line']} is not read as a task: {one['text'][:80]}")
    if not done.outcome["queued"]:
        checkpoint = checkpoint_of(done.state, name)
        last = str(checkpoint.get("last_task") or "")
        if resume_from and not same_task(resume_from, last):
            warn(f"--resume-from {resume_from}: the last task that is done is {last or 'none'}.")
        for step_key, field in ((EXECUTE, "tasks_total"), (FIX, "issues_total")):
            if name == step_key and counted(checkpoint, field) is None:
                warn(
                    f"How many? Say --{field.replace('_', '-')} N, so that progress means something."
                )
    queued = bool(done.outcome["queued"])
    return reply(track, done, name, may_pause=not queued and status_of(done.state, name) == BLOCKED)
