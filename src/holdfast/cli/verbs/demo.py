"""holdfast demo"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, verb
from holdfast.story import tell


@click.command(short_help="The main story, in a temporary repository.")
@verb
def command(call: Call) -> Reply:
    """Play the main story with real processes in a temporary repository, which is then removed."""
    if call.as_json:
        return Reply({"story": list(tell())})
    return Reply({}, tell())
