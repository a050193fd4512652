"""Status comments in Linear and GitHub. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

FEATURE = Feature(
    "trackers",
    rank=66,
    settings={
        "tracker.kind": Setting(
            "auto", "`auto`, `linear`, `github` or `none`; auto goes by the issue's form."
        ),
        "tracker.linear_url": Setting(
            "",
            "Another address for Linear.",
            guard="send your Linear key and the status comments to this address",
        ),
        "tracker.github_url": Setting(
            "",
            "Another address for GitHub.",
            guard="send your GitHub token and the status comments to this address",
        ),
        "tracker.github_repository": Setting(
            "",
            "`owner/name`, for issues such as `#12`.",
            guard="write the status comments into this repository, as you",
        ),
        "tracker.key_variable": Setting(
            "",
            "A variable of your own that holds the key.",
            guard="send this variable of your environment to the tracker, as its key",
        ),
        "tracker.key_command": Setting(
            "",
            "A command that prints the key. Only from the environment: a file that came with a repository must not say what is run.",
            environment_only=True,
        ),
    },
    verbs=[
        Verb(
            "tracker",
            "Deliver the status comment to the issue.",
            "Sessions and plans",
            "holdfast.cli.verbs.tracker",
        )
    ],
)
