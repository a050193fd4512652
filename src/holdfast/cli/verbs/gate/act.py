"""holdfast gate act"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import need, opened, refuse_both, task_from, terms
from holdfast.cli.parser import verb
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.gate_xml import content_of

EXAMPLE = (
    'holdfast gate act "Complete email verification" --cause email --why "The link is in your inbox" '
    '--step "Open the mail" --step "Click the link" '
    "--cli no --api no --file no --server no --data no --script no"
)


def questions(function: Callable[..., Any]) -> Callable[..., Any]:
    """The automation-first checklist, one option each."""
    for key, question in reversed(contents.QUESTIONS.items()):
        function = click.option(f"--{key}", type=click.Choice(["yes", "no"]), help=question)(
            function
        )
    return function


@click.command()
@click.argument("action", required=False, default="")
@click.option("--why", default="", metavar="TEXT", help="Why a machine cannot do it.")
@click.option("--step", "steps", multiple=True, metavar="TEXT", help="One instruction. Repeatable.")
@click.option(
    "--cause",
    default="",
    metavar="CAUSE",
    help=f"One of {', '.join(contents.CAUSES)}. Default: found in the texts.",
)
@questions
@terms
@verb
def command(
    call: Call,
    action: str,
    why: str,
    steps: tuple[str, ...],
    cause: str,
    source: str | None,
    cli: str | None,
    api: str | None,
    file: str | None,
    server: str | None,
    data: str | None,
    script: str | None,
    **terms: Any,
) -> Reply:
    """Ask a person to do ACTION, a manual step that no machine can do.

    Answer the six questions --cli to --script; each answer must be "no". Holdfast accepts five causes.
    """
    given = {"cli": cli, "api": api, "file": file, "server": server, "data": data, "script": script}
    checklist = {key: answer == "yes" for key, answer in given.items() if answer is not None}
    refuse_both(source, {"ACTION": action, "--why": why, "--step": steps})
    if source is not None:
        task = task_from(source, contents.ACTION)
        content = content_of(task, cause=cause, checklist=checklist)
    else:
        need(action, "ACTION", example=EXAMPLE)
        content = contents.action(action, steps, why=why, cause=cause, checklist=checklist)
    return opened(call, content, strict=source is None, **terms)
