"""Status, history, doctor, gc, purge, backup: loops over the features. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

# By the module and the group in `--help`.
VERBS = {
    ("status", "Wait and approve"): {"status": "Show what waits, what runs and what failed."},
    ("doctor", "Look after"): {"doctor": "Find what is wrong, and repair what needs no decision."},
    ("history", "Remember"): {"history": "Show what happened, newest first."},
    ("history", "Sessions and plans"): {
        "show": "Show one record, the state of a stream, or a session.",
        "diff": "Show what changed between two records.",
        "restore": "Bring a stream and its files back to an earlier record.",
        "conflicts": "Show edits by hand that met a newer change, and choose one of both.",
    },
    ("verify", "The journal"): {
        "verify": "Check the hash chains, and name the first broken record."
    },
    ("backup", "The journal"): {
        "backup": "Copy the journal to a file, or restore it from one.",
        "export": "Print every record as JSON lines.",
        "gc": "Remove old records, and give unused space back.",
        "purge": "Erase a secret that was found too late.",
    },
    ("init", "The journal"): {
        "trust": "Let the settings of this repository name commands and places."
    },
    ("demo", "Clients and shells"): {"demo": "Show the main story in a temporary repository."},
}

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
        Verb(name, line, group, f"holdfast.cli.verbs.{module}")
        for (module, group), lines in VERBS.items()
        for name, line in lines.items()
    ],
)
