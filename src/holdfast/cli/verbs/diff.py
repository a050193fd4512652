"""holdfast diff"""

from __future__ import annotations

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.maintenance.history import ends_of, picture, state_at


@click.command()
@click.argument("a")
@click.argument("b", required=False, default="")
@verb
def command(call: Call, a: str, b: str) -> Reply:
    """What changed between two records of one stream: A, and B or the newest."""
    journal = call.journal
    first, second = ends_of(journal, a, b)
    stream = first["stream"]
    before, after = (state_at(journal, stream, end["version"]) for end in (first, second))
    lines = list(
        terminal.diff(
            picture(stream, before),
            picture(stream, after),
            f"{first['id'][:8]} {first['at']}",
            f"{second['id'][:8]} {second['at']}",
        )
    )
    data = {
        "stream": stream,
        "before": {"record": first["id"], "version": first["version"], "state": before},
        "after": {"record": second["id"], "version": second["version"], "state": after},
        "diff": [terminal.unstyle(line) for line in lines],
    }
    return Reply(data, lines or ["Nothing changed."], pages=True)
