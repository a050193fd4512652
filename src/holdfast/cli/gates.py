"""What the verbs of `holdfast gate` share: the options of a question, its XML, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.terminal import safe, style
from holdfast.cli.text_input import text_from
from holdfast.gates.answer import attached
from holdfast.gates.ask import AskRequest, ask
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules.content import LIGHTS, PREFIX, render
from holdfast.gates.rules.gate_xml import AUTO, LARGEST, parse
from holdfast.kernel.errors import Usage

if TYPE_CHECKING:
    from holdfast.gates.ask import AskResult
    from holdfast.gates.rules.content import Content
    from holdfast.gates.rules.gate import GateState
    from holdfast.gates.rules.gate_xml import XmlTask


def context_of(call: Call) -> GateContext:
    return GateContext(call.workspace, call.actor, call.now)


def terms(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every gate, whatever it asks."""
    for option in reversed(
        (
            click.option(
                "--xml",
                "source",
                metavar="FILE",
                help="File with the task's XML; - reads standard input.",
            ),
            click.option(
                "--name",
                default="",
                metavar="NAME",
                help="Name for `gate wait NAME` and `{{gate.NAME}}`.",
            ),
            click.option(
                "--holds", default="", metavar="TEXT", help="Work that waits for the answer."
            ),
            click.option(
                "--batch",
                is_flag=True,
                help="Ask at the end of the phase, together with other gates.",
            ),
            click.option("--phase", default="", metavar="NAME", help="Phase of a --batch gate."),
            click.option(
                "--agent",
                default="",
                metavar="NAME",
                help="Name of the agent that asks. Default: the agent of this session.",
            ),
            click.option(
                "--context-tokens",
                type=click.IntRange(min=0),
                help="Tokens of context that a stop now costs. Default: what the client reports.",
            ),
            click.option(
                "--expires",
                metavar="TIME",
                help="Time after which --default is the answer: 90s, 30min, 2h or 1d.",
            ),
            click.option(
                "--default", default="", metavar="ANSWER", help="Answer when the gate expires."
            ),
            click.option(
                "--attach",
                multiple=True,
                metavar="FILE",
                help="Picture to show: PNG, JPEG, WebP or GIF. Repeatable.",
            ),
            click.option("--dry-run", is_flag=True, help="Check the question; ask nothing."),
        )
    ):
        function = option(function)
    return function


def task_from(source: str, type: str) -> XmlTask:
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
    request = AskRequest(
        content=content,
        expires=expires or "",
        cost_tokens=context_tokens,
        strict=strict,
        dry_run=dry_run,
        **terms,
    )
    done = ask(context_of(call), request)
    for warning in done["warnings"]:
        warn(warning)
    data = {**done["state"], "again": done["again"], "queued": done["queued"], "dry_run": dry_run}
    data["rendered"] = render(content)
    next = [] if dry_run else [f"holdfast gate wait {done['id']}"]
    lines = [*shown(content), "", *attached(done["state"])]
    return Reply(data, [*lines, *_said(done, dry_run=dry_run)], next=next)


def _said(done: AskResult, *, dry_run: bool) -> list[str]:
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
