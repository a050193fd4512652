"""The files of undo."""

from __future__ import annotations

from holdfast.kernel.places import GC, ITSELF, Place

PLACES = [
    Place("home", "undo-*.json", "An undo under way; the next `holdfast undo` finishes one that was cut off", "JSON", ITSELF, "file"),
    Place("home", "undo.git/*", "The states of a folder without git, before and after each prompt", "a git repository", GC + ", after `undo.days`", "file"),
    Place("private", "taking", "A state of the work tree is being taken", "empty", ITSELF),
]  # fmt: skip
