"""holdfast gate list"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.frame import Call, Reply
from holdfast.cli.gates import context_of, light
from holdfast.cli.parser import verb
from holdfast.cli.terminal import ago, one_line, plural, safe, style, table
from holdfast.gates import lookup
from holdfast.gates.rules.content import ACTION, EXPECTED, distribution
from holdfast.gates.rules.gate import is_open, withdrawn_of
from holdfast.gates.wait import list_gates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.gates.rules.gate import GateState


@click.command()
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Include answered and withdrawn gates, and how often each kind was asked.",
)
@verb
def command(call: Call, everything: bool) -> Reply:
    """List the gates that wait for you, the longest waiting first, and those collected for a phase."""
    found = list_gates(context_of(call))
    waiting = [state for state in found if state["presented_at"]]
    collected = [state for state in found if not state["presented_at"]]
    data: dict[str, object] = {"waiting": waiting, "collected": collected}
    lines = [*_waiting(waiting, call.now), *_collected(collected, call.now)]
    if everything:
        known = list(lookup.every_gate(call.workspace))
        answered = [state for state in known if not is_open(state)]
        answered.sort(key=lookup.asked_at, reverse=True)
        shares = distribution(_counts(known))
        data.update(answered=answered, distribution=shares)
        lines += [*_answered(answered, call.now), *_shares(shares, len(known))]
    next = [f"holdfast gate answer {waiting[0]['id']}"] if waiting else []
    return Reply(data, lines or ["No gate waits for you."], next=next)


def _waiting(states: list[GateState], now: int) -> Iterator[str]:
    if states:
        yield style(f"Waiting for you: {plural(len(states), 'gate')}", "yellow", bold=True)
        yield from table([_row(state, now) for state in states], indent="  ")


def _collected(states: list[GateState], now: int) -> Iterator[str]:
    for phase in sorted({state["phase"] for state in states}):
        title = f"phase {safe(phase)}" if phase else "the phase"
        yield style(f"Collected for the end of {title}", bold=True)
        rows = [_row(state, now) for state in states if state["phase"] == phase]
        yield from table(rows, indent="  ")


def _row(state: GateState, now: int) -> list[str]:
    asked = state["asked"]
    assert asked is not None
    holds = state["holds"] or asked["agent"]
    why = f"holds up {one_line(holds, 40)}" if holds else f"asked by {one_line(asked['by'], 40)}"
    return [
        style(state["id"], "yellow"),
        light(state),
        one_line(lookup.title_of(state), 44),
        ago(asked["at"], now),
        style(why, dim=True),
    ]


def _answered(states: list[GateState], now: int) -> Iterator[str]:
    if states:
        yield style("Answered", bold=True)
    rows: list[list[str]] = []
    for state in states:
        answer = state["answer"]
        if answer is None:
            rows += _withdrawn(state, now)
            continue
        who = answer["person"]["name"] if answer["person"] else "expired"
        said = answer["answer"] if answer["verdict"] == "yes" else f"no: {answer['text']}"
        title = one_line(lookup.title_of(state), 44)
        rows.append(
            [
                state["id"],
                light(state),
                title,
                ago(answer["at"], now),
                f"{safe(who)}: {one_line(said, 40)}",
            ]
        )
    yield from table(rows, indent="  ")


def _withdrawn(state: GateState, now: int) -> Iterator[list[str]]:
    known = withdrawn_of(state)
    if known is not None:
        title, said = one_line(lookup.title_of(state), 44), f"withdrawn: {known['why']}"
        when, who = ago(known["at"], now), safe(known["by"])
        yield [state["id"], light(state), title, when, f"{who}: {one_line(said, 40)}"]


def _counts(states: list[GateState]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for state in states:
        if state["content"] is not None:
            counts[state["content"]["type"]] = counts.get(state["content"]["type"], 0) + 1
    return counts


def _shares(shares: dict[str, float], total: int) -> Iterator[str]:
    if not total:
        return
    yield style(f"Asked so far, of {plural(total, 'gate')}", bold=True)
    rows = [
        [type, f"{share:.0f} %", style(f"{EXPECTED[type]} % expected", dim=True)]
        for type, share in shares.items()
    ]
    yield from table(rows, indent="  ")
    if shares[ACTION] > EXPECTED[ACTION]:
        yield style(
            "More manual steps than expected: is everything else automated?",
            "yellow",
        )
