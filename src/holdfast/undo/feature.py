"""Undo: take back what a prompt changed. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

LESS = "keep fewer states to go back to, or none"

FEATURE = Feature(
    "undo",
    rank=48,
    streams=[
        StreamKind(
            "prompts",
            "holdfast.undo.rules.prompts",
            of_one_life=True,
            acts=("begin", "end", "undo", "redo", "forget"),
            word="prompts",
        ),
    ],
    hooks={
        "asked": "holdfast.undo.hooks:begin",
        "asking": "holdfast.undo.hooks:mark",
        "ended": "holdfast.undo.hooks:end",
        "changes": "holdfast.undo.hooks:pause",
    },
    settings={
        "undo.on": Setting(
            True,
            "Keep the state of the work tree before and after each prompt.",
            guard=LESS,
        ),
        "undo.days": Setting(
            14, "`holdfast gc` removes states of prompts that are older.", guard=LESS
        ),
        "undo.largest_mb": Setting(
            500, "`holdfast gc` removes the oldest states of prompts beyond this size.", guard=LESS
        ),
        "undo.include": Setting(
            "",
            "Ignored files that states hold, too: names or patterns from the top, with blanks between them.",
            guard="copy these ignored files, which may hold keys, into objects of git",
        ),
    },
    describe="holdfast.undo.text:WORDS",
    places="holdfast.undo.files:PLACES",
    copies="holdfast.undo.copies:COPIES",
    attention="holdfast.undo.attention:find",
    verbs=[
        Verb(
            "undo",
            "Take back what the last prompt changed.",
            "Undo",
            "holdfast.undo.cli",
        ),
        Verb("redo", "Bring back what an undo took.", "Sessions and plans", "holdfast.undo.cli"),
    ],
    tools="holdfast.undo.mcp:TOOLS",
    pages="holdfast.undo.pages:PAGES",
    api={"undo": "holdfast.undo.api:Undo"},
)
