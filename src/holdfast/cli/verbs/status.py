"""holdfast status"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, safe, size, style, table
from holdfast.clients.table import title_of
from holdfast.kernel.text import plural
from holdfast.maintenance.status import gather
from holdfast.usage.quotas import describe_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.maintenance.status import ServerFacts, SessionAtWork, Status

LONGEST_REQUEST, LONGEST_ABOUT = 48, 40
# Of a session's id so much is shown: commands take the beginning of an id.
SHORT_ID = 8


@click.command("status")
@verb
def command(call: Call) -> Reply:
    """Show where the journal is, what it holds, and what needs attention."""
    status = gather(call.workspace)
    next = dict.fromkeys(item["next"] for item in status["attention"])
    return Reply({**status}, _lines(status, call.now), next=[*next])


def _short_name(stream: str) -> str:
    kind, _, name = stream.partition(":")
    return f"{kind}:{name[:SHORT_ID]}" if kind == "session" else stream


def _lines(status: Status, now: int) -> Iterator[str]:
    journal = status["journal"]
    yield from table([["Workspace", safe(status["workspace"])], ["Journal", safe(journal["path"])]])
    server = status["server"]
    if server is not None:
        yield from _server_lines(server, now)
    others = len(status["worktrees"]) - 1
    if others:
        yield f"           shared with {plural(others, 'other worktree')}"
    if not journal["exists"]:
        yield "           nothing written yet"
    else:
        records, streams = (
            plural(journal["records"], "record"),
            plural(journal["streams"], "stream"),
        )
        readable = ", read-only here" if journal["read_only"] else ""
        known = ", as far as this machine knows" if server and not server["reachable"] else ""
        yield f"           {records} in {streams}, {size(journal['bytes'])}{readable}{known}"
    if status["streams"]:
        yield ""
        yield style("Latest", bold=True)
        rows = [
            [
                safe(_short_name(head["stream"])),
                f"version {head['version']}",
                "ended" if head["closed_at"] else ago(head["seen_at"], now),
                safe(one_line(head["about"], LONGEST_ABOUT)),
            ]
            for head in status["streams"]
        ]
        yield from table(rows, indent="  ")
        hidden = journal["streams"] - len(rows)
        if hidden > 0:
            yield f"  and {plural(hidden, 'more stream')}"
    if status["at_work"]:
        yield ""
        yield style("At work", bold=True)
        yield from table(
            [_at_work(one, status["workspace"], now) for one in status["at_work"]], indent="  "
        )
    if status["quotas"]:
        yield ""
        yield style("Usage limits of your clients", bold=True)
        yield from table(describe_all(status["quotas"], now), indent="  ")
    yield ""
    if status["attention"]:
        yield style("Needs attention", "yellow", bold=True)
        yield from table(
            [[safe(item["what"]), style(item["next"], dim=True)] for item in status["attention"]],
            indent="  ",
        )
    else:
        yield style("Nothing waits for you." if status["at_work"] else "All quiet.", "green")


def _at_work(one: SessionAtWork, root: str, now: int) -> list[str]:
    """The session, since when it runs, and on what."""
    where = "" if one["worktree"] == root else f"in {safe(one['worktree'])}"
    since = f"began {ago(one['since'], now)}" if one["since"] else ""
    doing = one_line(one["request"], LONGEST_REQUEST) if one["request"] else "no request yet"
    name = style(safe(one["session"])[:8], "yellow")
    return [name, title_of(one["client"]), since, doing, where]


def _server_lines(server: ServerFacts, now: int) -> Iterator[str]:
    """Whether the server answers, when it was heard last, and what waits for it."""
    from holdfast.remote.facts import how_long, in_words

    if not server["reachable"]:
        heard = how_long(server["heard_at"], now)
        yield f"           {style('away', 'red', bold=True)}: not heard {heard}; agents go on"
    elif server["heard_at"]:
        yield f"           heard for this machine's hooks {ago(server['heard_at'], now)}"
    waits = in_words(server)
    if waits:
        yield f"           {waits}"
