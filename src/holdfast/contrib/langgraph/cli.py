"""holdfast import"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe
from holdfast.kernel.errors import NotFound
from holdfast.kernel.text import plural


@click.command()
@click.argument("source", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Count what would be copied; copy nothing.")
@verb
def langgraph_command(call: Call, source: str, dry_run: bool) -> Reply:
    """Copy the threads of LangGraph's SQLite or PostgreSQL saver into the journal.

    FILE is the SQLite file, or the URL of the PostgreSQL database. It is only read. What was copied before is left alone.
    """
    try:
        from holdfast.contrib.langgraph.migration import copy_threads
    except ModuleNotFoundError as error:
        hint = "pip install 'holdfast-agents[langgraph]'"
        raise NotFound(f"The package {error.name} is not installed.", hint=hint) from None
    found = copy_threads(call.workspace, source, dry_run=dry_run, actor=call.actor)
    did = "Would copy" if dry_run else "Copied"
    what = plural(found.copied, "checkpoint")
    total = f"{found.checkpoints} in {plural(found.threads, 'thread')}"
    return Reply({**vars(found)}, [safe(f"{did} {what} of {total}.")], next=["holdfast status"])
