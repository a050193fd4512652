"""holdfast export"""

from __future__ import annotations

import json
import os
import sys

import click

from holdfast.cli.frame import Call, ReaderGone, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import plural
from holdfast.kernel.errors import HoldfastError
from holdfast.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Journal


@click.command()
@click.option("-o", "--output", metavar="FILE", help="Write to FILE, which must not exist yet.")
@verb
def command(call: Call, output: str | None) -> Reply:
    """Everything the journal holds, as JSON lines: a header, then every record in order.

    With --json the last line is the envelope; with --output only the envelope is printed.
    """
    lines = _export(call.workspace.journal) if call.workspace.exists() else iter(())
    if output is None:
        count = 0
        try:
            for line in lines:
                sys.stdout.write(f"{line}\n")
                count += 1
        except BrokenPipeError:
            raise ReaderGone from None
        return Reply({"lines": count})
    if os.path.exists(output):
        raise HoldfastError(f"{output} exists already.", hint="Name a file that does not.")
    count = 0
    with open(f"{output}.unfinished", "w", encoding="utf-8") as file:
        for line in lines:
            file.write(f"{line}\n")
            count += 1
        file.flush()
        os.fsync(file.fileno())
    os.rename(f"{output}.unfinished", output)
    return Reply({"lines": count, "output": output}, [f"Wrote {plural(count, 'line')} to {output}"])


def _export(journal: Journal) -> Iterator[str]:
    heads = journal.heads()
    header = {"holdfast_export": 1, "holdfast": __version__, "streams": heads}
    yield json.dumps(header, ensure_ascii=False)
    last = 0
    while batch := journal.since(last):
        for record in batch:
            yield json.dumps(record, ensure_ascii=False)
        last = batch[-1]["seq"]
