"""What happened while the person was away. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Verb

FEATURE = Feature(
    "away",
    rank=85,
    places="holdfast.away.files:PLACES",
    pages="holdfast.away.pages:PAGES",
    api={"look_back": "holdfast.away.api:look_back"},
    verbs=[
        Verb(
            "away",
            "Show what happened in all projects since you last looked.",
            "Remember",
            "holdfast.away.cli",
        )
    ],
)
