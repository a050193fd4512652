"""Status, history, doctor, gc, purge, backup: loops over the features. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

FEATURE = Feature(
    "maintenance",
    rank=20,
    settings={
        "retention.days": Setting(90, "Records older than this are removed by `holdfast gc`."),
        "retention.keep": Setting(
            200, "Always keep this many of the newest records of each stream."
        ),
        "quarantine.days": Setting(
            30, "Files in quarantine older than this are removed by `holdfast gc`."
        ),
    },
    verbs=[
        Verb(
            "status",
            "Show what waits, what runs and what failed.",
            "Wait and approve",
            "holdfast.cli.verbs.status",
        ),
        Verb(
            "doctor",
            "Find what is wrong, and repair what needs no decision.",
            "Look after",
            "holdfast.cli.verbs.doctor",
        ),
        Verb(
            "history",
            "Show what happened, newest first.",
            "Remember",
            "holdfast.cli.verbs.history",
        ),
        Verb(
            "show",
            "Show one record, the state of a stream, or a session.",
            "Sessions and plans",
            "holdfast.cli.verbs.history",
        ),
        Verb(
            "diff",
            "Show what changed between two records.",
            "Sessions and plans",
            "holdfast.cli.verbs.history",
        ),
        Verb(
            "restore",
            "Bring a stream and its files back to an earlier record.",
            "Sessions and plans",
            "holdfast.cli.verbs.history",
        ),
        Verb(
            "conflicts",
            "Show edits by hand that met a newer change, and choose one of both.",
            "Sessions and plans",
            "holdfast.cli.verbs.history",
        ),
        Verb(
            "verify",
            "Check the hash chains, and name the first broken record.",
            "The journal",
            "holdfast.cli.verbs.verify",
        ),
        Verb(
            "backup",
            "Copy the journal to a file, or restore it from one.",
            "The journal",
            "holdfast.cli.verbs.backup",
        ),
        Verb(
            "export",
            "Print every record as JSON lines.",
            "The journal",
            "holdfast.cli.verbs.backup",
        ),
        Verb(
            "gc",
            "Remove old records, and give unused space back.",
            "The journal",
            "holdfast.cli.verbs.backup",
        ),
        Verb(
            "purge",
            "Erase a secret that was found too late.",
            "The journal",
            "holdfast.cli.verbs.backup",
        ),
        Verb(
            "trust",
            "Let the settings of this repository name commands and places.",
            "The journal",
            "holdfast.cli.verbs.init",
        ),
        Verb(
            "demo",
            "Show the main story in a temporary repository.",
            "Clients and shells",
            "holdfast.cli.verbs.demo",
        ),
    ],
)
