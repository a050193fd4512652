"""holdfast plan graph"""

from __future__ import annotations

import os
import sys
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import verb
from holdfast.cli.plan_screen import COLOURS
from holdfast.cli.terminal import plural, style
from holdfast.kernel.errors import HoldfastError, NotFound, Usage
from holdfast.plans import lookup
from holdfast.plans.discovery import documents, files
from holdfast.plans.rules import drawing
from holdfast.plans.rules.picture import svg
from holdfast.plans.rules.waves import WaveOrder

if TYPE_CHECKING:
    from holdfast.plans.rules.drawing import Phase

PIPED = 80


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--run", "run", metavar="ID", help="Draw the plans of this run with their status.")
@click.option(
    "--svg", "target", metavar="FILE", help="Write an SVG file; - writes to standard output."
)
@verb
def command(call: Call, paths: tuple[str, ...], run: str | None, target: str | None) -> Reply:
    """Draw the waves of the plans in PATHS, their dependencies and their checkpoints.

    PATHS are files and folders. Default: .autopilot/phases.
    """
    if run is not None and paths:
        raise Usage("A run has its own plans.", hint="Give paths or --run, not both.")
    if target == "-" and call.as_json:
        raise Usage("Standard output is one thing only.", hint="Give --svg FILE, or no --json.")
    drawn = _of_files(call, paths) if run is None else _of_run(call, run)
    data = {"phases": drawn, "svg": target or ""}
    if target == "-":
        return Reply(data, [svg(drawn).rstrip("\n")])
    if target:
        count = _write(os.path.join(call.folder, target), svg(drawn))
        return Reply(data, [f"{target} ({plural(count, 'byte')})"])
    columns = get_terminal_size().columns if sys.stdout.isatty() else PIPED
    return Reply(data, drawing.lines(drawn, columns, _paint))


def _of_files(call: Call, paths: tuple[str, ...]) -> list[Phase]:
    read = documents(files(paths, call.folder, call.workspace.root), call.folder)
    plans = [one["plan"] for one in read if one["plan"] is not None]
    if not plans:
        raise HoldfastError(
            "None of these files can be drawn.",
            hint="holdfast plan lint says why.",
            kind="bad_plan",
        )
    order = WaveOrder(plans)
    wrong = len(order.troubles) + sum(
        problem["level"] == "error" for one in read for problem in one["problems"]
    )
    if wrong or len(order.plans) < len(read):
        warn("There are errors in these plans; `holdfast plan lint` lists them.")
    return drawing.graph(order.plans)


def _of_run(call: Call, word: str) -> list[Phase]:
    if not word.strip():
        raise NotFound("A run has an id.", hint="`holdfast plan show` lists them.")
    state = lookup.find_run(call.workspace, word)
    plans = [one["plan"] for one in state["plans"].values()]
    return drawing.graph(plans, drawing.states_of(state))


def _write(path: str, text: str) -> int:
    """Write the picture, and never over something that is none."""
    content = text.encode()
    if os.path.lexists(path):
        with open(path, "rb") as file:
            if file.read(4) not in (b"<svg", b""):
                raise Usage(
                    f"{path} exists and is no picture of ours.", hint="Choose another name."
                )
    with open(path, "wb") as file:
        file.write(content)
    return len(content)


def _paint(text: str, part: str) -> str:
    if part == "phase":
        return style(text, bold=True)
    if part in ("dim", "open", "skipped"):
        return style(text, dim=True)
    colour = "cyan" if part == "wave" else COLOURS.get(part)
    return style(text, colour, bold=part == "plan")
