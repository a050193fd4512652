"""holdfast gate decide"""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import need, opened, refuse_both, task_from, terms
from holdfast.cli.parser import verb
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.gate_xml import content_of

EXAMPLE = (
    'holdfast gate decide "Select a store" --context "Why it matters" '
    '--option pg PostgreSQL "Teams run it" "One more server" '
    '--option lite SQLite "One file" "One machine"'
)


@click.command()
@click.argument("decision", required=False, default="")
@click.option("--context", default="", metavar="TEXT", help="Why the decision matters.")
@click.option(
    "--option",
    "options",
    nargs=4,
    multiple=True,
    metavar="ID NAME PROS CONS",
    help="One option with its advantages and disadvantages. Repeatable.",
)
@click.option(
    "--purpose", type=click.Choice(contents.DECISION_PURPOSES), help="Subject of the decision."
)
@click.option(
    "--strict", is_flag=True, help="Refuse XML in the short form, which has no pros and cons."
)
@terms
@verb
def command(
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
        return opened(call, content, strict=strict, **terms)
    need(decision, "DECISION", example=EXAMPLE)
    content = contents.decision(
        decision,
        [{"id": id, "name": name, "pros": pros, "cons": cons} for id, name, pros, cons in options],
        context=context,
        purpose=purpose or "",
    )
    return opened(call, content, strict=True, **terms)
