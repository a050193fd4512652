"""Notes: the small example to copy. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, StreamKind, Verb

FEATURE = Feature(
    "note",
    rank=50,
    streams=[StreamKind("note", "holdfast.note.rules.note", is_said=True, acts=("settle",))],
    words={"note": "holdfast.note.hooks:note"},
    describe="holdfast.note.text:WORDS",
    places="holdfast.note.files:PLACES",
    verbs=[
        Verb("note", "Leave a note for the next reader.", "Sessions and plans", "holdfast.note.cli")
    ],
    api={"note": "holdfast.note.api:note"},
)
