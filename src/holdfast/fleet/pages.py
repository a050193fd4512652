"""Agents: their cards, the table of hundreds of them, and what a person decides about a silent one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.fleet import roster
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic, find
from holdfast.fleet.messages import list_latest
from holdfast.fleet.recovery import absorb, defer
from holdfast.fleet.roster import AgentEntry
from holdfast.kernel import clock
from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import NotFound, Usage
from holdfast.kernel.rules import Person
from holdfast.kernel.workspace import Workspace
from holdfast.remote import server_time
from holdfast.web.background import SpendingMeter
from holdfast.web.cards import DONE, NEEDS, QUIET, RUNNING, Branches
from holdfast.web.figures import span
from holdfast.web.table import Card, Cards, Page, PageChange, PageContext, Pages
from holdfast.web.workspaces import ServedWorkspace

PER_PAGE = 100
MOST_MESSAGES = 20
LOUDEST = ["dead", "corrupted", "blocked", "quiet", "slow", "waiting", "busy", "active", "done"]
_RANK = {word: rank for rank, word in enumerate(LOUDEST)}
LANES = {"active": RUNNING, "busy": RUNNING, "waiting": RUNNING, "done": DONE}
OPERATIONS = {"defer": defer, "absorb": absorb}
_MINUTES = re.compile(r"\b(\d{3,12}) min\b")


@dataclass(kw_only=True)
class AgentCard(Card):
    epic: str
    feature: str


def list_agents(place: ServedWorkspace, now: int, meter: SpendingMeter) -> Iterator[AgentCard]:
    workspace = place.workspace
    # Lives are judged by the clock that all machines agree on, and told by the one of this page.
    agreed = server_time.now(workspace) if workspace.url else now
    for epic in list_epics(workspace):
        for entry in roster.listing(epic, agreed):
            here = entry["here"]
            lane = NEEDS if roster.needs_decision(entry) else LANES.get(entry["verdict"], QUIET)
            spent = meter.figures(place.root, transcript=entry["transcript"] if here else "")
            yield AgentCard(
                key=f"{place.key}/agent/{epic.folder}/{entry['agent_id']}",
                workspace=place.key,
                kind="agent",
                name=entry["agent_id"],
                lane=lane,
                word=entry["verdict"],
                about=" · ".join(one for one in (entry["feature"], entry["stage"]) if one),
                doing=entry["current_step"],
                why=[*entry["blockers"], *_reasons(entry)],
                done=entry["done"],
                steps=entry["steps"],
                seen_at=_last_sign(entry, agreed - now),
                worktree=(entry["worktree"] or entry["home"]) if here else "",
                machine=entry["machine"],
                elsewhere=not here,
                figures=spent._asdict(),
                choices=_choices(entry),
                epic=epic.folder,
                feature=entry["feature"],
                next=entry["next"],
                href="/fleet",
            )


def list_epics(workspace: Workspace) -> list[Epic]:
    """The epic of the settings, and every other epic that has agents in the journal."""
    first = find(workspace)
    heads = workspace.journal.heads("agent:") if workspace.exists() else []
    folders = {head["stream"].partition(":")[2].rpartition("/")[0]: None for head in heads}
    return [first, *(Epic(workspace, one) for one in folders if one != first.folder)]


def _reasons(entry: AgentEntry) -> list[str]:
    problem = [entry["problem"]] if entry["problem"] else []
    plain = entry["verdict"] in ("active", "done") or entry["blockers"]
    return [*problem, *([] if plain else map(in_larger_units, entry["because"])), *entry["notes"]]


def in_larger_units(text: str) -> str:
    """Write many minutes in larger units: `no change for 9 h`."""
    return _MINUTES.sub(lambda found: span(int(found[1]) * clock.MINUTE), text)


def _last_sign(entry: AgentEntry, ahead: int) -> str:
    """The newest of the agent's heartbeat and of the signs of its worktree, transcript and hooks."""
    seen = entry["signals"]
    moments = [instant_of(entry["last_checkpoint"]), seen["activity"], seen["transcript"]]
    known = [moment for moment in moments if moment is not None]
    return clock.stamp(max(known) - ahead) if known else ""


