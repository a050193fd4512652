"""The files of runs: their outputs, and the views of a flight."""

from holdfast.kernel.places import GC, ITSELF, YOU, Place

PLACES = [
    Place("home", "plans/*", "What the tasks of runs printed, and the leases of runners", "text", GC + ", outputs after `retention.days`"),
    Place("tool", "worktrees/*", "Worktrees in which tasks of a run work side by side", "git worktrees", ITSELF),
    Place("tree", ".autopilot/TRANSPONDER.md", "Where the flight is: a view", "Markdown", YOU),
    Place("tree", ".autopilot/holding-pattern.md", "Why the flight waits: a view", "Markdown", YOU),
    Place("tree", ".autopilot/phases/*/LOGBOOK.md", "What the plans of a phase did: a view", "Markdown", YOU),
]  # fmt: skip
