"""holdfast trust"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import one_line, safe, style
from holdfast.maintenance.trust import gather, grant, value_text, withdraw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.maintenance.trust import TrustReport

LONGEST_VALUE = 60


@click.command()
@click.option("--show", is_flag=True, help="List each setting and what it may do; change nothing.")
@click.option("--forget", is_flag=True, help="Withdraw the trust.")
@verb
def command(call: Call, show: bool, forget: bool) -> Reply:
    """Let the settings of this repository name commands, places, variables and rules.

    A repository from elsewhere must not choose what runs here and where your work goes. Without trust,
    these settings do not count; the harmless ones always do. The same holds for a journal that came
    with a project without git. Only a person can give it, for this clone
    and for these very values: when one changes, you are asked again. Variables of your own environment
    need no trust.
    """
    return answer(call, show=show, forget=forget)


def answer(call: Call, *, show: bool, forget: bool) -> Reply:
    workspace = call.workspace
    if forget:
        known = withdraw(workspace)
        said = "Trusted no more." if known else "Nothing was trusted."
        return Reply({**gather(workspace)}, [said])
    if show:
        report = gather(workspace)
        next = [] if report["trusted"] else ["holdfast trust"]
        return Reply({**report}, _lines(report), next=next)
    report = grant(workspace, now=call.now)
    return Reply({**report}, _lines(report), next=["holdfast doctor"])


def _lines(report: TrustReport) -> list[str]:
    if not report["settings"]:
        return ["The settings of this repository name nothing that needs your trust."]
    lines = [f"{safe(report['file'] or report['workspace'])} names:"]
    for one in report["settings"]:
        mark = style("trusted", "green") if one["trusted"] else style("not trusted", "yellow")
        value = one_line(value_text(one["value"]), LONGEST_VALUE)
        lines += [f"  {one['name']} = {value}  ({mark})", f"    may {one['may']}"]
    return lines
