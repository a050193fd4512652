"""holdfast guard"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

VERBS = {
    "check": "Check whether work may go on: cost, context, variance, errors, time.",
    "report": "Show what a session has cost, by step.",
    "ack": "Answer an alert, as a person.",
    "reset": "Clear the acknowledgments; lift a stop, as a person.",
    "limits": "Show the limits in force and their sources.",
}

command = Verbs(
    "holdfast.cli.verbs.guard",
    VERBS,
    modules={"limits": ("check", "ack", "reset", "limits"), "report": ("report",)},
    name="guard",
    help="Check and set budgets: limits that warn, ask a person, and stop.",
)
