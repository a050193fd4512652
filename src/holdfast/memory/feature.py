"""Memory: find past sessions. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

FEATURE = Feature(
    "memory",
    rank=80,
    settings={
        "memory.exclude": Setting(
            "",
            "Folders whose sessions are left out of `holdfast find`, with `:` between them; `.` is this project, `*` everything. The variable counts for all projects.",
        ),
        "memory.remind": Setting(
            True,
            "Tell a session what earlier sessions did to its files: in its pack, and once when a prompt names a file.",
        ),
        "memory.keep_days": Setting(
            365,
            "How many days past sessions are kept after their client deleted the transcripts; 0 keeps none.",
            guard="remove kept sessions of all projects, or keep none",
        ),
        "memory.keep_megabytes": Setting(
            500,
            "How many megabytes kept sessions may take; the oldest go first.",
            guard="remove kept sessions of all projects",
        ),
    },
    places="holdfast.memory.files:PLACES",
    copies="holdfast.memory.files:COPIES",
    attention="holdfast.memory.attention:find",
    tools="holdfast.memory.mcp:TOOLS",
    pages="holdfast.memory.pages:PAGES",
    api={"find": "holdfast.memory.api:find", "why": "holdfast.memory.api:why"},
    offers={"session_elsewhere": "holdfast.memory.open:find_elsewhere"},
    pack="holdfast.memory.hooks:tell_pack",
    hooks={
        "turn": "holdfast.memory.hooks:remember_later",
        "prompted": "holdfast.memory.hooks:recall",
        "edits": "holdfast.memory.hooks:recall_before_edit",
    },
    verbs=[
        Verb(
            "find",
            "Find the past sessions that a question is about.",
            "Remember",
            "holdfast.memory.cli",
        ),
        Verb(
            "why",
            "Show the sessions that wrote a file or a line, and why.",
            "Remember",
            "holdfast.memory.cli_why",
        ),
        Verb(
            "remember",
            "Keep past sessions before the clients delete them.",
            "Sessions and plans",
            "holdfast.memory.cli_remember",
        ),
    ],
)
