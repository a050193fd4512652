"""holdfast show"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, diff, safe, style, table
from holdfast.kernel.errors import HoldfastError
from holdfast.maintenance.history import change_of, picture, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Journal, Record


@click.command()
@click.argument("what")
@verb
def command(call: Call, what: str) -> Reply:
    """Show one record, or the state of a stream.

    WHAT is a record's id (a unique beginning is enough) or a stream's name, such as note:default.
    """
    shown = show(call.workspace, what)
    if "state" not in shown:
        record = shown["record"]
        return Reply({**shown}, _lines(call.workspace.journal, record, call.now), pages=True)
    lines = safe(picture(what, shown["state"])).split("\n")
    return Reply({**shown}, lines, pages=True)


def _lines(journal: Journal, record: Record, now: int) -> Iterator[str]:
    yield style(f"{record['kind']} {record['id']}", "yellow")
    facts = [
        ["Stream", safe(f"{record['stream']} version {record['version']}")],
        ["When", f"{record['at']} ({ago(record['at'], now)})"],
        ["Who", safe(record["actor"])],
        ["Hash", record["hash"]],
    ]
    if record["fence"] is not None:
        facts.append(["Fence", str(record["fence"])])
    yield from table(facts)
    yield ""
    if record["erased"]:
        yield "The body was erased."
        return
    try:
        before, after = change_of(journal, record)
    except HoldfastError as error:
        # What led up to it is gone, or another version's; its own body can still be shown.
        import json

        yield safe(json.dumps(record["body"], ensure_ascii=False, indent=2))
        yield style(error.message, dim=True)
        return
    if before == after:
        yield "Changed nothing that is shown."
    yield from diff(before, after, "before", "after")
