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
# The verbs of a verb.
INNER_VERBS = {
    "agent": {
        "start": "Start an agent: write its first checkpoint and claim its feature.",
        "beat": "Send a heartbeat: what is done, what comes next, how to go on.",
        "block": "Report what keeps the agent from working.",
        "unblock": "Resolve a blocker, or all of them.",
        "phase": "Go on to the next stage.",
        "sync": "Wait for the other agents at a sync point.",
        "complete": "Report the feature as done.",
        "list": "List all agents: who is alive, what each does, and what to do next.",
        "watch": "Show the list live.",
        "check": "Scan all agents as the Primary: warn, escalate, suggest what to do.",
        "resume": "Go on as the same agent in a fresh session.",
        "takeover": "Let another agent go on where one stopped.",
        "restart": "Start an agent from scratch, as the last resort.",
        "defer": "Defer an agent's feature to Wave 2.",
        "absorb": "Give an agent's feature to the Primary.",
        "restore": "Bring the newest valid backup of a checkpoint back.",
        "handoff": "Print the text to paste into an agent's session.",
        "guide": "Print the checkpoint steps for the agents' guides.",
        "send": "Send a message to an agent.",
        "inbox": "Show an agent's messages.",
    },
    "loop": {
        "start": "Start a step, or continue it.",
        "progress": "Report how far a step is.",
        "task-done": "Report that a task is done.",
        "pass": "Report that a step passed.",
        "fail": "Report that a step failed.",
        "block": "Report that a step cannot continue.",
        "advance": "Go to the next step by the protocol's table.",
        "resume": "Print the next task and the command that runs it.",
        "run": "Run a track to its end, with a program for each step.",
        "show": "Show the steps of a track and what ran before.",
    },
    "gate": {
        "verify": "Ask a person to check what was built.",
        "decide": "Ask a person to choose between options.",
        "act": "Ask a person to do a step that no machine can do.",
        "list": "List the gates that wait for you.",
        "show": "Show one gate and its answer.",
        "wait": "Wait for the answer: exit 0 yes, 8 not yet, 9 no.",
        "answer": "Answer a gate at a terminal.",
        "withdraw": "Withdraw a question, as a person.",
        "lint": "Find requests in a text that a machine can do.",
    },
    "plan": {
        "new": "Write a plan to begin with.",
        "lint": "Check plan files for errors.",
        "graph": "Show the waves and dependencies, as text or for Mermaid.",
        "run": "Run plans.",
        "resume": "Continue a run exactly where it stopped.",
        "abandon": "Abandon a run, so that its plans can run again.",
        "show": "Show where a run is and why it waits.",
    },
    "guard": {
        "check": "Check whether work may go on: cost, context, variance, errors, time.",
        "report": "Show what a session has cost, by step.",
        "ack": "Answer an alert, as a person.",
        "reset": "Clear the acknowledgments; lift a stop, as a person.",
        "limits": "Show the limits in force and their sources.",
    },
    "rfc": {
        "init": "Begin an RFC: its folder, its files, its first phase.",
        "list": "List the open RFCs and what each waits for.",
        "prompt": "Print the questions at a phase boundary.",
        "write": "Write the answers into the checkpoint.",
        "transition": "Leave a phase; says whether to write and whether to restart.",
        "bootstrap": "After a restart: print everything that is needed to continue.",
        "show": "Show an RFC and its checkpoint.",
        "close": "End an RFC that will not be accepted, or open it again.",
        "lint": "Check a checkpoint that was written by hand, line by line.",
    },
}
NESTED = (*INNER_VERBS, "admin", "journal", "snapshot", "tracker")
# Modules that hold several verbs, each as `<verb>_command`. Any other verb is in the module of its name,
# and a verb of a verb in the outer one's.
MODULES = {
    "agent_beat": ("agent beat",),
    "agent_roster": ("agent list", "agent watch", "agent check"),
    "backup": ("backup", "export", "gc", "purge"),
    "client": ("hook", "statusline", "mcp", "completion"),
    "estop": ("estop", "release"),
    "gate_answers": ("gate list", "gate show", "gate wait", "gate answer"),
    "guard_report": ("guard report",),
    "history": ("history", "show", "diff", "restore", "conflicts"),
    "init": ("init", "uninstall", "trust"),
    "journal": ("journal", "admin"),
    "loop_track": ("loop show", "loop resume", "loop run"),
    "plan_run": ("plan run", "plan resume", "plan abandon", "takeoff", "cockpit"),
    "plan_show": ("plan show",),
    "resume": ("resume", "go"),
}
# Verbs that run without click as long as their options are simple; see `plain_options`.
PLAIN = ("status", "verify", "demo", "agent beat")


def is_bare(arguments: list[str]) -> bool:
    """Whether no verb is named: the answer says where the user is."""
    return not arguments or arguments[0] in ("--json", "-C")
