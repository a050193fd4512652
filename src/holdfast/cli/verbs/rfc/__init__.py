"""holdfast rfc"""

from __future__ import annotations

from holdfast.cli.parser import Verbs

VERBS = {
    "init": "Begin an RFC: its folder, its files, its first phase.",
    "list": "The open RFCs, and what each waits for.",
    "prompt": "The questions at a boundary, for the agent to answer.",
    "write": "Take the answers into the checkpoint, within its budget.",
    "transition": "Leave a phase: whether to write, whether to restart.",
    "bootstrap": "After a restart: everything to go on from, in one text.",
    "show": "An RFC's checkpoint, for people.",
    "lint": "What is wrong with a checkpoint written by hand, by line.",
}

command = Verbs(
    "holdfast.cli.verbs.rfc",
    VERBS,
    name="rfc",
    help="The reasoning behind an RFC, kept across phases within 200 lines.",
)
