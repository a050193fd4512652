"""The operations on an agent that does not come back: takeover, restart, defer, absorb; and handoff texts.

Each of the four ends a life for good, moves its file into an archive and passes the feature on, all in
one transaction. A clock alone never decides: it takes two independent signals, or a person's word.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from holdfast.fleet import backups, transfer
from holdfast.fleet.agents import (
    age_of,
    awaited_life,
    begin,
    describe_files,
    missing_files,
    tell_origin,
)
from holdfast.fleet.agents import start as start_agent
from holdfast.fleet.context import AgentResult, changes_life
from holdfast.fleet.epic import Epic
from holdfast.fleet.roster import judge, list_agents, needs_decision
from holdfast.fleet.rules import handoff as texts
from holdfast.fleet.rules.agent import refuse_at_work, unknown
from holdfast.fleet.rules.model import (
    PRIMARY,
    archive_path,
    check_agent,
    check_feature,
    checkpoint_path,
)
from holdfast.fleet.rules.verdict import is_minimal_work, may_replace
from holdfast.kernel import clock
from holdfast.kernel.clock import instant_of
from holdfast.kernel.commit import Order
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.text import quote
from holdfast.session import sessions

if TYPE_CHECKING:
    from holdfast.fleet.context import FleetAgent, FleetContext
    from holdfast.fleet.rules.model import AgentLife


class EndingLife:
    """A life that is to be ended: what it left behind, and where its file goes."""

    def __init__(
        self, agent: FleetAgent, how: str, by: str, kind: Literal["crashed", "aborted"]
    ) -> None:
        agent.settle()
        self.agent = agent
        self.copy = agent.copy
        self.saved: dict[str, Any] = agent.state["checkpoint"] or {}
        self.feature = str(self.saved.get("feature", ""))
        self.archive = _free_archive(agent, kind)
        # Asked now: afterwards the agent may live here.
        self.was_here = agent.is_here
        self.state = agent.state
        self.command = {
            "do": "end",
            "how": how,
            "by": by,
            "archive": self.archive,
            "seen": self.saved.get("last_checkpoint"),
            "readme": agent.readme_worktree(),
        }

    def finish(self, result: AgentResult) -> list[str]:
        """The lines about the life that ended. The archive of a life on another machine is written here
        as well."""
        if self.was_here:
            backups.put_away(self.copy, self.agent.id, self.archive)
            return [f"Archived: {_archive_seen_from(result.agent.context.here, self)}"]
        problem = transfer.write_archive(result.agent.epic, self.saved, self.archive)
        result.warnings += [problem] if problem else []
        return [f"Archived: {self.archive}"]

    def ownership(self, command: Any) -> Order:
        """The order about the feature, for the same transaction."""
        return Order(self.agent.epic.stream("feature", check_feature(self.feature)), command)

    def start(self, agent: FleetAgent, life: AgentLife) -> dict[str, Any]:
        """The command that starts the life which follows, of the same agent or another one."""
        return {
            "do": "start",
            "agent": agent.id,
            "feature": self.feature,
            "life": life,
            **describe_files(agent, self.feature),
        }


@changes_life
def takeover(context: FleetContext, old: str, by: str, *, yes: bool = False) -> AgentResult:
    """Scenario 2: another agent, perhaps of the same id, goes on where the first one stopped. `yes` does it even if that
    may still be alive. FLEET-66 to FLEET-72"""
    new = check_agent(by)
    gone = context.agent(old)
    archives = backups.list_archives(gone.epic, old)
    gone.look()
    if archives and (gone.state["checkpoint"] is None or gone.archived_as()):
        origin, problems = transfer.origin_of(gone)
        gone.settle()
        found = start_agent(context, new, archive=archives[0], origin=origin)
        if origin:
            backups.put_away(gone.epic.in_worktree(origin["worktree"]), old, archives[0])
        found.warnings += problems
        return found
    gone = _load_unfinished(context, old)
    if not yes:
        _refuse_unless_dead(gone)
    taker = gone if new == old else context.agent(new)
    if taker is not gone:
        refuse_at_work(taker.state, takes_over=True)
        taker.epic = context.find_home(new) or context.epic
    ending = EndingLife(gone, "taken_over", new, "crashed")
    notes, life = gone.state["file_notes"], awaited_life(context)
    origin, problems = transfer.origin_of(gone)
    work = {"from": ending.saved, "file_notes": notes, "origin": origin}
    start = {**ending.start(taker, life), **work}
    claim = ending.ownership(_claim(new, old, life["session"], "reassign"))
    result = AgentResult(taker)
    if taker is gone:
        begin(result, {**ending.command, "then": start}, life, [claim])
    else:
        end = Order(gone.stream, ending.command, grant=True, writer=gone.writer)
        begin(result, start, life, [end, claim])
    missing = missing_files(result.agent, ending.saved)
    result.warnings += problems
    result.lines = [*texts.resume_lines(ending.saved, missing), *ending.finish(result)]
    result.next = [f"holdfast agent handoff {quote(new)} --from {quote(old)}"]
    tell_origin(result, origin)
    _offer_session(result, ending)
    age = age_of(ending.saved, context.now)
    result.lines += ["", texts.resume_message(ending.saved, notes, age)]
    return result


def _offer_session(result: AgentResult, ending: EndingLife) -> None:
    """Name the session that was captured where the life had worked, if that was in another place."""
    context, life, machine = result.agent.context, ending.state["life"], ending.state.get("machine")
    if life is None or (ending.was_here and life["worktree"] == context.worktree.root):
        return
    id = machine["id"] if machine else ""
    session = sessions.at(context.epic.workspace, life["worktree"], id)
    if session is not None:
        resume = f"holdfast resume --session {quote(session['session'])} --accept-foreign"
        result.next.append(resume)
        result.lines += [
            f"Session: {session['session'][:12]}, captured there; its pack:",
            f"  {resume}",
        ]


@changes_life
def restart(context: FleetContext, id: str, *, feature: str = "", yes: bool = False) -> AgentResult:
    """Scenario 3: begin from scratch, the last resort. `feature` is needed when the agent's file does not name it any more.
    FLEET-73 to FLEET-76"""
    agent = context.agent(id)
    is_broken = agent.read()[1] is None
    if not is_broken:
        agent.look()
        if agent.state["checkpoint"] is None:
            raise unknown(agent.state, agent.id)
    if not yes and not is_broken:
        _refuse_much_work(agent)
        if not agent.is_caller():
            _refuse_unless_dead(agent)
    ending = EndingLife(agent, "restarted", id, "aborted")
    ending.feature = check_feature(feature or ending.feature)
    life = awaited_life(context)
    command = {**ending.command, "then": ending.start(agent, life)}
    claim = _claim(id, id, life["session"], "restart")
    result = AgentResult(agent)
    begin(result, command, life, [ending.ownership(claim)])
    result.lines = [
        *ending.finish(result),
        f"Session ID: {life['session']}",
        "Initial checkpoint created",
    ]
    result.next = [f"holdfast agent handoff {quote(id)}"]
    return result


@changes_life
def defer(
    context: FleetContext, id: str, *, yes: bool = False, only_silent: bool = False
) -> AgentResult:
    """Defer the feature to Wave 2. With `only_silent`, an agent that needs no decision any more is refused: for a person
    who decides by a page that may be old. FLEET-49"""
    agent = _load_for_ending(context, id, yes=yes, only_silent=only_silent)
    ending = EndingLife(agent, "deferred", "", "crashed")
    release = {"do": "release", "agent": agent.id, "decision": "defer_wave_2", "wave": 2}
    result = _end(ending, ending.ownership(release))
    result.lines.append(f"{ending.feature} is deferred to Wave 2")
    return result


@changes_life
def absorb(
    context: FleetContext, id: str, *, yes: bool = False, only_silent: bool = False
) -> AgentResult:
    """The Primary takes the feature itself, once its own is done. AMB-FLEET-15"""
    if id == PRIMARY:
        raise Usage(f"{PRIMARY} has its feature already.", hint="Name the agent that is gone.")
    agent = _load_for_ending(context, id, yes=yes, only_silent=only_silent)
    primary = context.agent(PRIMARY)
    origin, problems = transfer.origin_of(agent)
    ending = EndingLife(agent, "absorbed", PRIMARY, "crashed")
    claim = _claim(PRIMARY, agent.id, "", "primary_absorbs")
    result = _end(ending, ending.ownership(claim))
    result.warnings += problems
    if primary.state["checkpoint"] is not None:
        archive = _archive_seen_from(primary.epic, ending)
        step = f"Resume {ending.feature} from {archive}"
        steps = [*primary.state["checkpoint"].get("next_steps", []), step]
        primary.execute({"do": "beat", "set": {"next_steps": steps}})
    tell_origin(result, origin)
    result.lines += [
        f"{PRIMARY} takes {ending.feature}: finish your own feature first, then go on from",
        f"Stage: {ending.saved.get('stage')}",
        f"Step: {ending.saved.get('current_step')}",
        f"Instructions: {ending.saved.get('recovery_instructions')}",
    ]
    return result


def _archive_seen_from(reader: Epic, ending: EndingLife) -> str:
    """The path of an archive for a reader that may be in another worktree."""
    is_same = reader.root == ending.agent.epic.root or not ending.was_here
    return ending.archive if is_same else ending.agent.epic.file(ending.archive)


def _load_for_ending(context: FleetContext, id: str, *, yes: bool, only_silent: bool) -> FleetAgent:
    if only_silent:
        _refuse_awake(context, id)
    agent = _load_unfinished(context, id)
    if not yes:
        _refuse_unless_dead(agent)
    return agent


def _load_unfinished(context: FleetContext, id: str) -> FleetAgent:
    """The agent, if it has work to go on with."""
    agent = context.agent(id)
    agent.look()
    saved = agent.state["checkpoint"]
    if saved is None:
        raise unknown(agent.state, agent.id)
    if saved.get("status") == "COMPLETE":
        raise HoldfastError(
            f"{id} is complete: there is nothing to go on with.",
            hint=f"From scratch: holdfast agent restart {quote(id)} --yes",
            kind="agent_complete",
        )
    return agent


def _claim(id: str, before: str, session: str, decision: str) -> dict[str, str]:
    return {"do": "claim", "agent": id, "from": before, "session": session, "decision": decision}


def _end(ending: EndingLife, *others: Order) -> AgentResult:
    """End a life that no other follows; it loses its fence."""
    agent = ending.agent
    end = Order(agent.stream, ending.command, grant=True)
    result = AgentResult(agent)
    result.add(agent.commit([end, *others])[0])
    result.has_news = True
    result.lines = ending.finish(result)
    result.next = ["holdfast agent list"]
    agent.reload()
    return result


def _free_archive(agent: FleetAgent, kind: Literal["crashed", "aborted"]) -> str:
    """The archive's name; that of the next second when this one is taken."""
    now = agent.context.now
    while os.path.lexists(agent.epic.file(archive_path(agent.id, kind, now))):
        now += 1000
    return archive_path(agent.id, kind, now)


