"""holdfast agent list, check: one line for each agent, and below it what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from types import MappingProxyType

import click

from holdfast.cli.frame import Call, Reply, warn
from holdfast.cli.parser import epic_option, verb
from holdfast.cli.terminal import bar, cut, one_line, safe, style, table, terminal_size, wide
from holdfast.fleet.context import FleetContext, context_for
from holdfast.fleet.monitor import CheckAction, check
from holdfast.fleet.roster import AgentEntry, epics_with_agents, list_agents, takeovers_of_archived
from holdfast.kernel import latch
from holdfast.kernel.durations import describe_minutes
from holdfast.kernel.text import plural, quote

# Verdict: mark and colour, the most serious first.
LOOKS: dict[str, tuple[str, str | None]] = {
    "dead": ("✗", "red"),
    "corrupted": ("✗", "red"),
    "quiet": ("?", "yellow"),
    "blocked": ("■", "yellow"),
    "waiting": ("…", "cyan"),
    "slow": ("▲", "yellow"),
    "busy": ("◆", "cyan"),
    "active": ("●", "green"),
    "done": ("✓", "green"),
}
BAR = 10
LONGEST_FEATURE, SHORTEST_FEATURE = 32, 8


@click.command("list")
@epic_option
@verb
def list_command(call: Call, epic: str | None) -> Reply:
    """List all agents: who is active, slow, waiting, blocked, dead or done, and what to do next."""
    context = context_for(list_agents, call, epic)
    entries = list_agents(context)
    archived = takeovers_of_archived(context, entries)
    others = [] if entries or archived else other_epics(context)
    stopped = latch.read(context.worktree)
    lines = screen(
        entries,
        context.epic.name,
        commands=others,
        archived=archived,
        width=terminal_size()[0],
        stopped=stopped["reason"] if stopped else "",
    )
    next = [entry["next"] for entry in entries if entry["next"]] + [*archived.values(), *others]
    return Reply({"epic": context.epic.root, "agents": entries}, lines, next=next)


@click.command()
@click.option("--primary", is_flag=True, help="Look at the Primary's own checkpoint too.")
@epic_option
@verb
def check_command(call: Call, primary: bool, epic: str | None) -> Reply:
    """Scan all agents as the Primary does, every 15 minutes; each silence is reported once.

    An agent without a checkpoint for more than 30 minutes gets a message in its inbox. After more than
    60 minutes EPIC_README.md gets a line if it exists, a notice appears here, and you decide what to do.
    """
    result = check(context_for(check, call, epic), primary=primary)
    warn(*result.problems)
    lines = [safe(line) for line in result.lines]
    lines += [safe(f"{action['agent_id']}: {_describe(action)}") for action in result.actions]
    lines += [style(safe(notice), "red", bold=True) for notice in result.notices]
    if result.decide:
        lines += ["Recovery procedures:", *(f"  {safe(one)}" for one in result.decide)]
    return Reply(vars(result), lines, next=result.decide)


def _describe(action: CheckAction) -> str:
    return f"{action['action']}, {action['detail']}" if action["detail"] else action["action"]


def screen(
    entries: Sequence[AgentEntry],
    title: str,
    *,
    width: int = 0,
    stopped: str = "",
    commands: Sequence[str] = (),
    archived: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """All lines of the screen. Without a width nothing is cut. `commands` list the epics that have agents,
    for one that has none; `archived` has the commands that take over agents without a successor."""
    lines = [_head(entries, title, width), ""]
    if stopped:
        held = f"STOPPED: {one_line(stopped)}"
        lines += [cut(style(held, "red", bold=True), width), ""]
    if not entries and not archived:
        begin = ["holdfast agent start Secondary-A --feature FEATURE"]
        lines.append(
            "  No agents in this epic. Others have some:" if commands else "  No agents yet."
        )
        lines += [style(f"  {safe(command)}", dim=True) for command in commands or begin]
        return lines
    several = any(not entry["here"] for entry in entries)
    lines += _table(entries, width, several=several) if entries else ["  No agent is at work."]
    told = [line for entry in entries for line in _explain(entry)]
    told += [
        [safe(agent), "archived, and nobody has its feature", style(safe(command), dim=True)]
        for agent, command in archived.items()
    ]
    if told:
        lines += ["", style("What to do", bold=True), *_advice(told, width)]
    return lines


def other_epics(context: FleetContext) -> list[str]:
    """The commands that list the agents of the workspace's other epics."""
    return [
        f"holdfast agent list --epic {quote(os.path.join(context.epic.workspace.root, folder))}"
        for folder in epics_with_agents(context)
    ]


