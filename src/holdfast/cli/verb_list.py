"""The verbs in groups, each with its line in `holdfast --help`."""

from __future__ import annotations

GROUPS = {
    "Every day": {
        "resume": "Check what changed since the last checkpoint, and print the text to continue from.",
        "checkpoint": "Capture this session before its context ends.",
        "status": "Show where the journal is, what it holds, and what needs attention.",
        "init": "Let the clients of your agents call holdfast by themselves.",
        "serve": "Serve the page: what needs you, what runs, what it costs.",
        "doctor": "Check everything that can go wrong, and fix what can be fixed.",
    },
    "Look back": {
        "go": "The same as resume.",
        "edits": "Show the edits of a session that the work tree lacks, and bring them back.",
        "history": "Show what happened, newest first.",
        "show": "Show one record, the state of a stream, or a session.",
        "diff": "Show what changed between two records.",
        "restore": "Bring a stream and its files back to an earlier record.",
        "conflicts": "Show edits by hand that met a newer change, and choose one of both.",
        "snapshot": "Save and restore the whole work tree, untracked files too.",
        "note": "Leave a note for the next reader.",
        "continuity": "Measure how much of your own sessions a resume carries over.",
    },
    "Agents, plans and people": {
        "agent": "Run several agents: who is alive, what each does, who takes over.",
        "loop": "Take a track's steps: plan, execute, evaluate, fix.",
        "gate": "Ask a person to check, to choose, or to do what only a person can.",
        "plan": "Check, draw and run plans in waves, and continue them after a stop.",
        "guard": "Check and set budgets: limits that warn, ask a person, and stop.",
        "rfc": "Keep the reasoning behind an RFC across phases, within 200 lines.",
        "tracker": "Deliver the status comment to the issue.",
        "estop": "Stop every agent of the workspace, now.",
        "release": "Lift the emergency stop.",
        "takeoff": "The same as plan run, with the options of autopilot.",
        "cockpit": "The same as plan resume, with the options of autopilot.",
    },
    "The journal": {
        "verify": "Check the hash chains, and name the first broken record.",
        "backup": "Copy the journal to a file, or restore it from one.",
        "export": "Print every record as JSON lines.",
        "gc": "Remove old records, and give unused space back.",
        "purge": "Erase a secret that was found too late.",
        "trust": "Let the settings of this repository name commands and places.",
        "journal": "Move the journal from a file to a server, and back.",
        "admin": "Print the SQL that gives a database role its rights.",
    },
    "Clients and shells": {
        "uninstall": "Take holdfast out of the clients' settings.",
        "mcp": "Serve MCP on standard input and output.",
        "hook": "Answer a client's hook.",
        "statusline": "Print one line for Claude Code's status line.",
        "completion": "Print the completion script for your shell.",
        "demo": "Show the main story in a temporary repository.",
    },
}
VERBS = {name: line for group in GROUPS.values() for name, line in group.items()}
# Modules that hold several verbs. Each other verb has a module of its own name.
MODULES = {
    "autopilot": ("takeoff", "cockpit"),
    "backup": ("backup", "export", "gc", "purge"),
    "client": ("hook", "statusline", "mcp", "completion"),
    "estop": ("estop", "release"),
    "history": ("history", "show", "diff", "restore"),
    "init": ("init", "uninstall", "trust"),
    "journal": ("journal", "admin"),
    "resume": ("resume", "go"),
}
# Verbs that run without click as long as their options are simple; see `plain_options`.
PLAIN = ("status", "verify", "demo", "agent beat")


def is_bare(arguments: list[str]) -> bool:
    """Whether no verb is named: the answer says where the user is."""
    return not arguments or arguments[0] in ("--json", "-C")
