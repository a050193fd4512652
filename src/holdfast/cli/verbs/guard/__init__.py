"""holdfast guard"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

VERBS = {
    "check": "Whether work may go on: cost, context, variance, errors, time.",
    "report": "What a session has cost, by step, and how sure that is.",
    "ack": "A person acknowledges an alert.",
    "reset": "Clear the acknowledgments; after a stop a person lifts it.",
    "limits": "The limits in force, and where each comes from.",
}

command = Verbs(
    "holdfast.cli.verbs.guard",
    VERBS,
    name="guard",
    help="Budgets: limits that warn, ask a person, and really stop.",
)
