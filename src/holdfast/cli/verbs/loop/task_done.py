"""holdfast loop task-done"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import reply, step_option, track_verb
from holdfast.cli.terminal import safe
from holdfast.loop.commands import TaskRequest, complete_task
from holdfast.loop.track import Track


@click.command("task-done")
@click.argument("task")
@step_option
@click.option("--commit", metavar="SHA", help="Commit that contains the task.")
@click.option("--message", metavar="TEXT", help="Message of the commit, or how an issue was fixed.")
@click.option("--next", "following", metavar="TASK", help="Task that follows.")
@track_verb
def command(
    call: Call,
    track: Track,
    task: str,
    step: str,
    commit: str | None,
    message: str | None,
    following: str | None,
) -> Reply:
    """Report that TASK is done. It never runs again. In FIX, TASK is an issue.

    A second report of the same task changes nothing, and the reply says so.
    """
    request = TaskRequest(task=task, step=step, commit=commit, message=message, next=following)
    again = f"{safe(task)} was reported before; nothing changed."
    return reply(track, complete_task(track, request), step, again=again)