def _refuse_unless_dead(agent: FleetAgent) -> None:
    seen_at = agent.head["seen_at"] if agent.head else ""
    found = judge(agent.state, agent.context.now, seen_at, sight=agent.context.sight)
    if not may_replace(found):
        dead = ", ".join(found["dead_signals"]) or "nothing"
        alive = found["life_signals"]
        signs = f" Signs of life: {', '.join(alive)}." if alive else ""
        raise HoldfastError(
            f"{agent.id} is not known to be dead. What says so: {dead}.{signs}",
            hint="It takes two independent signals, or your word: --yes",
            kind="not_known_dead",
        )


def _refuse_awake(context: FleetContext, id: str) -> None:
    for entry in list_agents(context):
        if entry["agent_id"] == id and not needs_decision(entry):
            why = ", ".join(entry["because"]) or entry["verdict"]
            raise Conflict(
                f"{id} is not silent: {why}. Nothing was done.",
                hint=f"The board shows how it stands now. In a terminal: holdfast agent check {quote(id)}",
                kind="agent_alive",
            )


def _refuse_much_work(agent: FleetAgent) -> None:
    """FLEET-73"""
    last = instant_of((agent.state["checkpoint"] or {}).get("last_checkpoint"))
    if last is None:
        return
    began = backups.work_began(agent.epic, agent.id, last)
    if not is_minimal_work(began, last):
        raise HoldfastError(
            f"{agent.id} has worked for {(last - began) // clock.MINUTE} minutes; "
            "a restart would throw that away.",
            hint="Resume or take over instead; or say that you mean it: --yes",
            kind="much_work",
        )


