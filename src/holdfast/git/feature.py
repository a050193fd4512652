"""Snapshots of the work tree. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

FEATURE = Feature(
    "git",
    rank=45,
    settings={
        "snapshot.keep": Setting(20, "`holdfast gc` keeps this many snapshots of each worktree."),
        "snapshot.remote": Setting(
            "",
            "A git remote that snapshots are pushed to as they are taken. Only from the environment: a file that came with a repository must not say where work goes that is not committed.",
            environment_only=True,
        ),
        "snapshot.largest_mb": Setting(50, "A snapshot leaves larger files out, and names them."),
    },
    verbs=[
        Verb(
            "snapshot",
            "Save and restore the whole work tree, untracked files too.",
            "Sessions and plans",
            "holdfast.cli.verbs.snapshot",
        ),
    ],
)
