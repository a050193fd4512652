"""holdfast mcp"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from holdfast.cli.frame import INTERRUPTED, Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import echo
from holdfast.kernel.errors import HoldfastError
from holdfast.processes.distribution import install_command

GONE = (BrokenPipeError, ConnectionResetError)


def leave(code: int) -> NoReturn:
    """End at once. All calls are done, but a thread still waits for a line that may never come."""
    os._exit(code)


@click.command()
@verb
def command(call: Call) -> Reply:
    """Serve the Model Context Protocol on standard input and output, for the client that starts this.

    docs/how-to/mcp.md describes the tools, resources and prompts. The server ends when the client closes
    standard input.
    """
    try:
        from holdfast.mcp.server import serve_stdio
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "holdfast":
            raise
        raise HoldfastError(
            f"The MCP server needs the package {missing.name}, which is not installed.",
            hint=install_command("mcp"),
            kind="not_installed",
        ) from None
    if sys.stdin is None:
        return Reply(
            {"folder": call.folder}
        )  # closed by the program that started us: it will ask nothing
    if sys.stdin.isatty():
        echo("An MCP client starts this by itself; Ctrl-D ends it.", error=True)
    try:
        serve_stdio(call.folder)
    except BaseExceptionGroup as group:
        _, others = group.split(GONE)
        if others is not None:
            lost, _ = others.split(OSError)
            raise (lost or others).exceptions[0] from None
        leave(0)
    except KeyboardInterrupt:
        leave(INTERRUPTED)
    return Reply({"folder": call.folder})
