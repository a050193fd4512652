"""holdfast agent check"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.fleet.monitor import check

if TYPE_CHECKING:
    from holdfast.fleet.monitor import CheckAction


@click.command()
@click.option("--primary", is_flag=True, help="Look at the Primary's own checkpoint too.")
@epic_option
@verb
def command(call: Call, primary: bool, epic: str | None) -> Reply:
    """Scan all agents as the Primary does, every 15 minutes; each silence is reported once.

    An agent without a checkpoint for more than 30 minutes gets a message in its inbox. After more than
    60 minutes EPIC_README.md gets a line, a notice appears here, and you decide what to do.
    """
    result = check(context_for(check, call, epic), {"primary": primary})
    for problem in result["problems"]:
        warn(problem)
    lines = [safe(line) for line in result["lines"]]
    lines += [safe(f"{action['agent_id']}: {_described(action)}") for action in result["actions"]]
    lines += [style(safe(notice), "red", bold=True) for notice in result["notices"]]
    return Reply(dict(result), lines, next=result["decide"])


def _described(action: CheckAction) -> str:
    return f"{action['action']}, {action['detail']}" if action["detail"] else action["action"]
