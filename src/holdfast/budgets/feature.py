"""Limits that warn, ask and stop (PILOT). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "budgets",
    rank=64,
    streams=[
        StreamKind(
            "budget",
            "holdfast.budgets.rules.budget",
            is_decided=True,
            mirrored=True,
            follower="holdfast.budgets.stop",
            acts=("ack", "halt", "reset"),
        ),
    ],
    holds={"budget:default": "holdfast.budgets.stop:list_missing"},
    hooks={
        "seen": "holdfast.budgets.hooks:see",
        "spends": "holdfast.budgets.hooks:has_budget",
        "paid": "holdfast.budgets.hooks:check_paid",
        "spent": "holdfast.budgets.hooks:check_spent",
        "held": "holdfast.budgets.hooks:held",
        "disturbs": "holdfast.budgets.alerts:are_waiting",
        "is_busy": "holdfast.budgets.hooks:has_budget",
    },
    words={"tell-quota": "holdfast.budgets.hooks:tell_quota"},
    lifts={"guard": "holdfast guard reset"},
    settings={
        "guard.last_turn": Setting(
            True,
            "At a budget's stop each session gets one last turn, of at most five minutes, to checkpoint.",
        ),
        "guard.every_warning": Setting(
            False,
            "A budget's warning is printed at every check, not once when its level is entered.",
        ),
    },
    describe="holdfast.budgets.text:WORDS",
    places="holdfast.budgets.files:PLACES",
    copies="holdfast.budgets.files:COPIES",
    status_line="holdfast.budgets.status_line:show",
    trust="holdfast.budgets.trust:find",
    attention="holdfast.budgets.attention:find",
    verbs=[
        Verb(
            "guard",
            "Set budgets, which warn, ask a person, and stop.",
            "Wait and approve",
            "holdfast.budgets.cli",
            inner={
                "check": "Check whether work may go on: cost, context, variance, errors, time.",
                "report": "Show what a session has cost, by step.",
                "ack": "Answer an alert, as a person.",
                "reset": "Clear the acknowledgments; lift a stop, as a person.",
                "limits": "Show the limits in force and their sources.",
                "set": "Set a limit in the protocol's file, as a person.",
            },
            modules={
                "report": "holdfast.budgets.cli_report",
            },
        ),
    ],
    tools="holdfast.budgets.mcp:TOOLS",
    pages="holdfast.budgets.pages:PAGES",
    api={"budgets": "holdfast.budgets.api:Budgets"},
)
