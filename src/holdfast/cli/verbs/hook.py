"""holdfast hook"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb


@click.command()
@click.argument("client")
@click.argument("event", required=False, default="")
@verb
def command(call: Call, client: str, event: str) -> Reply:
    """Answer the hook EVENT of CLIENT. The payload is read from standard input.

    The exit code is always 0. `holdfast init` sets up a faster command for the same.
    """
    from holdfast.hooks.run import respond
    from holdfast.kernel import canonical_json

    answer = respond([word for word in (client, event) if word])
    if answer and not call.as_json:
        sys.stdout.write(
            (answer if isinstance(answer, str) else canonical_json.dumps(answer)) + "\n"
        )
    return Reply({"answer": answer})
