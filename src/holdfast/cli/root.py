"""The verbs, in the order of their use."""

from __future__ import annotations

import click

from holdfast.cli.frame import Verbs
from holdfast.version import __version__

VERBS = {
    "status": "Where the journal is, what it holds, and what needs attention.",
    "history": "What happened, newest first.",
    "show": "One record, or the state of a stream.",
    "diff": "What changed between two records.",
    "restore": "Bring a stream back to an earlier record; can be undone.",
    "note": "Leave a note for whoever comes next.",
    "verify": "Walk the hash chains; names the first broken record.",
    "doctor": "Check everything that can go wrong, and fix what can be fixed.",
    "gc": "Apply the retention and give unused space back.",
    "purge": "Erase a secret that was found too late.",
    "export": "Everything, as JSON lines.",
    "backup": "A consistent copy of the journal, and back.",
    "demo": "The main story, in a temporary repository.",
    "completion": "Completions for your shell.",
}


@click.command(
    cls=Verbs,
    package="holdfast.cli.verbs",
    names=VERBS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="holdfast %(version)s")
def root() -> None:
    """What coding agents know about their work survives them.

    stdout is the result, stderr everything else; --json works on every command.
    """
