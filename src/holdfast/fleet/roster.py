"""The list of an epic's agents, from the journal, their files, and other signals.

An agent that writes its own file is a member, and its file counts. Where the journal is ahead of a file
(a view that could not be written), the journal counts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypedDict

from holdfast.fleet import signals
from holdfast.fleet.backups import find_archive, list_archived
from holdfast.fleet.context import FleetContext
from holdfast.fleet.epic import Epic, Sight, find_home, machine_labels
from holdfast.fleet.rules import agent as rules
from holdfast.fleet.rules.checkpoint import progress
from holdfast.fleet.rules.model import PRIMARY, agent_of, checkpoint_path, stem_of
from holdfast.fleet.rules.verdict import age_minutes, liveness, verdict
from holdfast.fleet.scan import CheckpointFile, scan
from holdfast.kernel import config
from holdfast.kernel.clock import instant_of
from holdfast.kernel.state import load, load_all
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import worktrees

if TYPE_CHECKING:
    from holdfast.fleet.rules.model import AgentState
    from holdfast.fleet.rules.verdict import Signals, Verdict
    from holdfast.journal.interface import Head


class AgentEntry(TypedDict):
    """One agent as the list shows it."""

    agent_id: str
    status: str
    liveness: str
    age_minutes: int | None
    fence: int
    feature: str
    stage: str
    phase: str
    current_step: str
    done: int
    steps: int
    blockers: list[str]
    verdict: str
    because: list[str]
    dead_signals: list[str]
    signals: Signals
    last_checkpoint: str
    session_id: str
    worktree: str
    transcript: str
    machine: str
    here: bool
    home: str
    path: str
    problem: str
    notes: list[str]
    next: str


def judge(state: AgentState, now: int, seen_at: str, *, sight: Sight) -> Verdict:
    """The verdict on one agent, from its checkpoint's age and from all other signals."""
    saved = state["checkpoint"] or {}
    status, last = str(saved.get("status", "")), _last_word(state, saved, now, seen_at, sight)
    found = "CORRUPTED" if last is None else liveness(age_minutes(last, now), status)
    return verdict(found, status, signals.gather(state, status, last, now, seen_at, sight), now)


def _last_word(
    state: AgentState, saved: dict[str, Any], now: int, seen_at: str, sight: Sight
) -> int | None:
    """When an agent's last checkpoint was, by the clock that all machines share.

    Holdfast writes times by that clock. An agent that writes its own file uses its machine's clock. On
    another machine the error of that clock is unknown; but a time in the future was written no later than
    when the journal received it.
    """
    last = instant_of(saved.get("last_checkpoint"))
    if last is None or not state.get("machine"):
        return last
    known = state["checkpoint"] or {}
    is_ours = not state["text"] and saved.get("last_checkpoint") == known.get("last_checkpoint")
    if not is_ours and sight.reaches(state):
        return last + sight.ahead
    heard = instant_of(seen_at)
    return heard if last > now and heard is not None else last


def list_agents(context: FleetContext) -> list[AgentEntry]:
    """All agents of the epic, the Primary first: state, verdict, and the next command for each."""
    context.find_home("")
    return listing(context.epic, context.now)


def listing(epic: Epic, now: int) -> list[AgentEntry]:
    """All agents of an epic at a time, the Primary first."""
    survey = _Survey(epic, now)
    stems = sorted(survey.files.keys() | survey.states.keys())
    stems.sort(key=lambda stem: stem != stem_of(PRIMARY))
    entries = [entry for stem in stems if (entry := survey.describe(stem)) is not None]
    _note_rivals(entries)
    return entries


def takeovers_of_archived(context: FleetContext, entries: list[AgentEntry]) -> dict[str, str]:
    """Return the command that takes over each agent whose file was archived by hand and whose feature no agent
    has."""
    home, commands = context.find_home("") or context.epic, {}
    taken = {entry["feature"] for entry in entries}
    for agent, path, feature in list_archived(home):
        past = context.agent(agent).state["past"]
        is_ended = any(one["archive"] == path for one in past if one["how"] != rules.BY_HAND)
        if feature not in taken and not is_ended:
            commands[agent] = _next(agent, "dead", here=True)
    return commands


def epics_with_agents(context: FleetContext) -> list[str]:
    """The folders of the workspace's epics that have agents, without the context's own."""
    workspace = context.epic.workspace
    if not workspace.exists():
        return []
    streams = (head["stream"] for head in workspace.journal.heads("agent:"))
    states = (load(workspace.journal, rules, stream)[0] for stream in streams)
    living = (state["folder"] for state in states if state["checkpoint"] is not None)
    return sorted(set(living) - {context.epic.folder})


