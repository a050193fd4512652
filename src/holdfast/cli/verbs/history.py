"""holdfast history, show, diff, restore, conflicts"""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import click

from holdfast.cli import terminal
from holdfast.cli.frame import Call, Reply, warn_of_views
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, safe, style, table, wide
from holdfast.journal.interface import find_record
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.text import command, quote
from holdfast.maintenance.conflicts import TAKES, find, list_conflicts, settle
from holdfast.maintenance.history import (
    DEFAULT_LIMIT,
    change_of,
    diff,
    find_missing_stream,
    history,
    picture,
    restore,
    show,
)
from holdfast.maintenance.record_text import subject_of, word_of
from holdfast.session.session_list import command_to_resume

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.journal.interface import Journal, Record
    from holdfast.maintenance.conflicts import OpenConflict
    from holdfast.maintenance.history import RecordInWords


SHORT_ID = 8
LONGEST_ACTOR = 16
SHORTEST_TEXT = 30
WIDTH_IN_A_PIPE = 200
# The newest records that are asked for their kinds.
LOOKED_FOR_KINDS = 500


@click.command()
@click.argument("stream", required=False, default="")
@click.option(
    "-n", "--limit", default=DEFAULT_LIMIT, show_default=True, help="Show at most this many."
)
@click.option(
    "--kind",
    default="",
    help="Show only records of this kind, such as captured (a checkpoint) or noted.",
)
@click.option(
    "--before",
    metavar="SEQ",
    type=int,
    help="Show only records before this sequence number: `seq` in the output of --json.",
)
@verb
def history_command(call: Call, stream: str, limit: int, kind: str, before: int | None) -> Reply:
    """Show what happened, newest first.

    STREAM limits it to one stream, such as note:default, or to several: 'note:*'. A unique beginning of a
    session's name is enough.
    """
    records = history(
        call.workspace, {"stream": stream, "kind": kind, "before": before, "limit": limit}
    )
    if not call.workspace.exists():
        return Reply({"records": []}, ["Nothing was written yet."])
    next = []
    if len(records) == limit:
        chosen = [*([stream] if stream else []), *(["--kind", kind] if kind else [])]
        before_this = ["--before", str(records[-1]["seq"])]
        next.append(command("history", *chosen, *before_this))
    lines = _history_lines(records, call.now) if records else [_none_of(call, stream, kind)]
    return Reply({"records": records}, lines, next=next, pages=True)


def _none_of(call: Call, stream: str, kind: str) -> str:
    """No record; and which streams are near, or which kinds there are, since a history shows them by
    other words."""
    missing = find_missing_stream(call.workspace, stream) if stream else None
    if missing is not None:
        return safe(f"{missing.message} {missing.hint}")
    others = history(call.workspace, {"stream": stream, "limit": LOOKED_FOR_KINDS}) if kind else []
    kinds = ", ".join(sorted({record["kind"] for record in others}))
    return f"No such records. There are: {kinds}." if kinds else "No such records."


def _history_lines(records: list[RecordInWords], now: int) -> Iterator[str]:
    """One line a record. On a terminal it ends at the right edge; in a pipe it has the full time."""
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


@click.command()
@click.argument("what")
@verb
def show_command(call: Call, what: str) -> Reply:
    """Show one record, the state of a stream, or a session that has no record yet.

    WHAT is a record's id (a unique beginning is enough), a stream's name, such as note:default, or the id of
    a session that `holdfast resume --list` names.
    """
    shown = show(call.workspace, what, now=call.now)
    if "pack" in shown:
        following = [command_to_resume(shown["session"])]
        return Reply({**shown}, safe(shown["pack"]).split("\n"), next=following, pages=True)
    if "state" not in shown:
        record = shown["record"]
        return Reply({**shown}, _show_lines(call.workspace.journal, record, call.now), pages=True)
    lines = safe(picture(shown["stream"]["stream"], shown["state"])).split("\n")
    return Reply({**shown}, lines, pages=True)


def _show_lines(journal: Journal, record: Record, now: int) -> Iterator[str]:
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
        yield safe(json.dumps(record["body"], ensure_ascii=False, indent=2))
        yield style(error.message, dim=True)
        return
    if before == after:
        yield "Changed nothing that is shown."
    yield from terminal.diff(before, after, "before", "after")


