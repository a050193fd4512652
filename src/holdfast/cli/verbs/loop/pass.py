"""holdfast loop pass"""
# ruff: noqa: N999 - named as its verb is

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.verbs.loop.words import outputs_option, reply, step_option, track_verb
from holdfast.loop import commands
from holdfast.loop.rules.transitions import step_named
from holdfast.loop.track import Track


@click.command("pass")
@step_option
@outputs_option
@click.option("--notes", metavar="TEXT", help="A short summary; PLAN and FIX need one.")
@track_verb
def command(
    call: Call,
    track: Track,
    step: str | None,
    outputs: tuple[str, ...],
    notes: str | None,
) -> Reply:
    """The current step is done. EXECUTE passes when no task is open."""
    name = step_named(step) if step else ""
    done = commands.passed(
        track, name, outputs=outputs, notes=notes, folder=call.folder, now=call.now
    )
    return reply(track, done, name)
