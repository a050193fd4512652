"""holdfast away"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator

import click

from holdfast.away import tell
from holdfast.away.digest import URGENT, AwaySession
from holdfast.away.look_back import Away, AwayRequest, look_back
from holdfast.away.looked import keep_looked
from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, safe, style, terminal_size
from holdfast.kernel.durations import instant_since
from holdfast.kernel.text import fit, plural, quote, width

USUAL_WIDTH, WIDEST, NARROWEST = 80, 100, 40
# Of more sessions than these, only those that need a person get a paragraph.
MOST_PARAGRAPHS, MOST_LINES = 12, 12


@click.command()
@click.option(
    "--since",
    metavar="TIME",
    help="Since then: 2h, 3d, 18:00, or 2026-11-18.  [default: since you last looked]",
)
@click.option("--here", is_flag=True, help="Only the sessions of this workspace.")
@click.option("--all", "everything", is_flag=True, help="A paragraph for each session.")
@verb
def command(call: Call, since: str | None, here: bool, everything: bool) -> Reply:
    """Show what the sessions of all projects did since you last looked, what needs you first.

    It reads what clients and Holdfast keep on this machine, and asks no model. A person at a terminal who sees all of it has
    looked; a pipe, an agent and --json change nothing.
    """
    request = AwayRequest(
        call.folder,
        since=instant_since(since, call.now) if since else 0,
        is_here=here,
        most=0 if call.as_json or everything else MOST_PARAGRAPHS + MOST_LINES,
    )
    with ProgressLine("Reading the sessions", is_shown=not call.as_json):
        away = look_back(request, now=call.now)
    seen_since = away["since"] if away["count"] or not away["seen_since"] else away["seen_since"]
    is_seen = not call.as_json and away["is_whole"] and _is_person()
    if is_seen and not keep_looked(call.now, seen_since):
        warn("That you looked could not be kept: the next `holdfast away` shows the same again.")
    if away["clock_was_set_back"]:
        warn("The clock was set back since you last looked: the last 24 hours are shown.")
    for why in away["left_out"]:
        warn(why)
    first = [one["next"] for one in away["sessions"] if one["state"] in URGENT][:1]
    return Reply({**away}, _lines(away, call.now, everything=everything), next=first, pages=True)


def _is_person() -> bool:
    """Return whether a person sees the answer: at a terminal, and around no agent."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from holdfast.people.person import agent_environment  # a pipe needs nothing of it

    return not agent_environment(os.environ)


def _lines(away: Away, now: int, *, everything: bool) -> Iterator[str]:
    columns = max(NARROWEST, min(WIDEST, terminal_size()[0] or USUAL_WIDTH))
    yield style(tell.headline(away, now), bold=True)
    if not away["count"] and not away["waits"]:
        if away["seen_since"]:
            yield f"What you saw then: holdfast away --since {quote(away['seen_since'])}"
        return
    for waiting in away["waits"]:
        yield ""
        yield f"{style('waits for you', 'red', bold=True)}  {style(waiting['project'], dim=True)}"
        yield from _wrapped(waiting["what"], columns)
        yield f"  {style(safe(waiting['next']), 'cyan')}"
    shown = [one for one in away["sessions"] if everything or one["state"] != "trivial"]
    whole = shown if everything else shown[:MOST_PARAGRAPHS]
    for one in whole:
        yield ""
        yield from _paragraph(one, columns, now)
    rest = [one for one in away["sessions"] if one not in whole][:MOST_LINES]
    if rest:
        yield ""
    for one in rest:
        yield _line(one, columns, now)
    left = away["count"] - len(whole) - len(rest)
    if left:
        yield f"And {plural(left, 'session')} more: holdfast away --all"


def _paragraph(one: AwaySession, columns: int, now: int) -> Iterator[str]:
    colour = _colour(one)
    yield f"{style(tell.label(one), colour, bold=True)}  {style(safe(tell.about(one, now)), dim=True)}"
    yield from (style(line, bold=True) for line in _wrapped(tell.title(one), columns))
    yield from _wrapped(" ".join(tell.sentences(one, now)), columns)
    if one["next"]:
        yield f"  {style(safe(one['next']), 'cyan')}"


def _colour(one: AwaySession) -> str | None:
    if one["state"] in URGENT:
        return "red"
    return (
        "yellow"
        if one["state"] in ("limit", "unfinished")
        else "green"
        if one["state"] == "done"
        else None
    )


def _line(one: AwaySession, columns: int, now: int) -> str:
    """A session in one line: what it needs, which it is, and what was asked."""
    label, about = tell.label(one), safe(tell.about(one, now))
    room = columns - width(label) - width(about) - 4
    title = fit(safe(tell.title(one)), room) if room > 12 else ""
    return (
        fit(f"{label}  {about}", columns)
        if not title
        else f"{label}  {style(about, dim=True)}  {title}"
    )


def _wrapped(text: str, columns: int) -> list[str]:
    """A text in lines of the screen. Commands inside it may break; the one to type stands alone."""
    return textwrap.wrap(
        safe(text), columns - 2, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )
