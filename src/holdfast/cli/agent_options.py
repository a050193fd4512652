"""The options that verbs about agents share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from holdfast.cli.frame import Call
from holdfast.kernel.errors import HoldfastError

Answer = TypeVar("Answer")

epic_option = click.option("--epic", metavar="PATH", help="The epic's folder.")
fence_option = click.option(
    "--fence", type=int, metavar="N", help="The fence of the life that a script belongs to."
)
yes_option = click.option("--yes", is_flag=True, help="Do it even if the agent may still be alive.")
transcript_option = click.option(
    "--transcript",
    default="",
    metavar="FILE",
    help="The session's transcript; its growth is a sign of life.",
)


def confirmed(call: Call, yes: bool, act: Callable[[bool], Answer]) -> Answer:
    """Run `act`; at a terminal, ask the person whether to do it even though the signals do not suffice."""
    try:
        return act(yes)
    except HoldfastError as refusal:
        asked = ("not_known_dead", "much_work")
        if refusal.kind not in asked or call.as_json or not sys.stdin.isatty():
            raise
        click.echo(refusal.message, err=True)
        if not click.confirm("Do it all the same?", err=True):
            raise
    return act(True)
