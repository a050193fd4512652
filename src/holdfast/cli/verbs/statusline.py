"""holdfast statusline"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb


@click.command()
@verb
def command(call: Call) -> Reply:
    """One line for Claude Code's status line, which gives its numbers on standard input: the context,
    the cost and its limit, gates that wait, a stop or an alert, hooks that failed.

    `holdfast init --client claude` sets it up, by a faster way, where you have no other.
    """
    from holdfast.hooks.run import respond

    line = str(respond(["statusline"]))
    return Reply({"line": line}, [line])
