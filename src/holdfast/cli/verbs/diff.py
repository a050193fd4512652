"""holdfast diff"""

from __future__ import annotations

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.maintenance.history import diff, picture


@click.command()
@click.argument("a")
@click.argument("b", required=False, default="")
@verb
def command(call: Call, a: str, b: str) -> Reply:
    """Show what changed in a stream between the records A and B. Without B: since A."""
    found = diff(call.workspace, a, b)
    stream, before, after = found["stream"], found["before"], found["after"]
    lines = list(
        terminal.diff(
            picture(stream, before["state"]),
            picture(stream, after["state"]),
            f"{before['record'][:8]} {before['at']}",
            f"{after['record'][:8]} {after['at']}",
        )
    )
    data = {**found, "diff": [terminal.unstyle(line) for line in lines]}
    return Reply(data, lines or ["Nothing changed."], pages=True)