def needs_decision(entry: AgentEntry) -> bool:
    """Whether a person has to decide about an agent: it is dead, corrupted, or silent for too long."""
    if entry["verdict"] in ("dead", "corrupted"):
        return True
    return entry["liveness"] == "STALE" and entry["verdict"] not in ("busy", "done", "waiting")


def decisions(entry: AgentEntry) -> list[str]:
    """The protocol's commands to decide about an agent that needs a decision; FLEET-49."""
    broken, silent = ("restore", "restart"), ("resume", "takeover", "restart", "defer", "absorb")
    verbs = broken if entry["verdict"] == "corrupted" else silent
    agent = entry["agent_id"]
    options = {"takeover": " --by NEW"}
    return [f"holdfast agent {verb} {quote(agent)}{options.get(verb, '')}" for verb in verbs]


def _note_rivals(entries: list[AgentEntry]) -> None:
    """Note agents with the same feature: holdfast cannot refuse a file that an agent wrote itself."""
    owners: dict[str, list[AgentEntry]] = {}
    for entry in entries:
        if entry["feature"] and entry["status"] != "COMPLETE":
            owners.setdefault(entry["feature"], []).append(entry)
    for rivals in owners.values():
        for entry in rivals if len(rivals) > 1 else []:
            others = [each["agent_id"] for each in rivals if each is not entry]
            entry["notes"].append(f"{', '.join(others)} has the same feature")


class _Survey:
    """What the journal and the files say about all agents of an epic, and the machine that looks."""

    def __init__(self, epic: Epic, now: int) -> None:
        self.epic = epic
        self.now = now
        journal = epic.workspace.journal if epic.workspace.exists() else None
        # Whether exactly 30 and 60 minutes count as late already.
        self.inclusive = bool(config.load(epic.workspace, journal)["fleet.inclusive"])
        self.files = _files(epic)
        self.states = _states(epic)
        self.sight = Sight(epic.workspace)
        self.home = find_home(epic, self.sight)
        self.labels = machine_labels(state.get("machine") for state, _ in self.states.values())

    def describe(self, stem: str) -> AgentEntry | None:
        """An agent as the list shows it; None when its last life is over."""
        known = self.states.get(stem)
        state, head = known or (rules.initial(self.epic.stream("agent", stem)), None)
        here = self.sight.reaches(state)
        seen = self._choose_file(self.files.get(stem, []), state) if here else None
        chosen = self._choose(state, seen, here=here)
        if chosen is None:
            return None
        saved, problem, notes = chosen
        seen_at = head["seen_at"] if head else ""
        last = _last_word(state, saved, self.now, seen_at, self.sight)
        if last is not None and last > self.now:
            notes.append("its last checkpoint lies in the future")
        agent = str(saved.get("agent_id") or state["agent"])
        if stem_of(agent) != stem_of(state["agent"]):
            notes.append(f"its file names {agent}")
            agent = state["agent"]
        age = None if last is None else age_minutes(last, self.now)
        status = str(saved.get("status", ""))
        by_clock = "CORRUPTED" if problem or age is None else liveness(age, status, self.inclusive)
        found = signals.gather(state, status, last, self.now, seen_at, self.sight)
        judged = verdict(by_clock, status, found, self.now)
        done, steps = progress(saved)
        life, machine, blockers = state["life"], state.get("machine"), saved.get("blockers")
        return {
            "agent_id": agent,
            "status": status,
            "liveness": by_clock,
            "age_minutes": age,
            "fence": head["fence"] if head else 0,
            "feature": str(saved.get("feature", "")),
            "stage": str(saved.get("stage", "")),
            "phase": str(saved.get("phase", "")),
            "current_step": str(saved.get("current_step", "")),
            "done": done,
            "steps": steps,
            "blockers": [str(each) for each in blockers] if isinstance(blockers, list) else [],
            "verdict": judged["verdict"],
            "because": judged["because"],
            "dead_signals": judged["dead_signals"],
            "signals": found,
            "last_checkpoint": str(saved.get("last_checkpoint", "")),
            "session_id": str(saved.get("session_id", "")),
            "worktree": life["worktree"] if life else "",
            "transcript": life["transcript"] if life else "",
            "machine": self.labels[machine["id"]] if machine else "",
            "here": here,
            "home": self._home_of(state, seen) if here else self.epic.workspace.root,
            "path": seen.path if seen else "",
            "problem": problem,
            "notes": notes,
            "next": _next_of_unstarted(state) or _next(agent, judged["verdict"], here=here),
        }

    def _choose(
        self, state: AgentState, seen: CheckpointFile | None, *, here: bool
    ) -> tuple[dict[str, Any], str, list[str]] | None:
        """The checkpoint that counts, of the journal or of the file; why the file is broken; and notes on
        the choice. None when the agent's last life is over."""
        known = state["checkpoint"]
        if seen is None:
            if known is None or (here and self._is_archived(state)):
                return None
            return known, "", ["its file is missing"] if here else []
        if seen.problem:
            return known or {}, seen.problem, []
        if seen.session is not None and rules.is_over(state, seen.session):
            return None if known is None else (known, "", ["an earlier life wrote its file"])
        if known is None or self._is_ahead(seen, state, known):
            return seen.said, "", []
        return known, "", []

    def _choose_file(self, files: list[CheckpointFile], state: AgentState) -> CheckpointFile | None:
        """The file at the Epic Path, unless the agent's copy is newer. Of others, as git checks them out, the
        first one where nothing is known of the agent."""
        life = state["life"]
        files = [seen for seen in files if not self._is_of_archive(seen)]
        homes = [self.home.root] if self.home else []
        roots = [*homes, state["worktree"], life["worktree"] if life else ""]
        known = [
            seen for root in roots if root for seen in files if seen.path.startswith(root + os.sep)
        ]
        if homes and not state["worktree"]:
            known += files
        if known and known[0].problem:
            return known[0]
        newest = max(known, key=lambda seen: seen.last_ms or 0, default=None)
        return newest or next(iter(files), None)

    def _is_of_archive(self, seen: CheckpointFile) -> bool:
        """Whether a file outside of the Epic Path is a copy of one that was archived there."""
        home = self.home
        if home is None or seen.session is None or seen.path.startswith(home.root + os.sep):
            return False
        return bool(find_archive(home, agent_of(seen.stem), seen.session))

    def _home_of(self, state: AgentState, seen: CheckpointFile | None) -> str:
        """The worktree with an agent's files."""
        if self.home is not None:
            return self.home.workspace.root
        if state["worktree"] or seen is None:
            return state["worktree"] or self.epic.workspace.root
        below = len(self.epic.path(checkpoint_path(state["agent"])))
        return seen.path[: -below - 1]

    def _is_archived(self, state: AgentState) -> bool:
        """Whether a person or a script has moved the life's file into an archive."""
        life, home = state["life"], self.home or self.epic.in_worktree(state["worktree"])
        return life is not None and bool(find_archive(home, state["agent"], life["session"]))

    def _is_ahead(self, seen: CheckpointFile, state: AgentState, known: dict[str, Any]) -> bool:
        """Whether a file is newer than the journal's state, or the same."""
        last = instant_of(known.get("last_checkpoint"))
        if last is None or seen.said.get("last_checkpoint") == known.get("last_checkpoint"):
            return True
        ahead = self.sight.ahead if state.get("machine") else 0
        return seen.last_ms is not None and seen.last_ms + ahead >= last


