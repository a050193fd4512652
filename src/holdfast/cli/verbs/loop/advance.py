"""holdfast loop advance"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.verbs.loop.words import reply, track_verb
from holdfast.loop.track import Track


@click.command()
@click.option("--business-sync", is_flag=True, help="The last evaluation leads to BUSINESS_SYNC.")
@track_verb
def command(
    call: Call,
    track: Track,
    business_sync: bool,
) -> Reply:
    """Go to the next step by the protocol's table; it enters as NOT_STARTED, and nothing is run.

    Exit code 8, with the text for a person, while a blocker stands or when the fix cycles are used up.
    """
    asked = {"do": "advance", "business_sync": business_sync}
    return reply(track, track.execute(asked, now=call.now), may_pause=True)
