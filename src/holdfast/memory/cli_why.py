"""holdfast why"""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, at_home, safe, style
from holdfast.clients.table import title_of
from holdfast.kernel.text import one_line, plural
from holdfast.memory.why import UNKNOWN, Reasons, Writer, split_place, why

WIDTH = 96


@click.command()
@click.argument("place", metavar="PATH[:LINE]")
@verb
def why_command(call: Call, place: str) -> Reply:
    """Show the sessions that wrote a file or a line: request, rulings, checks.

    Renames are followed through git. A line that is not committed is looked for in the recorded edits.
    """
    with ProgressLine("Reading the sessions", is_shown=not call.as_json) as progress:
        found = why(split_place(place, call.folder), progress=progress)
    if found["is_busy"] and not call.as_json:
        warn("Another process is reading the sessions: what it has not read yet is not found.")
    following = [one["open"] for one in found["writers"][:1]]
    return Reply({**found}, _lines(found), next=following)


def _lines(found: Reasons) -> Iterator[str]:
    if found["line"]:
        where = f"{found['path']}:{found['line']}"
        yield f"{style(safe(where), 'cyan')}  {one_line(safe(found['text'].strip()), WIDTH)}"
        yield f"    {_origin(found)}"
    if not found["writers"]:
        what = "This line is" if found["line"] else f"{safe(found['path'])} is"
        yield f"{what} {UNKNOWN}."
    for number, one in enumerate(found["writers"]):
        if number or found["line"]:
            yield ""
        yield from _writer(one)
    if found["left"]:
        yield ""
        yield f"{plural(found['left'], 'more session')}; the newest are shown."


def _origin(found: Reasons) -> str:
    origin = found["origin"]
    if origin is None or not origin["commit"]:
        return "not committed"
    said = f"commit {origin['commit'][:9]} of {origin['at'][:10]} by {origin['author']}: {origin['subject']}"
    return one_line(safe(said), WIDTH)


def _writer(one: Writer) -> Iterator[str]:
    edits = plural(one["edits"], "edit") if one["how"] == "edited" else "made the commit"
    about = [title_of(one["client"]), one["day"], one["branch"], at_home(one["folder"]), edits]
    shown = style(safe("  ".join(filter(None, about))), dim=True)
    yield f"{style(safe(one['session'])[:12], 'cyan')}  {shown}"
    yield f"    {style(one_line(safe(one['request']), WIDTH) or '(no request)', bold=True)}"
    for word, texts in (
        ("ruled", one["rulings"]),
        ("passed", one["checks"]),
        ("failing", one["failing"]),
    ):
        for text in texts:
            yield f"    {word:7}  {one_line(safe(text), WIDTH - 13)}"
