"""holdfast plan"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.plan",
    {
        "lint": "Everything that is wrong with plan files, before anything runs.",
        "graph": "The waves and dependencies, here or as SVG.",
        "run": "Run them; killed at any instant, a run goes on where it was.",
        "resume": "Go on with a run exactly where it stopped.",
        "abandon": "Give a run up: its questions are withdrawn, its plans free again.",
        "show": "Where a run is, and why it waits.",
    },
    name="plan",
    help="Plans in waves: check them, draw them, run them, and go on where they stopped.",
)
