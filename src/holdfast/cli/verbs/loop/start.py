"""holdfast loop start"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.verbs.loop.words import reply, track_verb
from holdfast.loop import commands
from holdfast.loop.rules.checkpoint import status_of
from holdfast.loop.rules.model import BLOCKED
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track


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
    done = commands.start(
        track,
        name,
        tasks_total=tasks_total,
        issues_total=issues_total,
        agent=agent,
        resume_from=resume_from,
        max_fix_cycles=max_fix_cycles,
        reset=reset,
        resolve=resolve,
        now=call.now,
    )
    queued = bool(done.outcome["queued"])
    return reply(track, done, name, may_pause=not queued and status_of(done.state, name) == BLOCKED)
