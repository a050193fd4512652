"""holdfast conflicts"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import safe, style
from holdfast.kernel.errors import Usage
from holdfast.maintenance.conflicts import TAKES, find, list_conflicts, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.maintenance.conflicts import OpenConflict


@click.command()
@click.argument("id", required=False)
@click.option(
    "--take",
    type=click.Choice(TAKES),
    help="End it: `edited` lets the edit by hand count; `kept` drops it, which only a person may do.",
)
@verb
def command(call: Call, id: str | None, take: str | None) -> Reply:
    """Show the edits by hand of values that had changed meanwhile, each with both texts.

    The file keeps the newer text until you choose one with `--take`, or edit that value again.
    """
    if take is None:
        found = [find(call.workspace, id)] if id else list_conflicts(call.workspace)
        next = [f"holdfast conflicts {one['id'][:8]} --take edited" for one in found[:1]]
        return Reply({"conflicts": found}, _lines(found), next=next)
    if not id:
        raise Usage("Which conflict?", hint="holdfast conflicts lists them with their ids.")
    ended = settle(call.workspace, id, take, actor=call.actor, now=call.now)
    text = ended["edited"] if take == "edited" else ended["kept"]
    said = f"{ended['place']} in {ended['path']} is now: {text}"
    return Reply({"conflict": ended, "take": take}, [safe(said)])


def _lines(found: Sequence[OpenConflict]) -> Iterator[str]:
    if not found:
        yield "No edit by hand met a newer change."
    for one in found:
        yield style(f"{one['id'][:8]}  {safe(one['path'])}  {safe(one['place'])}", bold=True)
        yield from _text("edited by hand", one["edited"])
        yield from _text("kept in the file", one["kept"])


def _text(title: str, text: str) -> Iterator[str]:
    lines = safe(text).split("\n")
    if len(lines) == 1:
        yield f"  {title}: {lines[0]}"
        return
    yield f"  {title}:"
    yield from (f"    {line}" for line in lines)
