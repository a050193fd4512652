"""holdfast loop fail"""

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
    """The current step failed: REASON stands in its notes, as `ERROR: REASON`."""
    return ended_badly(call, track, "fail", reason, step)