# The text to paste into an agent's session


def handoff(context: FleetContext, id: str, *, feature: str = "", taken_from: str = "") -> str:
    """The text for an agent that begins, resumes (it is the same text), or takes over from a crashed agent."""
    agent = context.agent(id)
    saved = agent.state["checkpoint"] or agent.read()[1] or {}
    if taken_from:
        return _takeover_text(agent, saved, taken_from)
    feature = feature or str(saved.get("feature", ""))
    if not feature:
        raise Usage(f"{agent.id} has no feature yet.", hint="Name it: --feature FEATURE")
    return texts.package(
        epic_name=agent.epic.name,
        epic_path=agent.epic.root,
        feature=check_feature(feature),
        agent=agent.id,
        stage=str(saved.get("stage", "")),
        phase=str(saved.get("phase", "")),
    )


def _takeover_text(taker: FleetAgent, taken: dict[str, Any], old: str) -> str:
    """Before the takeover it names the crashed agent's own file, afterwards the archive."""
    gone = taker.context.agent(old)
    saved = gone.state["checkpoint"] or gone.read()[1]
    place = checkpoint_path(old)
    if not saved:
        endings = [each for each in gone.state["past"] if each["by"] == taker.id]
        place = next(iter(backups.list_archives(gone.epic, old)), "")
        place = endings[-1]["archive"] if endings else place
        if not place or not taken:
            raise NotFound(
                f"{taker.id} has taken nothing over from {old}.", hint="`holdfast agent list`"
            )
        saved = taken
    return texts.takeover_package(
        epic_path=gone.epic.root,
        feature=str(saved.get("feature", "")),
        agent=taker.id,
        crashed=old,
        checkpoint_file=place,
        stage=str(saved.get("stage", "")),
        phase=str(saved.get("phase", "")),
    )
