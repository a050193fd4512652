"""holdfast continuity"""

from __future__ import annotations

import os

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import verb
from holdfast.cli.terminal import echo, safe, table
from holdfast.clients.table import NAMES
from holdfast.kernel.errors import NotFound
from holdfast.kernel.text import plural
from holdfast.maintenance.continuity.comparison import (
    Comparison,
    cells_of,
    comparisons_of,
    measure,
)
from holdfast.maintenance.continuity.recordings import recordings_in, recordings_of


@click.command()
@click.argument("transcripts", metavar="[FOLDER]", required=False, default="")
@click.option(
    "--budget",
    type=click.IntRange(min=400),
    default=6000,
    show_default=True,
    help="Characters that each text may have.",
)
@click.option("--client", type=click.Choice(NAMES), help="Only sessions of this client.")
@verb
def command(call: Call, transcripts: str, budget: int, client: str | None) -> Reply:
    """Measure how much of what came next a resume would have named, in your own sessions.

    Cuts each session where its client compacted it and in the middle of turns, and looks what the
    session needed after the cut. FOLDER holds transcripts; without it, the sessions of the current
    folder are measured. Everything stays on this machine, and nothing is written.
    """
    if transcripts:
        folder = os.path.join(call.folder, transcripts)
        if not os.path.isdir(folder):
            raise NotFound(f"There is no folder {transcripts}.")
        recordings = recordings_in(folder, client or "")
    else:
        recordings = recordings_of(call.folder, client or "")
    comparisons = comparisons_of(measure(recordings, budget, progress=_show_progress))
    if not comparisons:
        raise NotFound(
            "No session is long enough to be cut: it takes 40 tool calls.",
            hint="Name a folder of transcripts: holdfast continuity FOLDER",
        )
    data = {"budget": budget, "comparisons": [comparison._asdict() for comparison in comparisons]}
    return Reply(data, _lines(comparisons, budget))


def _show_progress(line: str) -> None:
    echo(safe(line), error=True)


def _lines(comparisons: list[Comparison], budget: int) -> list[str]:
    lines = []
    for comparison in comparisons:
        cuts = plural(comparison.cuts, "cut")
        lines.append(
            f"{comparison.client}, {comparison.kind}: {cuts}, {budget:,} characters allowed"
        )
        lines += [*table(cells_of(comparison), indent="  "), ""]
    lines.append("FUTURE: files, names and commands of the next 25 calls that the text names.")
    lines.append("CARRIED: request, rulings, answers, plan and open tasks that it holds.")
    lines.append("false: claims that were no longer true, of those that could be checked.")
    return lines
