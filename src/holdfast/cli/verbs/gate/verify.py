"""holdfast gate verify"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import need, opened, refuse_both, task_from, terms
from holdfast.cli.parser import verb
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.gate_xml import content_of

EXAMPLE = (
    'holdfast gate verify --built "User Dashboard" --how "Page loads" --url http://localhost:3000'
)


@click.command()
@click.option("--built", default="", metavar="TEXT", help="What was built.")
@click.option("--how", multiple=True, metavar="TEXT", help="One thing to check. Repeatable.")
@click.option("--url", default="", help="Address to open. Default: the first address in the texts.")
@click.option(
    "--purpose", type=click.Choice(contents.VERIFY_PURPOSES), help="Subject of the check."
)
@terms
@verb
def command(
    call: Call,
    built: str,
    how: tuple[str, ...],
    url: str,
    purpose: str | None,
    source: str | None,
    **terms: Any,
) -> Reply:
    """Ask a person to check that something works.

    Start and prepare everything first: the person only looks, and answers "approved" or describes what
    is wrong.
    """
    refuse_both(source, {"--built": built, "--how": how})
    if source is not None:
        content = content_of(task_from(source, contents.VERIFY), url=url, purpose=purpose or "")
    else:
        need(built, "--built", example=EXAMPLE)
        need(" ".join(how), "--how", example=EXAMPLE)
        content = contents.verify(built, how, url=url, purpose=purpose or "")
    return opened(call, content, strict=source is None, **terms)
