"""holdfast gate verify, decide, act, withdraw, lint: the side of the agent that asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import TEXT_OR_EMPTY, flag, text_option, together, verb
from holdfast.cli.terminal import safe, style, text_from
from holdfast.gates.answer import list_attached
from holdfast.gates.ask import AskRequest, AskResult, ask, withdraw
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.content import LIGHTS, PREFIX, Content, render
from holdfast.gates.rules.gate import GateState, withdrawn_of
from holdfast.gates.rules.gate_xml import AUTO, LARGEST, XmlTask, content_of, parse
from holdfast.gates.rules.lint import GateFinding, lint
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import plural, quote

VERIFY_EXAMPLE = (
    'holdfast gate verify --built "User Dashboard" --how "Page loads" --url http://localhost:3000'
)
DECIDE_EXAMPLE = (
    'holdfast gate decide "Select a store" --context "Why it matters" '
    '--option pg PostgreSQL "Teams run it" "One more server" '
    '--option lite SQLite "One file" "One machine"'
)
ACT_EXAMPLE = (
    'holdfast gate act "Complete email verification" --cause email --why "The link is in your inbox" '
    '--step "Open the mail" --step "Click the link" '
    "--cli no --api no --file no --server no --data no --script no"
)


def context_of(call: Call) -> GateContext:
    return GateContext(call.workspace, call.actor, call.now)


# The options of every gate, whatever it asks.
gate_options = together(
    click.option(
        "--xml", "source", metavar="FILE", help="File with the task's XML; - reads standard input."
    ),
    text_option("--name", "NAME", "Name for `gate wait NAME` and `{{gate.NAME}}`."),
    flag("--once", help="Ask once for good: the same question keeps its first answer."),
    text_option("--holds", "TEXT", "Work that waits for the answer."),
    flag("--batch", help="Ask at the end of the phase, together with other gates."),
    text_option("--phase", "NAME", "Phase of a --batch gate."),
    text_option(
        "--agent", "NAME", "Name of the agent that asks.  [default: the agent of this session]"
    ),
    text_option(
        "--expires", "TIME", "Time after which --default is the answer: 90s, 30min, 2h or 1d."
    ),
    text_option("--default", "ANSWER", "Answer when the gate expires."),
    click.option(
        "--attach",
        multiple=True,
        metavar="FILE",
        help="Picture to show: PNG, JPEG, WebP or GIF; repeatable.",
    ),
    flag("--dry-run", help="Check the question; ask nothing."),
)


def task_from(source: str, type: str) -> XmlTask:
    """The one checkpoint of a type in a file, or on standard input for `-`."""
    tasks = [task for task in parse(text_of(source)) if task["type"] != AUTO]
    wrong = [task["type"] for task in tasks if task["type"] != type]
    if wrong:
        verb = {"human-verify": "verify", "decision": "decide", "human-action": "act"}[wrong[0]]
        raise Usage(f"This is a {PREFIX}{wrong[0]}.", hint=f"holdfast gate {verb} --xml -")
    if len(tasks) != 1:
        many = f"There are {len(tasks)} checkpoints of the type {PREFIX}{type}"
        raise Usage(f"{many}; one is needed.")
    return tasks[0]


def text_of(source: str) -> str:
    return text_from(source, largest=LARGEST, example="holdfast gate lint < FILE")


def refuse_both(source: str | None, given: dict[str, Any]) -> None:
    """The question comes from XML or from options, not from both."""
    named = [option for option, value in given.items() if value]
    if source is not None and named:
        raise Usage(f"{', '.join(named)} and --xml say the same thing.", hint="Give one of them.")


def require(value: str, option: str, *, example: str) -> None:
    if not value.strip():
        raise Usage(f"{option} is missing.", hint=example)


def open_gate(
    call: Call,
    content: Content,
    **terms: Any,
) -> Reply:
    """Ask, and say what was asked."""
    dry_run = terms["dry_run"]
    done = ask(context_of(call), AskRequest(content=content, **terms))
    warn(*done["warnings"])
    data = {**done["state"], "again": done["again"], "queued": done["queued"], "dry_run": dry_run}
    data["rendered"] = render(content)
    next = [] if dry_run else [f"holdfast gate wait {quote(done['id'])}"]
    lines = [*content_lines(content), "", *list_attached(done["state"])]
    return Reply(data, [*lines, *_outcome_lines(done, dry_run=dry_run)], next=next)


def _outcome_lines(done: AskResult, *, dry_run: bool) -> list[str]:
    id = done["id"]
    if done["queued"]:
        return [f"Queued in .holdfast/inbox as {id}: the journal cannot be written from here."]
    if dry_run:
        return [f"It would be gate {id}; nothing was asked."]
    if done["state"]["answer"]:
        return [f"Gate {style(id, bold=True)} was answered meanwhile: read it with gate wait."]
    if done["again"]:
        return [f"Gate {style(id, bold=True)} was open already; nothing changed."]
    if done["state"]["batch"]:
        phase = done["state"]["phase"]
        end = f"of phase {safe(phase)}" if phase else "of the phase"
        return [f"Gate {style(id, bold=True)} is collected for the end {end}."]
    return [f"Gate {style(id, bold=True)} waits for a person."]


def content_lines(content: Content) -> list[str]:
    """A gate as the protocol shows it; its own words stand out on a terminal."""
    lines = render(content).split("\n")
    colour = {"human-verify": "green", "decision": "yellow", "human-action": "red"}[content["type"]]
    marked = [style(lines[0], colour, bold=True)]
    return marked + [style(line, bold=True) if line.startswith("#") else line for line in lines[1:]]


def light(state: GateState) -> str:
    return LIGHTS[state["content"]["type"]]


@click.command()
@click.option("--built", type=TEXT_OR_EMPTY, default="", metavar="TEXT", help="What was built.")
@click.option(
    "--how",
    type=TEXT_OR_EMPTY,
    multiple=True,
    metavar="TEXT",
    help="One thing to check; repeatable.",
)
@click.option(
    "--url", default="", help="Address to open.  [default: the first address in the texts]"
)
@click.option(
    "--purpose", type=click.Choice(contents.VERIFY_PURPOSES), help="Subject of the check."
)
@gate_options
@verb
def verify_command(
    call: Call,
    built: str,
    how: tuple[str, ...],
    url: str,
    purpose: str | None,
    source: str | None,
    **terms: Any,
) -> Reply:
    """Ask a person to check that something works.

    Start and prepare everything first: the person only looks, and answers "approved" or describes what
    is wrong.
    """
    refuse_both(source, {"--built": built, "--how": how})
    if source is not None:
        content = content_of(task_from(source, contents.VERIFY), url=url, purpose=purpose or "")
    else:
        require(built, "--built", example=VERIFY_EXAMPLE)
        require(" ".join(how), "--how", example=VERIFY_EXAMPLE)
        content = contents.verify(built, how, url=url, purpose=purpose or "")
    return open_gate(call, content, strict=source is None, **terms)


@click.command()
@click.argument("decision", type=TEXT_OR_EMPTY, required=False, default="")
@click.option(
    "--context", type=TEXT_OR_EMPTY, default="", metavar="TEXT", help="Why the decision matters."
)
@click.option(
    "--option",
    "options",
    nargs=4,
    multiple=True,
    metavar="ID NAME PROS CONS",
    help="One option with its advantages and disadvantages; repeatable.",
)
@click.option(
    "--purpose", type=click.Choice(contents.DECISION_PURPOSES), help="Subject of the decision."
)
@flag("--strict", help="Refuse XML in the short form, which has no pros and cons.")
@gate_options
@verb
def decide_command(
    call: Call,
    decision: str,
    context: str,
    options: tuple[tuple[str, str, str, str], ...],
    purpose: str | None,
    strict: bool,
    source: str | None,
    **terms: Any,
) -> Reply:
    """Ask a person to choose between options.

    Each option is a valid answer and has pros and cons; none is recommended. The answer is the id of an
    option.
    """
    refuse_both(source, {"DECISION": decision, "--context": context, "--option": options})
    if source is not None:
        content = content_of(task_from(source, contents.DECISION), purpose=purpose or "")
        return open_gate(call, content, strict=strict, **terms)
    require(decision, "DECISION", example=DECIDE_EXAMPLE)
    content = contents.decision(
        decision,
        [{"id": id, "name": name, "pros": pros, "cons": cons} for id, name, pros, cons in options],
        context=context,
        purpose=purpose or "",
    )
    return open_gate(call, content, strict=True, **terms)


# The automation-first checklist, one option each.
checklist_options = together(
    *(
        click.option(f"--{key}", type=click.Choice(["yes", "no"]), help=question)
        for key, question in contents.QUESTIONS.items()
    )
)


@click.command()
@click.argument("action", type=TEXT_OR_EMPTY, required=False, default="")
@click.option(
    "--why", type=TEXT_OR_EMPTY, default="", metavar="TEXT", help="Why a machine cannot do it."
)
@click.option("--step", "steps", multiple=True, metavar="TEXT", help="One instruction; repeatable.")
@click.option(
    "--cause",
    default="",
    metavar="CAUSE",
    help=f"One of {', '.join(contents.CAUSES)}.  [default: found in the texts]",
)
@checklist_options
@gate_options
@verb
def act_command(
    call: Call,
    action: str,
    why: str,
    steps: tuple[str, ...],
    cause: str,
    source: str | None,
    **terms: Any,
) -> Reply:
    """Ask a person to do ACTION, a manual step that no machine can do.

    Answer the six questions --cli to --script; each answer must be "no". Holdfast accepts five causes.
    """
    given = {key: terms.pop(key) for key in contents.QUESTIONS}
    checklist = {key: answer == "yes" for key, answer in given.items() if answer is not None}
    refuse_both(source, {"ACTION": action, "--why": why, "--step": steps})
    if source is not None:
        task = task_from(source, contents.ACTION)
        content = content_of(task, cause=cause, checklist=checklist)
    else:
        require(action, "ACTION", example=ACT_EXAMPLE)
        content = contents.action(action, steps, why=why, cause=cause, checklist=checklist)
    return open_gate(call, content, strict=source is None, **terms)


@click.command()
@click.argument("id")
@click.option(
    "--reason", required=True, metavar="WHY", help="Why you withdraw it. `gate show` prints this."
)
@verb
def withdraw_command(call: Call, id: str, reason: str) -> Reply:
    """Withdraw gate ID. It then has no answer and approves nothing.

    Only a person at a terminal can withdraw it. The same question, asked again, is a new gate.
    """
    state = withdraw(context_of(call), id, reason)
    known = withdrawn_of(state)
    assert known is not None
    line = f"Withdrew {state['id']}: {safe(known['why'])}"
    return Reply({**state}, [line], next=["holdfast gate list"])


@click.command()
@click.argument("file", default="-")
@flag("--strict", help="Treat the short form of a decision as an error.")
@verb
def lint_command(call: Call, file: str, strict: bool) -> Reply:
    """Check the text of FILE, or the tasks in it, for work that a machine can do.

    Finds requests to run a command, start a server, create a file or data, or set up a database, and
    open questions without options. Says what to do instead. Without FILE, reads standard input. Exits
    with 1 when there is an error.
    """
    found = lint(text_of(file), strict=strict)
    errors = [one for one in found if one["level"] == "error"]
    data = {"findings": found, "errors": len(errors), "warnings": len(found) - len(errors)}
    return Reply(data, _lines(found, len(errors)), exit_code=1 if errors else 0)


def _lines(found: list[GateFinding], errors: int) -> Iterator[str]:
    for one in found:
        colour = "red" if one["level"] == "error" else "yellow"
        head = style(f"{one['line']}: {one['level']}:", colour, bold=True)
        yield f"{head} {safe(one['what'])}"
        if one["instead"]:
            yield f"   {style('instead:', 'cyan')} {safe(one['instead'])}"
    if not found:
        yield style("Nothing that a machine could do is asked of a person.", "green")
    else:
        yield f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}."
