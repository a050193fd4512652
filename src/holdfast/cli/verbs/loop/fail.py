"""holdfast loop fail"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import reply, step_option, track_verb
from holdfast.loop.commands import StopRequest, fail_step
from holdfast.loop.track import Track


@click.command()
@click.argument("reason")
@step_option
@track_verb
def command(call: Call, track: Track, reason: str, step: str) -> Reply:
    """Report that the current step failed. Its notes become `ERROR: REASON`."""
    return reply(track, fail_step(track, StopRequest(reason=reason, step=step)), step)
