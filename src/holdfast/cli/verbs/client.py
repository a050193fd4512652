"""holdfast hook, statusline, mcp, completion: what clients and shells call."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click
from click.shell_completion import get_completion_class

from holdfast.cli.frame import INTERRUPTED, Call, Reply
from holdfast.cli.parser import COMPLETION_VARIABLE, root, verb
from holdfast.cli.terminal import echo
from holdfast.hooks.run import respond
from holdfast.kernel import canonical_json
from holdfast.kernel.errors import HoldfastError
from holdfast.processes.distribution import install_command

GONE = (BrokenPipeError, ConnectionResetError)


@click.command()
@click.argument("client")
@click.argument("event", required=False, default="")
@verb
def hook_command(call: Call, client: str, event: str) -> Reply:
    """Answer the hook EVENT of CLIENT. The payload is read from standard input.

    The exit code is always 0. `holdfast init` sets up a faster command for the same.
    """
    answer = respond([word for word in (client, event) if word])
    if answer and not call.as_json:
        sys.stdout.write(
            (answer if isinstance(answer, str) else canonical_json.dumps(answer)) + "\n"
        )
    return Reply({"answer": answer})


@click.command()
@verb
def statusline_command(call: Call) -> Reply:
    """Print one line for Claude Code's status line: the context, the cost and its limit, gates that wait,
    a stop or an alert, hooks that failed. Claude Code gives its numbers on standard input.

    `holdfast init --client claude` sets up a faster command for the same, unless you have a status line.
    """
    line = str(respond(["statusline"]))
    return Reply({"line": line}, [line])


def leave(code: int) -> NoReturn:
    """End at once. All calls are done, but a thread still waits for a line that may never come."""
    os._exit(code)


@click.command()
@verb
def mcp_command(call: Call) -> Reply:
    """Serve the Model Context Protocol on standard input and output, for the client that starts this.

    docs/how-to/mcp.md describes the tools, resources and prompts. The server ends when the client closes
    standard input.
    """
    try:
        from holdfast.mcp.greeting import Greeting
        from holdfast.mcp.server import serve_stdio
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "holdfast":
            raise
        raise HoldfastError(
            f"The MCP server needs the package {missing.name}, which is not installed.",
            hint=install_command("mcp"),
            kind="not_installed",
        ) from None
    if sys.stdin is None:  # closed by the program that started us: it will ask nothing
        return Reply({"folder": call.folder})
    if sys.stdin.isatty():
        echo("An MCP client starts this by itself; Ctrl-D ends it.", error=True)
    try:
        serve_stdio(call.folder, Greeting.begun)
    except BaseExceptionGroup as group:
        _, others = group.split(GONE)
        if others is not None:
            lost, _ = others.split(OSError)
            raise (lost or others).exceptions[0] from None
        leave(0)
    except KeyboardInterrupt:
        leave(INTERRUPTED)
    return Reply({"folder": call.folder})


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@verb
def completion_command(call: Call, shell: str) -> Reply:
    """Print the completion script for SHELL.

    \b
    bash: eval "$(holdfast completion bash)" in ~/.bashrc
    zsh: eval "$(holdfast completion zsh)" in ~/.zshrc
    fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(root, {}, "holdfast", COMPLETION_VARIABLE).source()
    return Reply({"shell": shell, "script": script}, script.rstrip("\n").split("\n"))
