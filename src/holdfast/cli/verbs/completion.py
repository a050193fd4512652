"""holdfast completion"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@verb
def command(call: Call, shell: str) -> Reply:
    """Print the completion script for SHELL.

    bash: eval "$(holdfast completion bash)" in ~/.bashrc
    zsh: eval "$(holdfast completion zsh)" in ~/.zshrc
    fish: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    from click.shell_completion import get_completion_class

    from holdfast.cli.parser import root

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(root, {}, "holdfast", "_HOLDFAST_COMPLETE").source()
    return Reply({"shell": shell, "script": script}, script.rstrip("\n").split("\n"))
