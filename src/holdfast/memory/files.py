"""The files of memory."""

from __future__ import annotations

from holdfast.kernel.places import ITSELF, YOU, Place
from holdfast.memory.forget import clean_index, find_copies
from holdfast.parts import Copies

KEPT = "Past sessions without secrets, compressed: read when the client has deleted them"
COPIES = Copies(find=find_copies, clean={"index.db": clean_index})
PLACES = [
    Place("home", "kept/*", f"{KEPT}; those of this repository", "JSON, zlib", "`memory.keep_days`, `memory.keep_megabytes`", "file"),
    Place("data", "memory/kept/*", f"{KEPT}; those of projects without a journal", "JSON, zlib", "`memory.keep_days`, `memory.keep_megabytes`", "file"),
    Place("data", "memory/index.db*", "The words and texts of all sessions, without secrets, for `holdfast find`", "SQLite", "you: the next search reads the transcripts again", "file"),
    Place("data", "memory/index.lock", "The lock of the process that reads the sessions", "empty", YOU),
    Place("data", "memory/remembered", "When the sessions were read last", "empty", YOU),
    Place("data", "memory/forgotten.json", "Sessions that stay out because a purge erased what they hold", "JSON", "you: they are read again"),
    Place("private", "recall", "Files that earlier sessions edited and that this one was not told of", "text, a path a line", ITSELF),
    Place("data", "memory/choice.json", "Whether all projects may be indexed", "JSON", "you: you are asked again"),
]  # fmt: skip
