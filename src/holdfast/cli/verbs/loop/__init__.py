"""holdfast loop"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.loop",
    {
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
        "steps": ("start", "progress", "task-done", "pass", "fail", "block", "advance"),
        "track": ("show", "resume", "run"),
    },
    name="loop",
    help="Take a track's steps: plan, execute, evaluate, fix. A step that stopped continues at the exact task.",
)
