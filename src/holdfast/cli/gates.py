"""What the verbs of `holdfast gate` share: the words around a gate, its XML, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.source import text_from
from holdfast.cli.terminal import safe, style
from holdfast.gates.answer import attached
from holdfast.gates.ask import ask, expiry
from holdfast.gates.rules.content import PREFIX
from holdfast.gates.rules.gate_text import LIGHTS, render
from holdfast.gates.rules.gate_xml import AUTO, LARGEST, parse
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.gates.ask import Opened
    from holdfast.gates.rules.content import Content
    from holdfast.gates.rules.gate import GateState
    from holdfast.gates.rules.gate_xml import Task


def terms(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every gate, whatever it asks."""
    for option in reversed(
        (
            click.option(
                "--xml", "source", metavar="FILE", help="Read the task's XML; - is stdin."
            ),
            click.option("--name", default="", help="A name to wait for it and read it by."),
            click.option(
                "--holds", default="", metavar="TEXT", help="What cannot go on without it."
            ),
            click.option("--batch", is_flag=True, help="Collect it for the end of the phase."),
            click.option(
                "--phase", default="", metavar="NAME", help="The phase of a --batch gate."
            ),
            click.option("--agent", default="", metavar="NAME", help="Which agent asks."),
            click.option(
                "--context-tokens",
                type=click.IntRange(min=0),
                help="What a stop now costs; found out where the client says it.",
            ),
            click.option(
                "--expires", metavar="TIME", help="Such as 30min, 2h, 1d; with --default."
            ),
            click.option(
                "--default", default="", metavar="ANSWER", help="What silence means then."
            ),
            click.option(
                "--attach",
                multiple=True,
                metavar="FILE",
                help="A picture to look at: PNG, JPEG, WebP or GIF; give it for each.",
            ),
            click.option("--dry-run", is_flag=True, help="Only say whether it would be a gate."),
        )
    ):
        function = option(function)
    return function


def task_from(source: str, type: str) -> Task:
    """The one checkpoint of a type in a file, or on standard input for `-`."""
    tasks = [task for task in parse(text_of(source)) if task["type"] != AUTO]
    wrong = [task["type"] for task in tasks if task["type"] != type]
    if wrong:
        verb = {"human-verify": "verify", "decision": "decide", "human-action": "act"}[wrong[0]]
        raise Usage(f"This is a {PREFIX}{wrong[0]}.", hint=f"holdfast gate {verb} --xml -")
    if len(tasks) != 1:
        raise Usage(
            f"There are {len(tasks)} checkpoints of the type {PREFIX}{type}; one is needed."
        )
    return tasks[0]


def text_of(source: str) -> str:
    return text_from(source, largest=LARGEST, example="holdfast gate lint < FILE")


def refuse_both(source: str | None, given: dict[str, Any]) -> None:
    """The question comes from XML or from options, not from both."""
    named = [flag for flag, value in given.items() if value]
    if source is not None and named:
        raise Usage(f"{', '.join(named)} and --xml say the same thing.", hint="Give one of them.")


def need(value: str, flag: str, *, example: str) -> str:
    if not value.strip():
        raise Usage(f"{flag} is missing.", hint=example)
    return value


def opened(
    call: Call,
    content: Content,
    *,
    strict: bool,
    expires: str | None,
    context_tokens: int | None,
    dry_run: bool,
    **terms: Any,
) -> Reply:
    """Ask, and say what was asked."""
    done = ask(
        call.workspace,
        content,
        actor=call.actor,
        now=call.now,
        expires_at=expiry(expires or "", call.now),
        cost_tokens=context_tokens,
        strict=strict,
        dry_run=dry_run,
        **terms,
    )
    for warning in done["warnings"]:
        warn(warning)
    data = {**done["state"], "again": done["again"], "queued": done["queued"], "dry_run": dry_run}
    data["rendered"] = render(content)
    next = [] if dry_run else [f"holdfast gate wait {done['id']}"]
    lines = [*shown(content), "", *attached(done["state"])]
    return Reply(data, [*lines, *_said(done, dry_run=dry_run)], next=next)


def _said(done: Opened, *, dry_run: bool) -> list[str]:
    id = done["id"]
    if done["queued"]:
        return [f"Queued in .holdfast/inbox as {id}: the journal cannot be written from here."]
    if dry_run:
        return [f"It would be gate {id}; nothing was asked."]
    if done["again"]:
        return [f"Gate {style(id, bold=True)} was open already; nothing changed."]
    if done["state"]["batch"]:
        phase = done["state"]["phase"]
        end = f"of phase {safe(phase)}" if phase else "of the phase"
        return [f"Gate {style(id, bold=True)} is collected for the end {end}."]
    return [f"Gate {style(id, bold=True)} waits for a person."]


def shown(content: Content) -> list[str]:
    """A gate as the protocol shows it; its own words stand out on a terminal."""
    lines = render(content).split("\n")
    colour = {"human-verify": "green", "decision": "yellow", "human-action": "red"}[content["type"]]
    marked = [style(lines[0], colour, bold=True)]
    return marked + [style(line, bold=True) if line.startswith("#") else line for line in lines[1:]]


def light(state: GateState) -> str:
    return LIGHTS[state["content"]["type"]] if state["content"] else " "
