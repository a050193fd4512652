"""The verbs, in the order of their use, each with its line in the help."""

from __future__ import annotations

VERBS = {
    "status": "Where the journal is, what it holds, and what needs attention.",
    "history": "What happened, newest first.",
    "show": "One record, or the state of a stream.",
    "diff": "What changed between two records.",
    "restore": "Bring a stream back to an earlier record; can be undone.",
    "note": "Leave a note for whoever comes next.",
    "verify": "Walk the hash chains; names the first broken record.",
    "doctor": "Check everything that can go wrong, and fix what can be fixed.",
    "gc": "Apply the retention and give unused space back.",
    "purge": "Erase a secret that was found too late.",
    "export": "Everything, as JSON lines.",
    "backup": "A consistent copy of the journal, and back.",
    "demo": "The main story, in a temporary repository.",
    "completion": "Completions for your shell.",
}
# Verbs without options of their own are plain functions named `answer`. Called without anything to
# parse, they run without click, which alone costs four bare interpreters.
PLAIN = ("status", "verify", "demo")
