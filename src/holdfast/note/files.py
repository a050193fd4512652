"""The files of notes."""

from holdfast.kernel.places import YOU, Place

PLACES = [
    Place("tree", ".notes/*.md", "Notes: views of their streams", "Markdown", YOU, is_read=True),
]  # fmt: skip
