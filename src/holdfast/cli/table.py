"""The verbs, in the order of their use, each with its line in the help."""

from __future__ import annotations

VERBS = {
    "checkpoint": "Capture this session before its context ends.",
    "resume": "Whether the world is as it was left, and the text to go on from.",
    "go": "The same as resume.",
    "status": "Where the journal is, what it holds, and what needs attention.",
    "history": "What happened, newest first.",
    "show": "One record, or the state of a stream.",
    "diff": "What changed between two records.",
    "restore": "Bring a stream back to an earlier record; can be undone.",
    "snapshot": "The whole work tree, untracked files too, under a private ref.",
    "tracker": "The status comment on the issue.",
    "agent": "Many agents at once: who is alive, what each does, and what to do next.",
    "loop": "A track's steps: plan, execute, evaluate, fix; resumed at the exact task.",
    "gate": "Questions for people: look at this, choose, do what only you can.",
    "guard": "Budgets: limits that warn, ask a person, and really stop.",
    "rfc": "The reasoning behind an RFC, kept across phases within 200 lines.",
    "note": "Leave a note for whoever comes next.",
    "estop": "Stop every agent of the workspace, now.",
    "release": "Lift the emergency stop.",
    "verify": "Walk the hash chains; names the first broken record.",
    "doctor": "Check everything that can go wrong, and fix what can be fixed.",
    "gc": "Apply the retention and give unused space back.",
    "purge": "Erase a secret that was found too late.",
    "export": "Everything, as JSON lines.",
    "backup": "A consistent copy of the journal, and back.",
    "init": "Let an agent's client call holdfast by itself.",
    "uninstall": "Take holdfast out of a client's settings, byte for byte.",
    "hook": "What a client's hook calls.",
    "demo": "The main story, in a temporary repository.",
    "completion": "Completions for your shell.",
}
# Verbs that run without click when nothing unusual is asked of them; see `plain`.
PLAIN = ("status", "verify", "demo", "agent beat")
