"""holdfast agent watch"""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agent_reply import context_for
from holdfast.cli.frame import Call, Reply, print_json
from holdfast.cli.parser import verb
from holdfast.cli.roster_screen import clock_time, fleet_screen, terminal_height
from holdfast.cli.terminal import unstyle, wants_colour
from holdfast.fleet.roster import AgentEntry, list_agents
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.fleet.context import FleetContext

# Another screen, without a cursor, and back.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@click.command()
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between two updates.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="End after so many updates.")
@epic_option
@verb
def command(call: Call, every: float, rounds: int | None, epic: str | None) -> Reply:
    """Show the list of agents live; Ctrl+C ends it.

    Piped, it prints the whole list again each time; with --json, one line of JSON.
    """
    if math.isnan(every):
        raise Usage("--every is a number of seconds.")
    context = context_for(list_agents, call, epic)
    is_live = sys.stdout.isatty() and not call.as_json
    entries: list[AgentEntry] = []
    looks = 0
    if is_live:
        sys.stdout.write(ENTER)
    try:
        while rounds is None or looks < rounds:
            if looks:
                time.sleep(max(0.1, every))
            context.refresh()
            entries = list_agents(context)
            if call.as_json:
                print_json({"at": clock.precise(context.now), "agents": entries})
            else:
                _draw(_screen(context, entries), is_live=is_live)
            sys.stdout.flush()
            looks += 1
    except KeyboardInterrupt:
        pass
    finally:
        if is_live:
            sys.stdout.write(LEAVE)
            sys.stdout.flush()
    lines = _screen(context, entries) if is_live else []
    return Reply({"epic": context.epic.root, "looks": looks, "agents": entries}, lines)


def _screen(context: FleetContext, entries: list[AgentEntry]) -> list[str]:
    return fleet_screen(context, entries, time=clock_time(context.now))


def _draw(lines: list[str], *, is_live: bool) -> None:
    if not wants_colour(sys.stdout):
        lines = [unstyle(line) for line in lines]
    if is_live:
        rows = terminal_height()
        if rows and len(lines) >= rows:
            lines = [*lines[: rows - 2], f"… and {len(lines) - rows + 2} more lines"]
        text = HOME + "".join(f"{line}{REST_OF_LINE}\n" for line in lines) + REST_OF_SCREEN
        sys.stdout.write(text)
    else:
        sys.stdout.write("\n".join(lines) + "\n\n")
