"""holdfast loop task-done"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.terminal import safe
from holdfast.cli.verbs.loop.words import reply, step_option, track_verb
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track


@click.command("task-done")
@click.argument("task")
@step_option
@click.option("--commit", metavar="SHA", help="The commit that holds it.")
@click.option("--message", metavar="TEXT", help="The commit's message, or how an issue was fixed.")
@click.option("--next", "following", metavar="TASK", help="What is done next.")
@track_verb
def command(
    call: Call,
    track: Track,
    task: str,
    step: str | None,
    commit: str | None,
    message: str | None,
    following: str | None,
) -> Reply:
    """TASK is accepted: it never runs again. In FIX, TASK is an issue that is fixed.

    The same task again changes nothing, and is said.
    """
    name = step_named(step) if step else ""
    asked = {"do": "task_done", "task": task, "step": name, "next": following}
    done = track.execute({**asked, "commit": commit, "message": message}, now=call.now)
    return reply(track, done, name, again=f"{safe(task)} was reported before; nothing changed.")
