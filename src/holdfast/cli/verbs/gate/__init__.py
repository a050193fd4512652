"""holdfast gate"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.gate",
    {
        "verify": "Ask a person to check what was built.",
        "decide": "Ask a person to choose between options.",
        "act": "Ask a person to do a step that no machine can do.",
        "list": "List the gates that wait for you.",
        "show": "Show one gate and its answer.",
        "wait": "Wait for the answer: exit 0 yes, 8 not yet, 9 no.",
        "answer": "Answer a gate at a terminal.",
        "withdraw": "Withdraw a question, as a person.",
        "lint": "Find requests in a text that a machine can do.",
    },
    modules={
        "questions": ("verify", "decide", "act", "withdraw", "lint"),
        "answers": ("list", "show", "wait", "answer"),
    },
    name="gate",
    help="Ask a person to check, to choose, or to do what only a person can.",
)
