"""The agents' clients: set-up and removal. What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, Verb

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
        Verb(
            "init",
            "Let your clients call Holdfast by themselves.",
            "Look after",
            "holdfast.cli.verbs.init",
        ),
        Verb(
            "uninstall",
            "Take holdfast out of the clients' settings.",
            "Clients and shells",
            "holdfast.cli.verbs.init",
        ),
        Verb(
            "mcp",
            "Serve MCP on standard input and output.",
            "Clients and shells",
            "holdfast.cli.verbs.client",
        ),
        Verb(
            "hook",
            "Answer a client's hook.",
            "Clients and shells",
            "holdfast.cli.verbs.client",
        ),
        Verb(
            "statusline",
            "Print one line for Claude Code's status line.",
            "Clients and shells",
            "holdfast.cli.verbs.client",
        ),
        Verb(
            "completion",
            "Print the completion script for your shell.",
            "Clients and shells",
            "holdfast.cli.verbs.client",
        ),
    ],
)
