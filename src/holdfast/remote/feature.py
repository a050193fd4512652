"""The journal on a server. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

FEATURE = Feature(
    "remote",
    rank=70,
    settings={
        "journal.workspace": Setting(
            "",
            "What this workspace is called in that database, the same on every machine; empty goes by the address of the git remote `origin`.",
            guard="read, write and stop the workspace of this name in your team's database",
        ),
        "journal.forwarder": Setting(
            True,
            "With a server: hooks start the forwarder by themselves. False when a service of yours runs `holdfast journal forward --stay`, or `holdfast serve` does its work.",
        ),
    },
    verbs=[
        Verb(
            "journal",
            "Move the journal from a file to a server, and back.",
            "The journal",
            "holdfast.cli.verbs.journal",
        ),
        Verb(
            "admin",
            "Print the SQL that gives a database role its rights.",
            "The journal",
            "holdfast.cli.verbs.journal",
        ),
    ],
)