def _files(epic: Epic) -> dict[str, list[CheckpointFile]]:
    """The files of each agent, of all worktrees that have this epic."""
    found: dict[str, list[CheckpointFile]] = {}
    for root in worktrees(epic.workspace):
        folder = os.path.join(root, epic.folder) if epic.folder else root
        for seen in scan(folder):
            found.setdefault(seen.stem, []).append(seen)
    return found


def _states(epic: Epic) -> dict[str, tuple[AgentState, Head]]:
    workspace, prefix = epic.workspace, epic.stream("agent", "")
    if not workspace.exists():
        return {}
    loaded = load_all(workspace.journal, rules, prefix)
    return {head["stream"].removeprefix(prefix): (state, head) for state, head in loaded}


def _next_of_unstarted(state: AgentState) -> str:
    """The command for a life that no session has started: print the text to paste into one."""
    life, origin = state["life"], state.get("origin")
    if life is None or not life.get("awaits"):
        return ""
    agent, before = state["agent"], origin["agent"] if origin else ""
    source = f" --from {quote(before)}" if before and before != agent else ""
    return f"holdfast agent handoff {quote(agent)}{source}"


def _next(agent: str, said: str, *, here: bool) -> str:
    """The next command for an agent; empty for one that works. An agent of another machine is taken over,
    not resumed."""
    if said == "dead" or (said == "quiet" and not here):
        return f"holdfast agent takeover {quote(agent)} --by NEW"
    if said == "corrupted":
        return f"holdfast agent restore {quote(agent)}"
    if said == "blocked":
        return f"holdfast agent inbox {PRIMARY}"
    if said == "quiet":
        return f"holdfast agent resume {quote(agent)}"
    return "holdfast agent check" if said == "slow" else ""
