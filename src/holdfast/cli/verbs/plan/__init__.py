"""holdfast plan"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.plan",
    {
        "new": "Write a plan to begin with.",
        "lint": "Check plan files for errors.",
        "graph": "Draw the waves and dependencies, as text or SVG.",
        "run": "Run plans.",
        "resume": "Continue a run exactly where it stopped.",
        "abandon": "Abandon a run, so that its plans can run again.",
        "show": "Show where a run is and why it waits.",
    },
    modules={"files": ("new", "lint", "graph"), "run": ("run", "resume", "abandon")},
    name="plan",
    help="Check, draw and run plans in waves, and continue them after a stop.",
)
