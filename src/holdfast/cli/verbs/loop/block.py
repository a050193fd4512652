"""holdfast loop block"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import reply, step_option, track_verb
from holdfast.loop.commands import StopRequest, block_step
from holdfast.loop.track import Track


@click.command()
@click.argument("reason")
@step_option
@track_verb
def command(call: Call, track: Track, reason: str, step: str) -> Reply:
    """Report that the current step cannot continue.

    Its notes become `BLOCKED: REASON`, and the file gets a blocker that a person resolves.
    """
    return reply(track, block_step(track, StopRequest(reason=reason, step=step)), step)
