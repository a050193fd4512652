"""holdfast find"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ProgressLine, at_home, echo, safe, style, terminal_size
from holdfast.clients.table import NAMES, title_of
from holdfast.kernel.durations import instant_since
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import one_line as flatten
from holdfast.kernel.text import plural
from holdfast.memory import consent, index
from holdfast.memory.find import Finding, FindRequest, Hit, find
from holdfast.memory.hooks import DAYS, OFF, keep_later
from holdfast.memory.open import open_session
from holdfast.memory.search import split_marked

WHAT = {
    "asked": "you",
    "said": "agent",
    "ran": "command",
    "edited": "edit",
    "looked": "read",
    "called": "tool",
    "noted": "plan",
    "failed": "failure",
}
USUAL_WIDTH, LONGEST_REQUEST, MOST_HITS = 100, 200, 10
# A hit takes so many lines of a screen, with the empty one.
LINES_OF_HIT = 6
ASK = """\
To find sessions of all your projects, their texts go into one file:
  {path}
Only you can read it, and secrets are taken out first. It stays on this
machine. What the clients delete is kept, compressed, for memory.keep_days.

To leave a project out, put this into its holdfast.toml:
  [memory]
  exclude = "."
To leave out several, set HOLDFAST_MEMORY_EXCLUDE to their folders with `:`
between them, or to `*` for all. `holdfast find --here` looks through one
repository alone. If you say no, only the repository that you ask in is
indexed. You are asked this once."""


@click.command()
@click.argument("question", nargs=-1)
@click.option("--client", type=click.Choice(NAMES), help="Only sessions of this client.")
@click.option(
    "--since", metavar="TIME", help="Only sessions since then: 12h, 7d, 4w, or 2026-11-01."
)
@click.option("--file", type=click.Path(), help="Only sessions that edited this file.")
@click.option("--here", is_flag=True, help="Only sessions of this repository.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Sessions of all projects; this agrees that they are indexed.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    help="Show at most this many.  [default: 10; on a terminal, what fits on the screen]",
)
@verb
def find_command(
    call: Call,
    question: tuple[str, ...],
    client: str | None,
    since: str | None,
    file: str | None,
    here: bool,
    everything: bool,
    limit: int | None,
) -> Reply:
    """Find the past sessions that a question is about, of all clients, best first.

    QUESTION is words in any order: what was asked, said, run, edited, or what failed. The first call reads the
    transcripts and takes a while; later ones read what is new.
    """
    if here and everything:
        raise Usage("--here and --all exclude each other.")
    is_person = not call.as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if is_person and not here and not everything and consent.read_choice() is None:
        echo(safe(ASK.format(path=index.path())))
        agrees = click.confirm("Index the sessions of all projects?", default=True)
        if not consent.keep_choice(all_projects=agrees):
            warn("The answer could not be kept: you will be asked again.")
    request = FindRequest(
        " ".join(question),
        call.folder,
        client=client or "",
        since=instant_since(since, call.now) if since else 0,
        file=file or "",
        is_here=here,
        is_all=everything,
        limit=limit or (_most_on_screen() if is_person else MOST_HITS),
    )
    with ProgressLine("Reading the sessions", is_shown=not call.as_json) as progress:
        found = find(request, progress=progress)
    if not call.as_json:
        _warn(found)
    reply = Reply({**found}, _lines(found), next=[one["open"] for one in found["hits"][:1]])
    if is_person and os.environ.get(DAYS, "1") not in OFF:
        keep_later(call.folder, call.now)
    if is_person and found["hits"]:
        return _offer(call, reply, found)
    return reply


def _most_on_screen() -> int:
    """Return how many hits fit on the screen, so that the best is in sight when the question which to open comes."""
    return max(3, min(MOST_HITS, (terminal_size()[1] - 2) // LINES_OF_HIT))


def _warn(found: Finding) -> None:
    if found["is_busy"]:
        warn("Another process is reading the sessions: what it has not read yet is not found.")
    if found["left"]:
        warn(f"{plural(found['left'], 'older session')} not read yet. The next search reads on.")
    if found["is_private"]:
        warn(f"{index.folder()} cannot be written to: the sessions are read again for each search.")


def _lines(found: Finding) -> Iterator[str]:
    where = " of this repository" if found["is_here"] else ""
    if not found["hits"]:
        yield f"No session fits, of {plural(found['sessions'], 'session')}{where}."
        if found["is_here"]:
            yield "`holdfast find --all` looks through the sessions of all projects."
        return
    width = max(60, (terminal_size()[0] or USUAL_WIDTH) - 1)
    for number, hit in enumerate(found["hits"], 1):
        if number > 1:
            yield ""
        yield from _hit_lines(number, hit, width)


def _hit_lines(number: int, hit: Hit, width: int) -> Iterator[str]:
    parts = [title_of(hit["client"]), hit["day"], hit["branch"], at_home(hit["folder"])]
    about = style("  ".join(safe(part) for part in parts if part), dim=True)
    yield f"{style(f'{number:2}', 'cyan', bold=True)}  {style(_short_id(hit['session']), 'cyan')}  {about}"
    request = flatten(safe(hit["request"]), min(width - 4, LONGEST_REQUEST))
    yield f"    {style(request or '(no request)', bold=True)}"
    for line in hit["lines"]:
        where = f"{safe(line['path'].rpartition('/')[2])}: " if line["what"] == "edited" else ""
        text = flatten(f"{where}{safe(line['text'])}", width - 13)
        yield f"    {WHAT[line['what']]:7}  {_highlight(text, line['words'])}"
    files = [f"{safe(one['path'])} ({_SINCE[one['state']]})" for one in hit["files"]]
    if files:
        yield style(f"    files    {flatten(', '.join(files), width - 13)}", dim=True)


def _short_id(session: str) -> str:
    """Return as much of an id as a person types. The name of a stream is whole."""
    return safe(session)[: None if ":" in session else 12]


_SINCE = {"unchanged": "unchanged since", "changed": "changed since", "gone": "gone"}


def _highlight(text: str, words: list[str]) -> str:
    return "".join(
        style(part, "yellow", bold=True) if is_marked else part
        for part, is_marked in split_marked(text, words)
    )


def _offer(call: Call, reply: Reply, found: Finding) -> Reply:
    """Show the hits, and open the one that the person names."""
    for line in reply.lines:
        echo(line)
    count = len(found["hits"])
    wanted = click.prompt(
        f"Open 1-{count} (Enter: 1, q: none)" if count > 1 else "Open it (Enter), or q",
        default="1",
        show_default=False,
    )
    number = int(wanted) if wanted.isascii() and wanted.isdigit() else 0
    if not 1 <= number <= count:
        return Reply(reply.data)
    hit = found["hits"][number - 1]
    text = open_session(
        call.workspace_if_any,
        hit["client"],
        hit["session"],
        hit["transcript"],
        cwd=hit["folder"],
        now=call.now,
    )
    return Reply(reply.data, safe(text).split("\n"), next=[hit["open"]], pages=True)
