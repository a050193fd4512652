"""The page. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Verb

FEATURE = Feature(
    "web",
    rank=40,
    pages="holdfast.web.pages:PAGES",
    verbs=[
        Verb(
            "serve",
            "Open the page: what needs you, what runs, what it costs.",
            "Look after",
            "holdfast.cli.verbs.serve",
        )
    ],
)
