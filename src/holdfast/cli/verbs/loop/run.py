"""holdfast loop run"""

from __future__ import annotations

import shlex
import signal
from typing import Any

import click

from holdfast.cli.frame import INTERRUPTED, Call, Reply, warn
from holdfast.cli.run_watch import LoopWatch
from holdfast.cli.terminal import plural, safe, style, table
from holdfast.cli.verbs.loop.steps import WAITING, escalation_lines, track_verb
from holdfast.loop import run_file
from holdfast.loop.rules.checkpoint import checkpoint_of, current_step, status_of
from holdfast.loop.rules.model import EXECUTE, RUNNABLE
from holdfast.loop.rules.tasks import remaining
from holdfast.loop.runner import Run
from holdfast.loop.track import Track


@click.command()
@click.option(
    "--with",
    "file",
    required=True,
    metavar="FILE",
    help="TOML file that names the program of each step.",
)
@click.option("--dry-run", is_flag=True, help="Print what would run; run nothing.")
@track_verb
def run_command(
    call: Call,
    track: Track,
    file: str,
    dry_run: bool,
) -> Reply:
    """Run a track to its end. Holdfast runs the program of each step, records its result and goes to
    the next step. Exit codes of a program: 0 passed, 1 failed, 2 missing parameter, 3 file not found,
    4 blocked.

    After an interrupt or a kill, the same command continues at the next open task. Exits with 8, and
    prints a text for a person, when it cannot continue.
    """
    plan = run_file.read(file)
    if dry_run:
        return _would(track, plan)
    watch = LoopWatch(as_json=call.as_json)
    for sign in (signal.SIGTERM, signal.SIGHUP):
        # As Ctrl+C does: the program of a run must not outlive it, unseen.
        signal.signal(sign, signal.default_int_handler)
    work = Run(track, plan, watch)
    try:
        result = work.to_the_end()
    except KeyboardInterrupt:
        watch.end()
        warn("Interrupted. The track stays where it is; the same command goes on there.")
        return Reply({**work.interrupted()}, exit_code=INTERRUPTED)
    finally:
        watch.end()
    data: dict[str, Any] = {**result}
    which = f"--track {track.place.track}"
    if result["ended"] == "paused":
        return Reply(data, escalation_lines(result["escalation"]), exit_code=WAITING)
    done = style("complete", "green", bold=True)
    programs = plural(result["attempts"], "program")
    said = f"{safe(result['track'])} is {done}: {plural(result['rounds'], 'step')}, {programs} run."
    return Reply(data, [said], next=[f"holdfast loop show {which}"])


def _would(track: Track, plan: run_file.RunPlan) -> Reply:
    """What a run would begin with, and the program of each step."""
    state = track.read()
    step = current_step(state)
    tasks = run_file.tasks_of_plan(plan, track.plan())
    left = remaining(tasks, checkpoint_of(state, EXECUTE))
    run_file.refuse_unfit(plan, track.workspace.root, step, plan["business_sync"])
    task = left[0] if left else None
    commands = {
        one: run_file.command_for(plan, state, one, task)
        for one in RUNNABLE
        if run_file.program_of(plan, one)
    }
    open_ids = [one["id"] for one in left]
    rows = [[one, safe(shlex.join(words))] for one, words in commands.items()]
    lines = [
        f"Would begin at {step}, which is {status_of(state, step)}.",
        *table(rows, indent="  "),
        f"Open tasks: {safe(', '.join(open_ids)) or 'none'}",
    ]
    data = {"track": track.place.track, "step": step, "commands": commands, "open_tasks": open_ids}
    return Reply({**data, "dry_run": True}, lines)
