"""holdfast agent guide"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.fleet.rules.guide import guide
from holdfast.fleet.rules.model import STAGES


@click.command()
@click.argument("stage", required=False, type=click.Choice(STAGES))
@click.option("--all", "everything", is_flag=True, help="Print the steps of all stages.")
@verb
def command(call: Call, stage: str | None, everything: bool) -> Reply:
    """Print the checkpoint steps that the guide of a STAGE needs. [S2.P1]"""
    stages = STAGES if everything else (stage or STAGES[0],)
    guides = {each: guide(each) for each in stages}
    text = "\n".join(guides.values())
    return Reply({"guides": guides}, text.rstrip("\n").split("\n"), pages=True)
