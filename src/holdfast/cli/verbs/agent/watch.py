"""holdfast agent watch"""

from __future__ import annotations

import math
import sys
import time

import click

from holdfast.cli.agent_options import epic_option
from holdfast.cli.agents import post_of, roster_of, stop_of
from holdfast.cli.frame import Call, Reply, print_json
from holdfast.cli.parser import verb
from holdfast.cli.roster_screen import clock_time, screen, terminal_height, terminal_width
from holdfast.cli.terminal import unstyle, wants_colour
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.remote import server_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.fleet.context import Post
    from holdfast.fleet.roster import Entry

# Another screen, without a cursor, and back.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@click.command()
@click.option(
    "--every",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between looks.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="So many looks, then end.")
@epic_option
@verb
def command(call: Call, every: float, rounds: int | None, epic: str | None) -> Reply:
    """The fleet, live; Ctrl+C ends it.

    Piped, a new picture for each look; with --json one line of JSON for each.
    """
    if math.isnan(every):
        raise Usage("--every is a number of seconds.")
    post = post_of(call, epic)
    is_live = sys.stdout.isatty() and not call.as_json
    entries: list[Entry] = []
    looks = 0
    if is_live:
        sys.stdout.write(ENTER)
    try:
        while rounds is None or looks < rounds:
            if looks:
                time.sleep(max(0.1, every))
            post.now = server_time.now(post.epic.workspace)
            entries = roster_of(post)
            if call.as_json:
                print_json({"at": clock.precise(post.now), "agents": entries})
            else:
                _draw(screen_of(post, entries), is_live=is_live)
            sys.stdout.flush()
            looks += 1
    except KeyboardInterrupt:
        pass
    finally:
        if is_live:
            sys.stdout.write(LEAVE)
            sys.stdout.flush()
    lines = screen_of(post, entries) if is_live else []
    return Reply({"epic": post.epic.root, "looks": looks, "agents": entries}, lines)


def screen_of(post: Post, entries: list[Entry]) -> list[str]:
    return screen(
        entries,
        post.epic.name,
        width=terminal_width(),
        time=clock_time(post.now),
        stopped=stop_of(post),
    )


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
