"""holdfast loop progress"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import outputs_option, reply, step_option, track_verb
from holdfast.loop.commands import ProgressRequest, report_progress
from holdfast.loop.track import Track


@click.command()
@step_option
@click.option("--current-phase", type=int, metavar="N", help="Number of the current phase.")
@click.option("--total-phases", type=int, metavar="N", help="Number of phases in total.")
@click.option("--current-task", metavar="TEXT", help="Task in progress.")
@click.option("--tasks-completed", type=int, metavar="N", help="Number of completed tasks.")
@click.option("--tasks-total", type=int, metavar="N", help="Number of tasks in total.")
@click.option("--issues-fixed", type=int, metavar="N", help="Number of issues that FIX has fixed.")
@click.option("--issues-total", type=int, metavar="N", help="Number of issues in total.")
@click.option("--current-issue", metavar="TEXT", help="Issue that FIX works on.")
@outputs_option
@click.option("--notes", metavar="TEXT", help="Short summary.")
@track_verb
def command(
    call: Call,
    track: Track,
    step: str,
    outputs: tuple[str, ...],
    notes: str | None,
    **fields: int | str | None,
) -> Reply:
    """Report how far the current step is. PLAN reports every five minutes."""
    given = {name: value for name, value in fields.items() if value is not None}
    request = ProgressRequest(step=step, fields=given, outputs=outputs, notes=notes)
    return reply(track, report_progress(track, request), step)
