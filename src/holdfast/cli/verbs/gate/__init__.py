"""holdfast gate"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.gate",
    {
        "verify": "Ask a person to look at what was built.",
        "decide": "Ask a person to choose between options.",
        "act": "Ask a person for a step that no machine can take.",
        "list": "What waits for you, how long, and what it holds up.",
        "show": "One gate: what was asked, and what became of it.",
        "wait": "Wait for the answer: 0 yes, 8 not yet, 9 a person said no.",
        "answer": "Answer a gate, as a person at a terminal.",
        "withdraw": "Take back a question that you asked.",
        "lint": "Whether a text asks people for what a machine can do.",
    },
    name="gate",
    help="Questions for people: look at this, choose, do what only you can.",
)
