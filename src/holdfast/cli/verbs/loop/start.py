"""holdfast loop start"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import reply, track_verb
from holdfast.loop.commands import StartRequest, start
from holdfast.loop.rules.checkpoint import status_of
from holdfast.loop.rules.model import BLOCKED
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track


@click.command()
@click.argument("step")
@click.option("--tasks-total", type=int, metavar="N", help="Number of tasks of EXECUTE.")
@click.option("--issues-total", type=int, metavar="N", help="Number of issues of FIX.")
@click.option(
    "--agent", metavar="NAME", help="Agent that works on the step. Default: the step's superpower."
)
@click.option(
    "--resume-from", metavar="TASK", help="Last completed task. A warning follows if it differs."
)
@click.option("--max-fix-cycles", type=int, metavar="N", help="Allow N fix cycles.")
@click.option("--reset", is_flag=True, help="Run completed tasks again.")
@click.option("--resolve", is_flag=True, help="Resolve the blockers of the other steps, too.")
@track_verb
def command(call: Call, track: Track, step: str, **options: Any) -> Reply:
    """Start STEP, or continue it where it was left.

    STEP is a key (PLAN, EXECUTE, FIX, ...) or the name of a superpower (superpowers:executing-plans).
    You can start any step at any time. EXECUTE keeps its completed tasks. A start resolves the step's
    own blockers. A track that does not exist is created.
    """
    name = step_named(step)
    result = start(track, StartRequest(step=name, **options))
    queued = bool(result.outcome["queued"])
    blocked = not queued and status_of(result.state, name) == BLOCKED
    return reply(track, result, name, may_pause=blocked)
