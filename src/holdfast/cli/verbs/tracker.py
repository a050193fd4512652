"""holdfast tracker"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import VerbGroup, verb
from holdfast.cli.terminal import ago, safe, table
from holdfast.kernel import config
from holdfast.kernel.text import plural
from holdfast.session.rules.session import TRACKER
from holdfast.session.tracker_step import deliver_all


@click.group(cls=VerbGroup)
def command() -> None:
    """Deliver the status comment to the issue, and show what waits to be delivered."""


@command.command("sync")
@verb
def sync(call: Call) -> Reply:
    """Deliver now what waits for the tracker."""
    settings = config.load(call.workspace, call.journal)
    done = deliver_all(call.workspace, call.writer, settings, call.now)
    failed = [delivery for delivery in done if not delivery["delivered"]]
    lines = [f"Delivered {plural(len(done) - len(failed), 'comment')}."]
    lines += [f"Not delivered: {delivery['key']} ({delivery['error']})" for delivery in failed]
    return Reply({"deliveries": done}, lines, exit_code=1 if failed else 0)


@command.command("show")
@verb
def show(call: Call) -> Reply:
    """Show what waits for the tracker, and why."""
    waiting = call.journal.effects(kinds=[TRACKER])
    rows = [
        [
            safe(effect["key"]),
            ago(effect["queued_at"], call.now),
            plural(effect["attempts"], "try", "tries"),
            safe(effect["error"]),
        ]
        for effect in waiting
    ]
    next = ["holdfast tracker sync"] if waiting else []
    return Reply({"waiting": waiting}, list(table(rows)) or ["Nothing waits."], next=next)
