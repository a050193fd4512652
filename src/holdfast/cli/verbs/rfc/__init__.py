"""holdfast rfc"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

VERBS = {
    "init": "Begin an RFC: its folder, its files, its first phase.",
    "list": "List the open RFCs and what each waits for.",
    "prompt": "Print the questions at a phase boundary.",
    "write": "Write the answers into the checkpoint.",
    "transition": "Leave a phase; says whether to write and whether to restart.",
    "bootstrap": "After a restart: print everything that is needed to continue.",
    "show": "Show an RFC and its checkpoint.",
    "close": "End an RFC that will not be accepted, or open it again.",
    "lint": "Check a checkpoint that was written by hand, line by line.",
}

command = Verbs(
    "holdfast.cli.verbs.rfc",
    VERBS,
    modules={
        "checkpoint": ("prompt", "write", "transition", "bootstrap"),
        "files": ("init", "close", "list", "show", "lint"),
    },
    name="rfc",
    help="Keep the reasoning behind an RFC across phases, within 200 lines.",
)
