"""holdfast history"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, safe, style, summary, table
from holdfast.maintenance.history import DEFAULT_LIMIT, history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.journal.interface import Record

SHORT_ID = 8


@click.command()
@click.argument("stream", required=False, default="")
@click.option(
    "-n", "--limit", default=DEFAULT_LIMIT, show_default=True, help="Show at most this many."
)
@click.option("--kind", default="", help="Show only records of this kind.")
@click.option(
    "--before", metavar="SEQ", type=int, help="Show only records before this sequence number."
)
@verb
def command(call: Call, stream: str, limit: int, kind: str, before: int | None) -> Reply:
    """Show what happened, newest first.

    STREAM limits it to one stream, such as note:default, or to several: 'note:*'.
    """
    records = history(
        call.workspace, {"stream": stream, "kind": kind, "before": before, "limit": limit}
    )
    if not call.workspace.exists():
        return Reply({"records": []}, ["Nothing was written yet."])
    next = []
    if len(records) == limit:
        options = f"{f' {stream}' if stream else ''} --before {records[-1]['seq']}"
        next.append(f"holdfast history{options}")
    return Reply({"records": records}, _lines(records, call.now), next=next, pages=True)


def _lines(records: list[Record], now: int) -> Iterator[str]:
    if not records:
        yield "No such records."
    width = _summary_width()
    rows = [
        [
            style(record["id"][:SHORT_ID], "yellow"),
            _when(record["at"], now),
            style(safe(record["actor"]), "cyan"),
            safe(record["stream"]),
            safe(record["kind"]),
            summary(record["body"], width),
        ]
        for record in records
    ]
    yield from table(rows)


def _when(at: str, now: int) -> str:
    """A relative time for a person, the time itself for a script."""
    import sys

    return ago(at, now) if sys.stdout.isatty() else at


def _summary_width() -> int:
    import shutil
    import sys

    if not sys.stdout.isatty():
        return 200
    return max(30, shutil.get_terminal_size().columns - 70)
