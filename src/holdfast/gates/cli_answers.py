"""holdfast gate list, show, wait, answer: what waits, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

import click

from holdfast import registry
from holdfast.cli.frame import Call, Reply
from holdfast.cli.parser import flag, text_option, verb
from holdfast.cli.terminal import ago, echo, one_line, safe, style, table
from holdfast.gates import lookup
from holdfast.gates.answer import AnswerRequest, answer, facts, list_attached, refused_attempts
from holdfast.gates.cli import content_lines, context_of, light
from holdfast.gates.pictures import path_of
from holdfast.gates.rules import gate as rules
from holdfast.gates.rules.content import ACTION, EXPECTED, distribution, render
from holdfast.gates.rules.gate import GateState
from holdfast.gates.rules.gate_xml import write
from holdfast.gates.wait import conclude, list_gates, present, wait
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.text import plural, quote

if TYPE_CHECKING:
    from holdfast.people.rules.people import Refused


PATIENCE = 60.0


@click.command()
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Include answered and withdrawn gates, and how often each kind was asked.",
)
@verb
def list_command(call: Call, everything: bool) -> Reply:
    """List the gates that wait for you, the longest waiting first, and those collected for a phase."""
    found = list_gates(context_of(call))
    waiting = [state for state in found if state["presented_at"]]
    collected = [state for state in found if not state["presented_at"]]
    others = [one for find in registry.offers("inbox") for one in find(call.workspace, call.now)]
    data: dict[str, object] = {"waiting": waiting, "collected": collected, "clients": others}
    title = f"Waiting for you: {plural(len(waiting), 'gate')}"
    lines = [*_section(title, [_row(state, call.now) for state in waiting], "yellow")]
    title = f"Clients that ask you: {plural(len(others), 'question')}"
    lines += _section(title, [_client_row(one, call.now) for one in others], "yellow")
    for phase in sorted({state["phase"] for state in collected}):
        rows = [_row(state, call.now) for state in collected if state["phase"] == phase]
        end = f"phase {safe(phase)}" if phase else "the phase"
        lines += _section(f"Collected for the end of {end}", rows)
    if everything:
        known = list(lookup.every_gate(call.workspace))
        answered = [state for state in known if not rules.is_open(state)]
        answered.sort(key=lookup.asked_at, reverse=True)
        shares = distribution(Counter(state["content"]["type"] for state in known))
        data.update(answered=answered, distribution=shares)
        lines += _section("Answered", list(_answered_rows(answered, call.now)))
        lines += _shares(shares, len(known))
    ids = [*(state["id"] for state in waiting), *(one["id"] for one in others)]
    next = [f"holdfast gate answer {quote(ids[0])}"] if ids else []
    return Reply(data, lines or ["No gate waits for you."], next=next)


def _section(title: str, rows: list[list[str]], colour: str | None = None) -> Iterator[str]:
    """Yield a title and its rows; nothing without rows."""
    if rows:
        yield style(title, colour, bold=True)
        yield from table(rows, indent="  ")


def _client_row(one: dict[str, str], now: int) -> list[str]:
    title, by = one_line(one["title"], 60), style(safe(one["by"]), dim=True)
    return [style(one["id"], "yellow"), title, ago(one["at"], now), by]


def _row(state: GateState, now: int) -> list[str]:
    asked = state["asked"]
    holds = state["holds"] or asked["agent"]
    why = f"holds up {one_line(holds, 40)}" if holds else f"asked by {one_line(asked['by'], 40)}"
    return [
        style(state["id"], "yellow"),
        light(state),
        one_line(state["content"]["title"], 44),
        ago(asked["at"], now),
        style(why, dim=True),
    ]


def _answered_rows(states: list[GateState], now: int) -> Iterator[list[str]]:
    for state in states:
        answer, withdrawn = state["answer"], rules.withdrawn_of(state)
        if answer is not None:
            at, who = answer["at"], answer["person"]["name"] if answer["person"] else "expired"
            said = rules.describe(answer)
        elif withdrawn is not None:
            at, who, said = withdrawn["at"], withdrawn["by"], f"withdrawn: {withdrawn['why']}"
        else:
            continue
        title = one_line(state["content"]["title"], 44)
        what = f"{safe(who)}: {one_line(said, 40)}"
        yield [state["id"], light(state), title, ago(at, now), what]


def _shares(shares: dict[str, float], total: int) -> Iterator[str]:
    rows = [
        [type, f"{share:.0f} %", style(f"{EXPECTED[type]} % expected", dim=True)]
        for type, share in shares.items()
        if total
    ]
    yield from _section(f"Asked so far, of {plural(total, 'gate')}", rows)
    if shares[ACTION] > EXPECTED[ACTION]:
        yield style("More manual steps than expected: is everything else automated?", "yellow")


@click.command()
@click.argument("id")
@click.option("--xml", "as_xml", is_flag=True, help="Print only the task, in the protocol's XML.")
@verb
def show_command(call: Call, id: str, as_xml: bool) -> Reply:
    """Show what gate ID asks, as the protocol shows it, and its answer: who gave it, when and where."""
    try:
        state = lookup.read_now(call.workspace, lookup.find_gate(call.workspace, id), now=call.now)
    except NotFound:
        if reply := _ask_others("inbox_item", call.workspace, id, call.now):
            return reply
        raise
    content = state["content"]
    refused = refused_attempts(call.workspace, state["id"])
    known = rules.pictures_of(state)
    paths = [path_of(call.workspace, state, one) for one in known]
    pictures = [{**one, "path": path} for one, path in zip(known, paths, strict=True)]
    data = {**state, "pictures": pictures, "rendered": render(content), "refused": refused}
    if as_xml:
        return Reply({**data, "xml": write(content)}, write(content).split("\n"))
    lines = [*content_lines(content), "", *_fact_lines(state, paths, refused, call.now)]
    next = [] if rules.is_over(state) else [f"holdfast gate answer {quote(state['id'])}"]
    return Reply(data, lines, next=next)


def _ask_others(question: str, *given: Any) -> Reply | None:
    """Return what another feature says of an id that is no gate's."""
    for find in registry.offers(question):
        if (found := find(*given)) is not None:
            return Reply(found[0], [safe(line) for line in found[1]])
    return None


