"""holdfast, without a verb"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import one_line, safe, style, table
from holdfast.kernel.errors import NotFound
from holdfast.maintenance.overview import gather
from holdfast.session.handover_text import how_long

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.kernel.workspace import Workspace
    from holdfast.maintenance.overview import Overview
    from holdfast.session.session_list import ListedSession

LONGEST_REQUEST = 40


@click.command(add_help_option=False)
@verb
def command(call: Call) -> Reply:
    """Say where you are and what to do next."""
    found = gather(_workspace_of(call), call.folder, now=call.now)
    data = {**found, "sessions": [_data(one) for one in found["sessions"]]}
    return Reply(data, _lines(found), next=[found["next"]])


def _workspace_of(call: Call) -> Workspace | None:
    try:
        return call.workspace
    except NotFound as error:
        if error.kind != "no_workspace":
            raise
        return None


def _data(one: ListedSession) -> dict[str, object]:
    return {name: value for name, value in one.items() if name != "state"}


def _lines(found: Overview) -> Iterator[str]:
    where = safe(found["folder"])
    if found["branch"]:
        where += f", branch {safe(found['branch'])}"
    yield style(where, bold=True) if found["is_workspace"] else f"{where} is in no project yet."
    if found["sessions"]:
        yield ""
        yield "Sessions found here:"
        rows = [
            [
                style(safe(one["session"])[:8], "yellow"),
                one["client"] or "no client",
                f"{how_long(one['age'])} ago",
                "running" if one["alive"] == "alive" else one["checkpoint"],
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
