"""holdfast estop, release"""

from __future__ import annotations

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, verb
from holdfast.cli.terminal import safe, style
from holdfast.estop.operations import DEFAULT_REASON, release, stop


@click.command()
@click.argument("words", type=TEXT_OR_EMPTY, nargs=-1, metavar="[REASON]...")
@click.option(
    "--reason",
    type=TEXT_OR_EMPTY,
    default="",
    metavar="TEXT",
    help=f"The same as REASON.  [default: {DEFAULT_REASON}]",
)
@verb
def estop_command(call: Call, words: tuple[str, ...], reason: str) -> Reply:
    """Stop every agent of the workspace: each heartbeat and each hook answers "stop now, checkpoint".

    The agents and the next person read the REASON. The stop holds without the journal, until `holdfast release`. No running program is killed, except
    those of `loop run` and `plan run`.
    """
    held = stop(call.workspace, _join_reason(words, reason), by=call.actor, now=call.now)
    if held["warning"]:
        warn(held["warning"])
    data = {
        "stopped": True,
        "reason": held["reason"],
        "by": call.actor,
        "recorded": held["recorded"],
    }
    line = f"{style('Stopped', 'red', bold=True)}: {safe(held['reason'])}"
    return Reply(data, [line], next=["holdfast release"])


@click.command()
@click.argument("words", type=TEXT_OR_EMPTY, nargs=-1, metavar="[REASON]...")
@click.option(
    "--reason", type=TEXT_OR_EMPTY, default="", metavar="TEXT", help="The same as REASON."
)
@verb
def release_command(call: Call, words: tuple[str, ...], reason: str) -> Reply:
    """Lift the emergency stop, so that the agents go on.

    The REASON says why they may. Only a person at a terminal can: holdfast shows a word there, and the person types it. An agent gets
    exit code 4, and holdfast records the attempt.
    """
    lifted = release(call.workspace, _join_reason(words, reason), by=call.actor, now=call.now)
    line = "Released: the agents may go on." if lifted else "There was no stop."
    return Reply({"released": lifted}, [line])


def _join_reason(words: tuple[str, ...], reason: str) -> str:
    """In an emergency a person types the reason as it comes, with or without quotes and `--reason`."""
    return " ".join(filter(None, (reason, *words)))
