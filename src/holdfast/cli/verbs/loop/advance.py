"""holdfast loop advance"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.loop_output import reply, track_verb
from holdfast.loop.commands import AdvanceRequest, advance
from holdfast.loop.track import Track


@click.command()
@click.option(
    "--business-sync", is_flag=True, help="Go to BUSINESS_SYNC after the last evaluation."
)
@track_verb
def command(call: Call, track: Track, business_sync: bool) -> Reply:
    """Go to the next step by the protocol's table. The step becomes NOT_STARTED; nothing runs.

    Exits with 8, and prints a text for a person, while a blocker is active or when all fix cycles are
    used.
    """
    return reply(track, advance(track, AdvanceRequest(business_sync=business_sync)), may_pause=True)
