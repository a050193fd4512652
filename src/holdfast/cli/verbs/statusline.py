"""holdfast statusline"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb


@click.command()
@verb
def command(call: Call) -> Reply:
    """Print one line for Claude Code's status line: the context, the cost and its limit, gates that wait,
    a stop or an alert, hooks that failed. Claude Code gives its numbers on standard input.

    `holdfast init --client claude` sets up a faster command for the same, unless you have a status line.
    """
    from holdfast.hooks.run import respond

    line = str(respond(["statusline"]))
    return Reply({"line": line}, [line])
