"""holdfast loop block"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.verbs.loop.words import ended_badly, step_option, track_verb
from holdfast.loop.track import Track


@click.command()
@click.argument("reason")
@step_option
@track_verb
def command(call: Call, track: Track, reason: str, step: str | None) -> Reply:
    """The current step cannot go on: `BLOCKED: REASON`, and a blocker for a person to resolve."""
    return ended_badly(call, track, "block", reason, step)
