"""Many agents: heartbeats, takeover, messages (FLEET). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "fleet",
    rank=60,
    streams=[
        StreamKind(
            "agent",
            "holdfast.fleet.rules.agent",
            of_one_life=True,
            is_fenced=True,
            found_by="holdfast.fleet.current_life",
            acts=("settle",),
        ),
        StreamKind("comms", "holdfast.fleet.rules.comms", word="messages"),
        StreamKind("feature", "holdfast.fleet.rules.feature"),
    ],
    settings={
        "fleet.inclusive": Setting(
            False,
            "Exactly 30 and 60 minutes of silence count already, as `stale_agent_protocol.md` reads them.",
        ),
        "fleet.epic": Setting(
            "",
            "The folder of the fleet's files; empty is the worktree's top.",
            guard="write the fleet's files into this folder, outside of the worktree",
        ),
    },
    variables={
        "HOLDFAST_AGENT_PID": "The process that an agent is, where it cannot be found out.",
        "HOLDFAST_FENCE": "Which life of an agent a script is, as --fence says it.",
    },
    effects=["epic_readme", "move"],
    hooks={
        "seen": "holdfast.fleet.hooks:see",
        "turn": "holdfast.fleet.hooks:see",
        "is_busy": "holdfast.fleet.hooks:has_agents",
    },
    offers={
        "agents_of_session": "holdfast.fleet.offers:list_agents",
        "steps_of_agent": "holdfast.fleet.offers:list_steps",
        "record_push": "holdfast.fleet.transfer:record_push",
    },
    words={"beat": "holdfast.fleet.hooks:beat"},
    describe="holdfast.fleet.text:WORDS",
    places="holdfast.fleet.files:PLACES",
    copies="holdfast.fleet.files:COPIES",
    attention="holdfast.fleet.attention:find",
    verbs=[
        Verb(
            "agent",
            "Run several agents: who is alive, and who takes over.",
            "Many agents",
            "holdfast.fleet.cli",
            inner={
                "start": "Start an agent: write its first checkpoint and claim its feature.",
                "beat": "Send a heartbeat: what is done, what comes next, how to go on.",
                "block": "Report what keeps the agent from working.",
                "unblock": "Resolve a blocker, or all of them.",
                "phase": "Go on to the next stage.",
                "sync": "Wait for the other agents at a sync point.",
                "complete": "Report the feature as done.",
                "list": "List all agents: who is alive, what each does, and what to do next.",
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
            modules={
                "beat": "holdfast.fleet.cli_beat",
                "list": "holdfast.fleet.cli_roster",
                "check": "holdfast.fleet.cli_roster",
            },
        )
    ],
    tools="holdfast.fleet.mcp:TOOLS",
    pages="holdfast.fleet.pages:PAGES",
    api={"agent": "holdfast.fleet.api:agent"},
)