def _fact_lines(
    state: GateState, paths: list[str], refused: list[Refused], now: int
) -> Iterator[str]:
    for line in facts(state, now):
        yield style(line, dim=True)
    for line, path in zip(list_attached(state), paths, strict=True):
        yield style(line, dim=True)
        yield style(f"  {safe(path) or 'not on this machine any more, or never was'}", dim=True)
    answer = state["answer"]
    if answer is not None:
        person = answer["person"]
        what = rules.describe(answer)
        if answer["verdict"] == "yes" and answer["text"]:
            what += f" ({answer['text']})"
        who = f"by {person['name']}" if person else "by its expiry"
        who += f" at {person['terminal']}" if person and person["terminal"] else ""
        colour = "green" if answer["verdict"] == "yes" else "red"
        yield f"{style('Answered ' + safe(who), colour, bold=True)}, {answer['at']}: {safe(what)}"
    if "uncounted" in state:
        yield style(f"An answer {state['uncounted_why']} does not count.", "red")
    known = rules.withdrawn_of(state)
    if known is not None:
        who = style(f"Withdrawn by {safe(known['by'])}", "yellow", bold=True)
        yield f"{who}, {known['at']}: {safe(known['why'])}"
    for attempt in refused:
        yield style(f"Refused at {attempt['at']}: {safe(attempt['why'])}", "yellow")


@click.command()
@click.argument("id", required=False, default="")
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait; 0 looks once.",
)
@flag("--batch", help="Ask all gates that were collected for the phase, and wait for all.")
@text_option("--phase", "NAME", "Phase of the --batch gates.")
@verb
def wait_command(call: Call, id: str, seconds: float, batch: bool, phase: str) -> Reply:
    """Wait for the answer to gate ID. ID is an id, a name, or a unique beginning of one.

    Exit codes: 0 approved, done, or an option chosen; 8 no answer yet; 9 declined; 5 withdrawn; 7 a stop
    holds. The gate stays open after this command ends; wait again at any time.
    """
    if isnan(seconds):
        raise Usage("nan is no time to wait.")
    if batch == bool(id) or (phase and not batch):
        raise Usage("Wait for a gate, or with --batch for those of a phase.")
    if batch:
        ids = present(context_of(call), phase)
        _show_together(call, ids)
    else:
        ids = [lookup.find_gate(call.workspace, id)]
    states = wait(call.workspace, ids, seconds=seconds)
    conclude(states)
    return Reply({"gates": states}, [line for state in states for line in _lines(state)])


def _show_together(call: Call, ids: list[str]) -> None:
    if call.as_json:
        return
    for id in ids:
        state = lookup.read(call.workspace, id)
        if rules.is_open(state):
            for line in [*content_lines(state["content"]), "", f"Gate {id}", ""]:
                echo(line, error=True)


def _lines(state: GateState) -> list[str]:
    answer = state["answer"]
    if answer is None:
        return []
    who = answer["person"]["name"] if answer["person"] else "its expiry, no person answered"
    return [f"{style(safe(answer['answer']), 'green', bold=True)}  {state['id']}, by {safe(who)}"]


@click.command()
@click.argument("id")
@click.argument("text", required=False, metavar="[ANSWER]")
@click.option("--no", "refusal", metavar="WHY", help="Decline, and say why.")
@verb
def answer_command(call: Call, id: str, text: str | None, refusal: str | None) -> Reply:
    """Answer gate ID with "approved", the id of an option, "done", or what is wrong.

    Only a person at a terminal can answer: holdfast shows a word there, and the person types it. An agent
    gets exit code 4, and holdfast records the attempt. Without ANSWER, holdfast asks for it.
    """
    if refusal is not None and text is not None:
        raise Usage("An answer, or --no and why.")
    said = text if refusal is None else refusal
    request = AnswerRequest(gate=id, text=said, no=refusal is not None)
    try:
        state = answer(context_of(call), request)
    except NotFound:
        if reply := _ask_others("inbox_reply", call.workspace, id, text, refusal, call.now):
            return reply
        raise
    given = state["answer"]
    assert given is not None
    line = f"Answered {state['id']}: {safe(rules.describe(given))}"
    offers = registry.offers("command_after_gate")
    waiting = [find_command(call.workspace, state["id"]) for find_command in offers]
    others = ["holdfast gate list"] if lookup.open_gates(call.workspace, but=state["id"]) else []
    return Reply({**state}, [line], next=[*filter(None, waiting)] or others)
