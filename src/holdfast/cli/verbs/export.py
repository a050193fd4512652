"""holdfast export"""

from __future__ import annotations

import sys

import click

from holdfast.cli.frame import Call, ReaderGone, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural
from holdfast.maintenance.backup import export, export_to_file


@click.command()
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which must not exist yet.")
@verb
def command(call: Call, output: str | None) -> Reply:
    """Print everything that the journal holds as JSON lines: a header, then every record in order.

    With --json the last line is the envelope. With --output only the envelope is printed.
    """
    if output is not None:
        count = export_to_file(call.workspace, output)
        said = f"Wrote {plural(count, 'line')} to {output}"
        return Reply({"lines": count, "output": output}, [said])
    count = 0
    try:
        for line in export(call.workspace):
            sys.stdout.write(f"{line}\n")
            count += 1
    except BrokenPipeError:
        raise ReaderGone from None
    return Reply({"lines": count})
