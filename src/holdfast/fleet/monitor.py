"""The Primary's scan of all agents: one line each, one warning and one escalation for each silence."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypedDict

from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic
from holdfast.fleet.epic_readme import deliver
from holdfast.fleet.messages import write_message
from holdfast.fleet.roster import AgentEntry, decisions, list_agents
from holdfast.fleet.rules import comms, verdict
from holdfast.fleet.rules.model import PRIMARY, README
from holdfast.kernel.clock import instant_of


class CheckAction(TypedDict):
    """What the scan did about an agent: warned, escalated, or only noted."""

    agent_id: str
    action: str
    detail: str


@dataclass
class CheckResult:
    """`decide` are the commands that a person can choose from."""

    agents: list[AgentEntry] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    actions: list[CheckAction] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    decide: list[str] = field(default_factory=list)


def check(context: FleetContext, *, primary: bool = False) -> CheckResult:
    """Scan all secondaries; warn the silent and report the stale. FLEET-41 to FLEET-58. With `primary`, the Primary's
    own checkpoint is looked at too."""
    found = CheckResult()
    for entry in list_agents(context):
        if entry["agent_id"] == PRIMARY and not primary:
            continue
        found.agents.append(entry)
        found.lines.append(_line(entry))
        _act(context, entry, found)
    if found.actions:
        found.problems += [
            f"EPIC_README.md was not written: {problem}"
            for problem in deliver(context, context.agent(PRIMARY).writer)
        ]
    return found


def _line(entry: AgentEntry) -> str:
    if entry["age_minutes"] is None or entry["liveness"] == "CORRUPTED":
        return f"❌ {entry['agent_id']}: CORRUPTED ({entry['problem'] or 'no time'})"
    return verdict.line(entry["agent_id"], entry["liveness"], entry["age_minutes"])


def _act(context: FleetContext, entry: AgentEntry, found: CheckResult) -> None:
    """Nothing is done about an agent that is complete, or that declared how long it is busy."""
    agent, age = entry["agent_id"], entry["age_minutes"]
    if entry["liveness"] == "CORRUPTED":
        _note(found, agent, "corrupted", entry["problem"])
        found.decide += decisions(entry)
        return
    for note in entry["notes"]:
        _note(found, agent, "noted", note)
    silent = entry["liveness"] in ("WARNING", "STALE")
    if age is None or not silent or agent == PRIMARY:
        return
    if entry["verdict"] == "busy":
        _note(found, agent, "busy", "; ".join(entry["because"]))
        return
    where = context.agent(agent).epic
    if entry["liveness"] == "WARNING":
        last = instant_of(entry["last_checkpoint"]) or context.now
        warning, about = comms.warning(last, age), entry["last_checkpoint"]
        outcome = write_message(context, where, PRIMARY, agent, warning, warns=about)
        if outcome["records"]:
            _note(found, agent, "warned", f"a message is in {comms.channel_of(PRIMARY, agent)}.md")
        return
    if _escalate(context, where, entry):
        has_readme = os.path.exists(where.file(README))
        told = "EPIC_README.md and you are told" if has_readme else "you are told"
        _note(found, agent, "escalated", told)
        found.notices.append(comms.notice(agent))
    found.decide += decisions(entry)


def _escalate(context: FleetContext, epic: Epic, entry: AgentEntry) -> bool:
    """Once for each silence; AMB-FLEET-03."""
    silent = context.agent(entry["agent_id"])
    command = {
        "do": "escalate",
        "sender": PRIMARY,
        "receiver": entry["agent_id"],
        "agent": entry["agent_id"],
        "about": entry["last_checkpoint"],
        "worktree": silent.readme_worktree() or context.epic.workspace.root,
    }
    stream = epic.stream("comms", comms.channel_of(PRIMARY, entry["agent_id"]))
    outcome = silent.writer.execute(stream, command, actor=context.actor, now=context.now)
    return bool(outcome["records"])


def _note(found: CheckResult, agent: str, action: str, detail: str) -> None:
    found.actions.append({"agent_id": agent, "action": action, "detail": detail})
