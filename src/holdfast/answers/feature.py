"""Answers to what a client asks its person. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind

FEATURE = Feature(
    "answers",
    rank=63,
    streams=[
        StreamKind(
            "questions",
            "holdfast.answers.rules.questions",
            is_decided=True,
            acts=("ask", "answer", "end"),
        )
    ],
    settings={
        "answers.wait_seconds": Setting(
            3600,
            "While your page is open, a client's question can be answered there for this long, beside the client's own dialogue; at most 3600. 0 disables it.",
        ),
        "answers.hold_seconds": Setting(
            0,
            "The same for a client that shows its own dialogue only afterwards: it waits for the page this long; at most 600.",
            guard="hold up the dialogues of clients until the page answered",
        ),
    },
    hooks={"asks": "holdfast.answers.hooks:ask"},
    describe="holdfast.answers.text:WORDS",
    pages="holdfast.answers.pages:PAGES",
    api={"questions": "holdfast.answers.api:Questions"},
    offers={
        "inbox": "holdfast.answers.inbox:list_rows",
        "inbox_item": "holdfast.answers.inbox:show",
        "inbox_reply": "holdfast.answers.inbox:reply",
        "answerable": "holdfast.answers.inbox:list_sessions",
    },
)
