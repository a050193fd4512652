"""holdfast agent check"""

from __future__ import annotations

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.fleet.monitor import check


@click.command()
@click.option("--primary", is_flag=True, help="Look at the Primary's own checkpoint too.")
@epic_option
@verb
def command(call: Call, primary: bool, epic: str | None) -> Reply:
    """The Primary's scan, every 15 minutes: warns the silent, reports the stale, once a silence.

    More than 30 minutes without a checkpoint: a message in the agent's inbox. More than 60: a line in
    EPIC_README.md and a notice here, and a decision that is yours.
    """
    found = check(post_of(call, epic), include_primary=primary)
    for problem in found["problems"]:
        warn(problem)
    lines = [safe(line) for line in found["lines"]]
    lines += [safe(f"{action['agent_id']}: {_said(action)}") for action in found["actions"]]
    lines += [style(safe(notice), "red", bold=True) for notice in found["notices"]]
    return Reply(dict(found), lines, next=found["decide"])


def _said(action: object) -> str:
    assert isinstance(action, dict)
    return f"{action['action']}, {action['detail']}" if action["detail"] else str(action["action"])
