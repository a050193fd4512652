"""holdfast loop pass"""
# ruff: noqa: N999 - named as its verb is

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import outputs_option, reply, step_option, track_verb
from holdfast.loop.commands import PassRequest, pass_step
from holdfast.loop.track import Track


@click.command("pass")
@step_option
@outputs_option
@click.option("--notes", metavar="TEXT", help="Short summary. Required for PLAN and FIX.")
@track_verb
def command(
    call: Call, track: Track, step: str, outputs: tuple[str, ...], notes: str | None
) -> Reply:
    """Report that the current step passed. EXECUTE passes only when no task is open."""
    request = PassRequest(step=step, outputs=outputs, notes=notes, folder=call.folder)
    return reply(track, pass_step(track, request), step)
