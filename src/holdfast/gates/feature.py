"""Questions for people (PILOT). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "gates",
    rank=62,
    streams=[
        StreamKind(
            "gate",
            "holdfast.gates.rules.gate",
            is_decided=True,
            mirrored=True,
            acts=("answer", "withdraw", "present", "notify"),
        ),
    ],
    pack="holdfast.gates.hooks:tell_pack",
    hooks={"waits": "holdfast.gates.hooks:waits"},
    settings={
        "notify.remind_minutes": Setting(
            60, "Announce a gate again once it has waited this long; 0 disables it."
        ),
    },
    describe="holdfast.gates.text:WORDS",
    places="holdfast.gates.files:PLACES",
    copies="holdfast.gates.files:COPIES",
    attention="holdfast.gates.attention:find",
    status_line="holdfast.gates.attention:show",
    verbs=[
        Verb(
            "gate",
            "Ask a person, list what waits, and answer.",
            "Wait and approve",
            "holdfast.gates.cli",
            inner={
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
                "list": "holdfast.gates.cli_answers",
                "show": "holdfast.gates.cli_answers",
                "wait": "holdfast.gates.cli_answers",
                "answer": "holdfast.gates.cli_answers",
            },
        ),
    ],
    tools="holdfast.gates.mcp:TOOLS",
    pages="holdfast.gates.pages:PAGES",
    api={"gates": "holdfast.gates.api:Gates"},
)
