"""The agents' clients: set-up and removal. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

# By the module and the group in `--help`.
VERBS = {
    ("init", "Look after"): {"init": "Let your clients call Holdfast by themselves."},
    ("init", "Clients and shells"): {"uninstall": "Take holdfast out of the clients' settings."},
    ("client", "Clients and shells"): {
        "mcp": "Serve MCP on standard input and output.",
        "hook": "Answer a client's hook.",
        "statusline": "Print one line for Claude Code's status line.",
        "completion": "Print the completion script for your shell.",
    },
}

FEATURE = Feature(
    "clients",
    rank=30,
    places="holdfast.clients.places:PLACES",
    attention="holdfast.clients.condition:find_unreviewed",
    settings={
        "claude.compaction": Setting(
            "assist",
            "What the plugin does when Claude Code compacts: `assist` gives the pack to the client's own summary, `instant` replaces the conversation by the pack and its last messages without a request to the model, `off` does nothing.",
        ),
        "claude.compaction_tokens": Setting(
            8000,
            "About how many tokens of the last messages an `instant` compaction keeps word for word.",
        ),
    },
    verbs=[
        Verb(name, line, group, f"holdfast.cli.verbs.{module}")
        for (module, group), lines in VERBS.items()
        for name, line in lines.items()
    ],
)
