"""holdfast loop pass"""
# ruff: noqa: N999 - named as its verb is

from __future__ import annotations

import os

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.verbs.loop.words import outputs_option, reply, step_option, track_verb
from holdfast.loops.track import Track
from holdfast.protocols.loop.checkpoint import checkpoint_of, current_step
from holdfast.protocols.loop.tasks import accounted
from holdfast.protocols.loop.transitions import step_named
from holdfast.protocols.loop.words import EXECUTE


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
    asked = {"do": "pass", "step": name, "output_files": list(outputs), "notes": notes}
    state = track.read()
    if (name or current_step(state)) == EXECUTE:
        asked["done_tasks"] = accounted(track.plan(), checkpoint_of(state, EXECUTE))[0]
    for path in outputs:
        places = (call.folder, call.workspace.root)
        if not any(os.path.exists(os.path.join(place, path)) for place in places):
            warn(f"There is no file {path}; its name is recorded all the same.")
    return reply(track, track.execute(asked, now=call.now), name)