@click.command()
@click.argument("a")
@click.argument("b", required=False, default="")
@verb
def diff_command(call: Call, a: str, b: str) -> Reply:
    """Show what changed in a stream between the records A and B. Without B: since A."""
    found = diff(call.workspace, a, b)
    stream, before, after = found["stream"], found["before"], found["after"]
    lines = list(
        terminal.diff(
            picture(stream, before["state"]),
            picture(stream, after["state"]),
            f"{before['record'][:8]} {before['at']}",
            f"{after['record'][:8]} {after['at']}",
        )
    )
    data = {**found, "diff": [terminal.unstyle(line) for line in lines]}
    return Reply(data, lines or ["Nothing changed."], pages=True)


@click.command()
@click.argument("id")
@click.option("--dry-run", is_flag=True, help="Show what would change; change nothing.")
@verb
def restore_command(call: Call, id: str, dry_run: bool) -> Reply:
    """Bring a stream, and its files, back to what they were after the record ID.

    It asks first when ID has fewer than six letters. A restore adds a record and removes none. To undo it, restore the record before it.
    """
    if not dry_run:
        record = find_record(call.journal, id)
        what = f"{word_of(record)} of {record['stream']} at {record['at']}"
        terminal.confirm_short_id(id, record["id"], what)
    done = restore(call.workspace, id, actor=call.actor, now=call.now, dry_run=dry_run)
    lines = list(terminal.diff(done["present"], done["wanted"], "present", "restored"))
    data = {
        "stream": done["stream"],
        "to": done["to"],
        "from": done["newest"],
        "dry_run": dry_run,
        "diff": [terminal.unstyle(line) for line in lines],
    }
    outcome = done["outcome"]
    if outcome is None:
        lines += [f"Would write again: {path}" for path in done["again"]]
        return Reply(data, lines or ["Nothing would change."])
    warn_of_views(outcome)
    data["views"] = outcome["views"]
    kept = [f"The file that could not be read is kept: {done['aside']}"] if done["aside"] else []
    if not done["changed"]:
        written = [f"Wrote again: {path}" for path in done["again"]] + kept
        return Reply(data, written or ["It is there already."])
    data["record"] = outcome["id"]
    said = f"Restored {done['stream']} to version {done['version']}."
    undo = f"holdfast restore {quote(done['newest'][:8])}  # undo"
    return Reply(data, [*lines, *kept, said], next=[undo])


@click.command()
@click.argument("id", required=False)
@click.option(
    "--take",
    type=click.Choice(TAKES),
    help="End it: `edited` lets the edit by hand count; `kept` drops it, which only a person may do.",
)
@verb
def conflicts_command(call: Call, id: str | None, take: str | None) -> Reply:
    """Show the edits by hand of values that had changed meanwhile, each with both texts.

    The file keeps the newer text until you choose one with `--take`, or edit that value again.
    """
    if take is None:
        found = [find(call.workspace, id)] if id else list_conflicts(call.workspace)
        next = [f"holdfast conflicts {quote(one['id'][:8])} --take edited" for one in found[:1]]
        return Reply({"conflicts": found}, _conflict_lines(found), next=next)
    if not id:
        raise Usage("Which conflict?", hint="holdfast conflicts lists them with their ids.")
    ended = settle(call.workspace, id, take, actor=call.actor, now=call.now)
    text = ended["edited"] if take == "edited" else ended["kept"]
    said = f"{ended['place']} in {ended['path']} is now: {text}"
    return Reply({"conflict": ended, "take": take}, [safe(said)])


def _conflict_lines(found: Sequence[OpenConflict]) -> Iterator[str]:
    if not found:
        yield "No edit by hand met a newer change."
    for one in found:
        yield style(f"{one['id'][:8]}  {safe(one['path'])}  {safe(one['place'])}", bold=True)
        yield from _conflict_text("edited by hand", one["edited"])
        yield from _conflict_text("kept in the file", one["kept"])


def _conflict_text(title: str, text: str) -> Iterator[str]:
    lines = safe(text).split("\n")
    if len(lines) == 1:
        yield f"  {title}: {lines[0]}"
        return
    yield f"  {title}:"
    yield from (f"    {line}" for line in lines)
