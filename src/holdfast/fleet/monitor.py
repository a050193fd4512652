"""The Primary's scan: the protocol's own lines, one warning and one escalation for each silence."""

from __future__ import annotations

from holdfast.fleet import messages as letters
from holdfast.fleet import roster
from holdfast.fleet.reports import deliver
from holdfast.fleet.rules import liveness, messages
from holdfast.fleet.rules.comms import channel_of
from holdfast.fleet.rules.model import PRIMARY
from holdfast.kernel import config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from holdfast.fleet.context import Post
    from holdfast.fleet.epic import Epic
    from holdfast.fleet.roster import Entry

    class Action(TypedDict):
        """What the scan did about an agent: warned, escalated, or only noted."""

        agent_id: str
        action: str
        detail: str

    class Checked(TypedDict):
        agents: list[Entry]
        lines: list[str]
        actions: list[Action]
        notices: list[str]
        problems: list[str]
        decide: list[str]


def check(post: Post, *, include_primary: bool = False) -> Checked:
    """Every secondary's line; those that are silent are warned or reported. FLEET-41 to FLEET-58"""
    epic = post.epic
    journal = epic.workspace.journal if epic.workspace.exists() else None
    inclusive = bool(config.load(epic.workspace, journal)["fleet.inclusive"])
    found: Checked = {
        "agents": [],
        "lines": [],
        "actions": [],
        "notices": [],
        "problems": [],
        "decide": [],
    }
    for entry in roster.listing(epic, post.now, inclusive=inclusive):
        if entry["agent_id"] == PRIMARY and not include_primary:
            continue
        found["agents"].append(entry)
        found["lines"].append(_line(entry, inclusive))
        _act(post, entry, found, inclusive)
    if found["actions"]:
        for delivery in deliver(epic.workspace, post.agent(PRIMARY).writer, post.now):
            if not delivery["delivered"]:
                found["problems"].append(f"EPIC_README.md was not written: {delivery['error']}")
    return found


def _line(entry: Entry, inclusive: bool) -> str:
    if entry["age_minutes"] is None or entry["liveness"] == "CORRUPTED":
        return f"❌ {entry['agent_id']}: CORRUPTED ({entry['problem'] or 'no time'})"
    return liveness.line(entry["agent_id"], entry["age_minutes"], inclusive)


def _act(post: Post, entry: Entry, found: Checked, inclusive: bool) -> None:
    """A complete agent is left in peace, and so is one that said how long it would be busy."""
    agent, age = entry["agent_id"], entry["age_minutes"]
    if entry["liveness"] == "CORRUPTED":
        _note(found, agent, "corrupted", entry["problem"])
        found["decide"] += [f"holdfast agent restore {agent}", f"holdfast agent restart {agent}"]
        return
    for note in entry["notes"]:
        _note(found, agent, "noted", note)
    silent = entry["liveness"] in ("WARNING", "STALE")
    if age is None or not silent or agent == PRIMARY:
        return
    if entry["verdict"] == "busy":
        _note(found, agent, "busy", "; ".join(entry["because"]))
        return
    where = epic_of(post.epic, entry)
    if entry["liveness"] == "WARNING":
        last = liveness.instant_of(entry["last_checkpoint"]) or post.now
        outcome = letters.send(
            *(where, PRIMARY, agent, messages.warning(last, age)),
            actor=post.actor,
            now=post.now,
            warns=entry["last_checkpoint"],
        )
        if outcome["records"]:
            _note(found, agent, "warned", f"a message is in {channel_of(PRIMARY, agent)}.md")
        return
    if _escalate(post, where, entry):
        _note(found, agent, "escalated", "EPIC_README.md and you are told")
        found["notices"].append(messages.notice(agent))
    found["decide"] += [
        f"holdfast agent resume {agent}",
        f"holdfast agent takeover {agent} --by NEW",
        f"holdfast agent restart {agent}",
        f"holdfast agent defer {agent}",
        f"holdfast agent absorb {agent}",
    ]


def epic_of(epic: Epic, entry: Entry) -> Epic:
    """The epic in the worktree where an agent keeps its files."""
    return epic.in_worktree(entry["home"])


def _escalate(post: Post, epic: Epic, entry: Entry) -> bool:
    """Once for each silence; AMB-FLEET-03."""
    command = {
        "do": "escalate",
        "sender": PRIMARY,
        "receiver": entry["agent_id"],
        "agent": entry["agent_id"],
        "about": entry["last_checkpoint"],
        "worktree": epic.workspace.root,
    }
    stream = epic.stream("comms", channel_of(PRIMARY, entry["agent_id"]))
    writer = post.agent(entry["agent_id"]).writer
    outcome = writer.execute(stream, command, actor=post.actor, now=post.now)
    return bool(outcome["records"])


def _note(found: Checked, agent: str, action: str, detail: str) -> None:
    found["actions"].append({"agent_id": agent, "action": action, "detail": detail})
