"""holdfast history"""

from __future__ import annotations

import shutil
import sys

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, style, table, wide
from holdfast.maintenance.history import DEFAULT_LIMIT, history
from holdfast.maintenance.record_text import subject_of, word_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.maintenance.history import RecordInWords

SHORT_ID = 8
LONGEST_ACTOR = 16
SHORTEST_TEXT = 30
WIDTH_IN_A_PIPE = 200


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


def _lines(records: list[RecordInWords], now: int) -> Iterator[str]:
    """One line a record. On a terminal it ends at the right edge; in a pipe it has the full time."""
    if not records:
        yield "No such records."
        return
    is_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else WIDTH_IN_A_PIPE
    has_actors = len({record["actor"] for record in records}) > 1
    rows = [
        [
            style(record["id"][:SHORT_ID], "yellow"),
            ago(record["at"], now) if is_terminal else record["at"],
            *([style(one_line(record["actor"], LONGEST_ACTOR), "cyan")] if has_actors else []),
            _text(record),
        ]
        for record in records
    ]
    left = sum(max(wide(row[at]) for row in rows) + 2 for at in range(len(rows[0]) - 1))
    for row in rows:
        row[-1] = one_line(row[-1], max(SHORTEST_TEXT, width - left))
    yield from table(rows)


def _text(record: RecordInWords) -> str:
    word, subject, text = word_of(record), subject_of(record["stream"]), record["text"]
    head = f"{word} ({subject})" if subject else word
    return f"{head}: {text}" if text else head
