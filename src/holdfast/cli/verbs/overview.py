"""holdfast, without a verb"""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, one_line, safe, style, table
from holdfast.clients.table import title_of
from holdfast.maintenance.overview import Overview, gather
from holdfast.session.session_list import describe_last_activity

LONGEST_REQUEST = 40


@click.command("holdfast", add_help_option=False)
@verb
def command(call: Call) -> Reply:
    """Say where you are and what to do next."""
    with ProgressLine("Reading the sessions of your clients", is_shown=not call.as_json):
        workspace = call.workspace_if_any and call.workspace_for(gather)
        found = gather(workspace, call.folder, now=call.now)
    sessions = [
        {name: value for name, value in one.items() if name != "state"} for one in found["sessions"]
    ]
    data = {**found, "sessions": sessions}
    return Reply(data, _lines(found), next=[found["next"]])


def _lines(found: Overview) -> Iterator[str]:
    where = safe(found["folder"])
    if found["branch"]:
        where += f", branch {safe(found['branch'])}"
    if found["is_workspace"]:
        yield style(where, bold=True)
    else:
        yield f"{where} is in no project yet. Holdfast works in a git repository."
    if found["clients"]:
        yield f"Set up for: {', '.join(map(title_of, found['clients']))}."
    if found["sessions"]:
        yield ""
        yield "Sessions found here:"
        rows = [
            [
                style(safe(one["session"])[:8], "yellow"),
                one["client"] or "no client",
                describe_last_activity(one),
                "at work" if one["at_work"] else one["checkpoint"] if one["here"] else "elsewhere",
                one_line(one["request"] or "no request yet", LONGEST_REQUEST),
            ]
            for one in found["sessions"]
        ]
        yield from table(rows, indent="  ")
    if found["attention"]:
        yield ""
        yield style("Waits for you:", "yellow")
        for item in found["attention"]:
            yield f"  {safe(item['what'])}"
    yield ""
    yield f"To {found['why']}, type:"
    yield f"  {style(found['next'], bold=True)}"
    yield style("All commands: holdfast --help", dim=True)
