"""Tracks and their steps (LOOP). What the rest of the house may know of this feature."""

from holdfast.registry import Feature, Setting, StreamKind, Verb

FEATURE = Feature(
    "loop",
    rank=61,
    streams=[StreamKind("loop", "holdfast.loop.rules.loop", acts=("settle",), word="track")],
    settings={
        "loop.lock_seconds": Setting(
            30, "How long a command waits for a track's `.metadata.lock`."
        ),
        "loop.stale_lock_seconds": Setting(
            300,
            "A track's lock that another tool left behind is broken when it is older than this.",
        ),
    },
    describe="holdfast.loop.text:WORDS",
    places="holdfast.loop.files:PLACES",
    copies="holdfast.loop.files:COPIES",
    restore="holdfast.loop.track:prepare_restore",
    attention="holdfast.loop.attention:find",
    verbs=[
        Verb(
            "loop",
            "Take a track's steps: plan, execute, evaluate, fix.",
            "Many agents",
            "holdfast.loop.cli",
            help="Take a track's steps: plan, execute, evaluate, fix. A step that stopped continues at the exact task.",
            inner={
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
            modules={
                "resume": "holdfast.loop.cli_track",
                "run": "holdfast.loop.cli_track",
                "show": "holdfast.loop.cli_track",
            },
        )
    ],
    tools="holdfast.loop.mcp:TOOLS",
    pages="holdfast.loop.pages:PAGES",
    api={"loop": "holdfast.loop.api:loop"},
)
