"""holdfast loop"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

command = Verbs(
    "holdfast.cli.verbs.loop",
    {
        "start": "Begin a step, or go on with it.",
        "progress": "How far a step is.",
        "task-done": "A task is accepted.",
        "pass": "A step is done.",
        "fail": "A step failed, and why.",
        "block": "A step cannot go on, and why.",
        "advance": "Go to the next step by the protocol's table.",
        "resume": "What to run next, with the ready command.",
        "run": "Drive a track to its end with a program for each step.",
        "show": "Where a track is, how far, and what ran before.",
    },
    name="loop",
    help="A track's steps: plan, execute, evaluate, fix; resumed at the exact task.",
)