def _choices(entry: AgentEntry) -> list[str]:
    """The commands to copy; the page itself can defer and absorb."""
    commands = roster.decisions(entry)
    return [each for each in commands if each.split()[2] not in ("defer", "absorb")]


def gather(page: PageContext) -> dict[str, Any]:
    agents: list[AgentCard] = []
    away = page.read_all(lambda place: agents.extend(list_agents(place, page.now, page.meter)))
    counts = {word: sum(one.word == word for one in agents) for word in LOUDEST}
    wanted = page.words.get("q", "").casefold().split()
    verdict = page.words.get("verdict", "")
    found = [one for one in agents if _fits(one, verdict, wanted)]
    found.sort(key=lambda one: one.seen_at, reverse=True)
    found.sort(key=lambda one: _RANK.get(one.word, len(LOUDEST)))
    first = min(page.number("from") or 0, len(found))
    shown = found[first : first + PER_PAGE]
    branches = Branches()
    for one in shown:
        one.branch = branches.of(one.worktree) or one.branch
    messages: list[dict[str, Any]] = []
    page.read_all(lambda place: messages.extend(_list_messages(place)))
    messages.sort(key=lambda one: str(one["at"]), reverse=True)
    return {
        "several": len(page.site) > 1,
        "messages": messages[:MOST_MESSAGES],
        "machines": any(one.elsewhere for one in agents),
        "agents": [vars(one) for one in shown],
        "first": first,
        "found": len(found),
        "all": len(agents),
        "counts": {word: count for word, count in counts.items() if count},
        "cost": _sum(agents),
        "verdict": verdict if verdict in LOUDEST else "",
        "q": page.words.get("q", "")[:200],
        "older": first + PER_PAGE if first + PER_PAGE < len(found) else 0,
        "newer": max(first - PER_PAGE, 0) if first else None,
        "away": away,
    }


def _list_messages(place: ServedWorkspace) -> list[dict[str, Any]]:
    """Return the latest messages between the agents of a workspace."""
    return [one for epic in list_epics(place.workspace) for one in list_latest(epic, MOST_MESSAGES)]


def _fits(one: AgentCard, verdict: str, wanted: list[str]) -> bool:
    if verdict and one.word != verdict:
        return False
    if not wanted:
        return True
    parts = [one.name, one.about, one.doing, one.workspace, one.branch, one.machine, *one.why]
    text = " ".join(parts).casefold()
    return all(word in text for word in wanted)


def _sum(agents: list[AgentCard]) -> float | None:
    """What the agents spent together; None while no agent's spending is known."""
    known = [one.figures.get("at_least") or 0.0 for one in agents]
    return sum(known) or None


def recover_agent(workspace: Workspace, words: Mapping[str, str], person: Person) -> str:
    operation = OPERATIONS.get(words.get("decision", ""))
    if operation is None:
        raise Usage(f"The decision is one of {', '.join(OPERATIONS)}.")
    folder = words.get("epic", "")
    if os.path.isabs(folder) or ".." in folder.split("/"):
        raise NotFound("There is no such epic.")
    now = server_time.now(workspace)
    context = FleetContext(Epic(workspace, folder), workspace, actor=person["name"], now=now)
    # A person's word counts as --yes does. What the person saw may be old: so only if still silent.
    operation(context, words["agent"], yes=True, only_silent=True)
    return "/board"


PAGES = Pages(
    pages=(
        Page(
            "fleet",
            "/fleet",
            gather,
            "Fleet",
            "f",
            ("q", "verdict", "from"),
            stream="agent",
            rank=30,
        ),
    ),
    changes=(
        PageChange("/w/{workspace}/agents/{agent}", "decide about agent {agent}", recover_agent),
    ),
    cards=(Cards("agents", list_agents, "Agents", "agent", "holdfast agent start", rank=110),),
)