def _advice(told: list[list[str]], width: int) -> Iterator[str]:
    """In columns if they fit; otherwise each command has its own line, so that it can be copied."""
    lines = list(table(told, indent="  "))
    if not width or all(wide(line) <= width for line in lines):
        yield from lines
        return
    for agent, reason, command in told:
        yield cut(f"  {agent}  {reason}", width)
        if command:
            yield cut(f"    {command}", width)


def _head(entries: Sequence[AgentEntry], title: str, width: int) -> str:
    counts = [
        style(f"{count} {word}", LOOKS[word][1])
        for word in LOOKS
        if (count := sum(entry["verdict"] == word for entry in entries))
    ]
    total = plural(len(entries), "agent")
    left = f"{style('Fleet', bold=True)}  {safe(title)}"
    right = f"{total}{': ' if counts else ''}{', '.join(counts)}"
    return cut(f"{left}  {right}", width)


def _table(entries: Sequence[AgentEntry], width: int, *, several: bool) -> Iterator[str]:
    """One line for each agent. In a narrow terminal the bar gives way first, then each step has a line of
    its own, and then the features are cut; ages and steps are always whole."""
    lines: list[str] = []
    for bar_width in (BAR, 0):
        rows = [
            [*_row(entry, bar_width, several=several), one_line(entry["current_step"], 100)]
            for entry in entries
        ]
        lines = list(table(rows, indent="  "))
        if not width or all(wide(line) <= width for line in lines):
            yield from lines
            return
    feature = LONGEST_FEATURE
    while feature > SHORTEST_FEATURE and any(wide(line) > width for line in lines):
        rows = [_row(entry, 0, several=several, feature=feature) for entry in entries]
        lines = list(table(rows, indent="  "))
        feature -= 1
    for line, entry in zip(lines, entries, strict=True):
        yield cut(line, width)
        step = one_line(entry["current_step"], 300)
        yield from wrap(step, width, initial_indent=" " * 5, subsequent_indent=" " * 5)


def _row(
    entry: AgentEntry, bar_width: int, *, several: bool, feature: int = LONGEST_FEATURE
) -> list[str]:
    mark, colour = LOOKS[entry["verdict"]]
    machine = one_line(entry["machine"], 24) if not entry["here"] else "here"
    return [
        style(mark, colour),
        safe(entry["agent_id"]),
        *([style(machine, dim=entry["here"])] if several else []),
        style(entry["verdict"], colour),
        one_line(entry["feature"], feature),
        safe(entry["stage"]),
        _progress(entry, bar_width),
        "-" if entry["age_minutes"] is None else describe_minutes(entry["age_minutes"]),
    ]


def _progress(entry: AgentEntry, width: int) -> str:
    if not entry["steps"]:
        return ""
    count = f"{entry['done']}/{entry['steps']}"
    return f"{bar(entry['done'], entry['steps'], width)} {count:>5}" if width else count


def _explain(entry: AgentEntry) -> Iterator[list[str]]:
    """Why an agent needs attention, and the command that helps."""
    reasons = [*entry["blockers"], *([entry["problem"]] if entry["problem"] else [])]
    if entry["next"] and not reasons:
        reasons += entry["because"]
    reasons += entry["notes"]
    if not reasons:
        return
    reason = one_line(", ".join(reasons), 60)
    yield [safe(entry["agent_id"]), reason, style(entry["next"], dim=True)]
