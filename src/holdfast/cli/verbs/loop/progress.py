"""holdfast loop progress"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.verbs.loop.words import outputs_option, reply, step_option, track_verb
from holdfast.kernel.errors import Usage
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track


@click.command()
@step_option
@click.option("--current-phase", type=int, metavar="N", help="The phase it is in.")
@click.option("--total-phases", type=int, metavar="N", help="How many phases there are.")
@click.option("--current-task", metavar="TEXT", help="What is being done.")
@click.option("--tasks-completed", type=int, metavar="N", help="How many tasks are done.")
@click.option("--tasks-total", type=int, metavar="N", help="How many tasks there are.")
@click.option("--issues-fixed", type=int, metavar="N", help="How many issues FIX has fixed.")
@click.option("--issues-total", type=int, metavar="N", help="How many issues there are.")
@click.option("--current-issue", metavar="TEXT", help="The issue that is being fixed.")
@outputs_option
@click.option("--notes", metavar="TEXT", help="A short summary.")
@track_verb
def command(
    call: Call,
    track: Track,
    step: str | None,
    outputs: tuple[str, ...],
    notes: str | None,
    **fields: int | str | None,
) -> Reply:
    """How far the current step is. PLAN says so every five minutes."""
    given = {name: value for name, value in fields.items() if value is not None}
    if not given and not outputs and not notes:
        raise Usage("There is no progress in that.", hint="holdfast loop progress --help")
    name = step_named(step) if step else ""
    asked = {"do": "progress", "step": name, "fields": given}
    done = track.execute({**asked, "output_files": list(outputs), "notes": notes}, now=call.now)
    return reply(track, done, name)
