"""The fleet on a screen: one line for each agent, and below it what to do."""

from __future__ import annotations

import os
import shlex
from textwrap import wrap
from typing import TYPE_CHECKING

from holdfast.cli.terminal import letter_width, one_line, plural, safe, style, table, wide
from holdfast.fleet.roster import epics_with_agents
from holdfast.kernel import clock, latch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.fleet.context import FleetContext
    from holdfast.fleet.roster import AgentEntry

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


def fleet_screen(
    context: FleetContext, entries: Sequence[AgentEntry], *, time: str = ""
) -> list[str]:
    """The screen for this terminal, with the emergency stop that holds, if any."""
    stopped = latch.read(context.worktree)
    return screen(
        entries,
        context.epic.name,
        commands=[] if entries else other_epics(context),
        width=terminal_width(),
        time=time,
        stopped=stopped["reason"] if stopped else "",
    )


def screen(
    entries: Sequence[AgentEntry],
    title: str,
    *,
    width: int = 0,
    time: str = "",
    stopped: str = "",
    commands: Sequence[str] = (),
) -> list[str]:
    """All lines of the screen. Without a width nothing is cut. `commands` list the epics that have agents,
    for one that has none."""
    lines = [*_head(entries, title, width, time), ""]
    if stopped:
        held = f"STOPPED: {one_line(stopped)}"
        lines += [cut(style(held, "red", bold=True), width), ""]
    if not entries:
        begin = ["holdfast agent start Secondary-A --feature FEATURE"]
        lines.append(
            "  No agents in this epic. Others have some:" if commands else "  No agents yet."
        )
        lines += [style(f"  {safe(command)}", dim=True) for command in commands or begin]
        return lines
    several = any(not entry["here"] for entry in entries)
    lines += _table(entries, width, several=several)
    told = [line for entry in entries for line in _explained(entry)]
    if told:
        lines += ["", style("What to do", bold=True), *_advice(told, width)]
    return lines


def other_epics(context: FleetContext) -> list[str]:
    """The commands that list the agents of the workspace's other epics."""
    return [
        f"holdfast agent list --epic {shlex.quote(os.path.join(context.epic.workspace.root, folder))}"
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


def _head(entries: Sequence[AgentEntry], title: str, width: int, time: str) -> Iterator[str]:
    counts = [
        style(f"{count} {word}", LOOKS[word][1])
        for word in LOOKS
        if (count := sum(entry["verdict"] == word for entry in entries))
    ]
    total = plural(len(entries), "agent")
    left = f"{style('Fleet', bold=True)}  {safe(title)}"
    right = f"{total}{': ' if counts else ''}{', '.join(counts)}"
    gap = width - wide(left) - wide(right) - len(time) - 4
    if gap >= 0 and time:
        yield f"{left}  {right}  {' ' * gap}{style(time, dim=True)}"
    else:
        yield cut(f"{left}  {right}", width)


def _table(entries: Sequence[AgentEntry], width: int, *, several: bool) -> Iterator[str]:
    """One line for each agent. In a narrow terminal the bar gives way first, then each step has a line of
    its own, and then the features are cut; ages and steps are always whole."""
    lines: list[str] = []
    for bar in (BAR, 0):
        rows = [
            [*_row(entry, bar, several=several), one_line(entry["current_step"], 100)]
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
    entry: AgentEntry, bar: int, *, several: bool, feature: int = LONGEST_FEATURE
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
        _progress(entry, bar),
        _age(entry),
    ]


def _progress(entry: AgentEntry, bar: int) -> str:
    if not entry["steps"]:
        return ""
    full = round(bar * entry["done"] / entry["steps"])
    count = f"{entry['done']}/{entry['steps']}"
    return f"{'█' * full}{style('░' * (bar - full), dim=True)} {count:>5}" if bar else count


def _age(entry: AgentEntry) -> str:
    age = entry["age_minutes"]
    if age is None:
        return "-"
    return f"{age} min" if age < 120 else f"{age // 60} h"


def _explained(entry: AgentEntry) -> Iterator[list[str]]:
    """Why an agent needs attention, and the command that helps."""
    reasons = [*entry["blockers"], *([entry["problem"]] if entry["problem"] else [])]
    if entry["next"] and not reasons:
        reasons += entry["because"]
    reasons += entry["notes"]
    if not reasons:
        return
    reason = one_line(", ".join(reasons), 60)
    yield [safe(entry["agent_id"]), reason, style(entry["next"], dim=True)]


def cut(line: str, width: int) -> str:
    """The line, cut to a width. Codes for style have no width, and end with the line."""
    if not width or wide(line) <= width:
        return line
    shown, count, position = "", 0, 0
    while count < width - 1:
        if line.startswith("\x1b[", position):
            end = line.index("m", position) + 1
            shown, position = shown + line[position:end], end
            continue
        count += letter_width(line[position])
        if count < width:
            shown += line[position]
        position += 1
    return f"{shown}…\x1b[0m"


def terminal_width(stream: int = 1) -> int:
    try:
        return os.get_terminal_size(stream).columns
    except OSError:
        return 0


def terminal_height(stream: int = 1) -> int:
    try:
        return os.get_terminal_size(stream).lines
    except OSError:
        return 0


def clock_time(now: int) -> str:
    """The time in UTC, as in every file."""
    return f"{clock.stamp(now)[11:19]} UTC"
