"""holdfast remember"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, safe, size
from holdfast.kernel.text import plural
from holdfast.memory.remember import remember


@click.command()
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Sessions of all projects; this agrees that they are indexed.",
)
@verb
def remember_command(call: Call, everything: bool) -> Reply:
    """Read what is new of the sessions, and keep it before the clients delete it.

    Hooks run this a few times a day. What is kept is compressed and has no secrets; `memory.keep_days` and
    `memory.keep_megabytes` bound it.
    """
    with ProgressLine("Reading the sessions", is_shown=not call.as_json) as progress:
        done = remember(
            call.workspace_if_any, call.folder, is_all=everything, now=call.now, progress=progress
        )
    if done["is_busy"] and not call.as_json:
        warn("Another process is reading the sessions.")
    where = " of this repository" if done["is_here"] else ""
    lines = [
        f"{plural(done['sessions'], 'session')} indexed ({size(done['bytes_indexed'])}), "
        f"{done['kept_in_all']} kept ({size(done['bytes_kept'])}).",
        f"Read {done['read']} and kept {done['kept']}{safe(where)}.",
    ]
    if done["left"]:
        lines.append(f"{done['left']} left for the next run.")
    if done["removed"]:
        lines.append(f"{done['removed']} removed: memory.keep_days, memory.keep_megabytes.")
    return Reply({**done}, lines)
