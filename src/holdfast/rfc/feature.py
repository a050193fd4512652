"""The reasoning behind an RFC (RFC). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "rfc",
    rank=65,
    streams=[StreamKind("rfc", "holdfast.rfc.rules.rfc", mirrored=True, acts=("settle",))],
    settings={
        "rfc.pressure": Setting(
            50, "Percent of the context in use above which a rejected review restarts it."
        ),
        "rfc.references": Setting(
            {}, "What a bootstrap reads on entering a phase: a table of phases and lists of paths."
        ),
    },
    retired=["rfc.compressor", "rfc.compressor_seconds"],
    describe="holdfast.rfc.text:WORDS",
    attention="holdfast.rfc.attention:find",
    pack="holdfast.rfc.hooks:tell_pack",
    places="holdfast.rfc.files:PLACES",
    copies="holdfast.rfc.files:COPIES",
    verbs=[
        Verb(
            "rfc",
            "Keep the reasoning behind an RFC across its phases.",
            "Many agents",
            "holdfast.rfc.cli",
            inner={
                "init": "Begin an RFC: its folder, its files, its first phase.",
                "list": "List the open RFCs and what each waits for.",
                "prompt": "Print the questions at a phase boundary.",
                "write": "Write the answers into the checkpoint.",
                "transition": "Leave a phase; says whether to write and whether to restart.",
                "bootstrap": "After a restart: print everything that is needed to continue.",
                "show": "Show an RFC and its checkpoint.",
                "close": "End an RFC that will not be accepted, or open it again.",
                "lint": "Check a checkpoint that was written by hand, line by line.",
            },
        )
    ],
    tools="holdfast.rfc.mcp:TOOLS",
    pages="holdfast.rfc.pages:PAGES",
    api={"rfc": "holdfast.rfc.api:rfc"},
)
