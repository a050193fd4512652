"""When an agent does not come back: takeover, restart, deferral, absorption by the Primary.

Each of them ends a life for good, moves its file into an archive and hands the feature on, all in one
transaction. None happens on a clock alone: two independent signals, or a person's word.
"""

from __future__ import annotations

import os

from holdfast.fleet import backups, transfer
from holdfast.fleet.agents import (
    Told,
    age_of,
    begin,
    missing_files,
    new_life,
    surroundings,
    whereabouts,
)
from holdfast.fleet.roster import judge
from holdfast.fleet.rules import handoff
from holdfast.fleet.rules.liveness import instant_of, is_minimal_work
from holdfast.fleet.rules.model import PRIMARY
from holdfast.fleet.rules.names import archive_path, check_agent, check_feature
from holdfast.fleet.rules.verdict import may_replace
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, Usage
from holdfast.kernel.writer import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from holdfast.fleet.context import Known, Post
    from holdfast.fleet.rules.model import Life


class Parting:
    """A life that is to be ended: what it left behind, and where its file goes."""

    def __init__(
        self, known: Known, how: str, by: str, kind: Literal["crashed", "aborted"]
    ) -> None:
        self.known = known
        self.saved: dict[str, Any] = known.state["checkpoint"] or {}
        self.feature = str(self.saved.get("feature", ""))
        self.archive = _free_archive(known, kind)
        # Asked now: afterwards the agent may live here.
        self.was_here = known.is_here
        self.state = known.state
        self.command = {
            "do": "end",
            "how": how,
            "by": by,
            "archive": self.archive,
            "seen": self.saved.get("last_checkpoint"),
            "readme": surroundings(known, self.feature)["readme"],
        }

    def finish(self, told: Told) -> list[str]:
        """What is said of the life that ended. One of another machine leaves its archive here too."""
        if self.was_here:
            return [f"Archived: {self.archive}"]
        problem = transfer.archive_here(told.agent.epic, self.saved, self.archive)
        told.warnings += [problem] if problem else []
        return [f"Archived: {self.archive}", *transfer.lines_of(self.state)]

    def ownership(self, command: Any) -> Order:
        """What becomes of the feature, in the same transaction."""
        return Order(self.known.epic.stream("feature", check_feature(self.feature)), command)

    def beginning(self, agent: str, life: Life) -> dict[str, Any]:
        """The start of the life that follows."""
        return {
            "do": "start",
            "agent": agent,
            "feature": self.feature,
            "life": life,
            **whereabouts(self.known),
            **surroundings(self.known, self.feature),
        }


def takeover(post: Post, old: str, new: str, *, yes: bool = False) -> Told:
    """Scenario 2: another agent goes on where the first one stopped; FLEET-66 to FLEET-72."""
    check_agent(new)
    gone = _known(post, old)
    if not yes:
        _refuse_unless_dead(gone)
    parting = Parting(gone, "taken_over", new, "crashed")
    notes, life = gone.state["file_notes"], new_life(post)
    beginning = {**parting.beginning(new, life), "from": parting.saved, "file_notes": notes}
    claim = _claim(new, old, life["session"], "reassign")
    if new == old:
        told = Told(gone)
        command = {**parting.command, "then": beginning}
        begin(told, command, life, [parting.ownership(claim)])
    else:
        taker = post.agent(new)
        taker.epic = post.epic
        told = Told(taker)
        ending = Order(gone.stream, parting.command, grant=True, writer=gone.writer)
        beginning |= {**whereabouts(taker), **surroundings(taker, parting.feature)}
        begin(told, beginning, life, [ending, parting.ownership(claim)])
    age = age_of(parting.saved, post.now)
    place = transfer.place_of(parting.state)
    if place is not None and (not parting.was_here or place[0] != post.worktree.root):
        told.left = place
    told.lines = [
        *handoff.resume_lines(parting.saved, missing_files(gone, parting.saved)),
        *parting.finish(told),
        "",
        handoff.resume_message(parting.saved, notes, post.now, age),
    ]
    return told


def restart(post: Post, agent: str, *, feature: str = "", yes: bool = False) -> Told:
    """Scenario 3: from scratch, the last resort; FLEET-73 to FLEET-76."""
    known = post.agent(agent)
    is_broken = known.read()[1] is None
    if not is_broken:
        known.look()
        if known.state["checkpoint"] is None:
            raise known.unknown()
    if not yes and not is_broken:
        _refuse_much_work(known)
        if not known.is_own():
            _refuse_unless_dead(known)
    parting = Parting(known, "restarted", agent, "aborted")
    parting.feature = check_feature(feature or parting.feature)
    life = new_life(post)
    command = {**parting.command, "then": parting.beginning(agent, life)}
    claim = _claim(agent, agent, life["session"], "restart")
    told = Told(known)
    begin(told, command, life, [parting.ownership(claim)])
    told.lines = [
        *parting.finish(told),
        f"Session ID: {life['session']}",
        "Initial checkpoint created",
    ]
    return told


def defer(post: Post, agent: str, *, yes: bool = False) -> Told:
    """The feature waits for Wave 2; FLEET-49."""
    known = _known(post, agent)
    if not yes:
        _refuse_unless_dead(known)
    parting = Parting(known, "deferred", "", "crashed")
    release = {"do": "release", "agent": agent, "decision": "defer_wave_2", "wave": 2}
    told = _end(parting, parting.ownership(release))
    told.lines.append(f"{parting.feature} is deferred to Wave 2")
    return told


def absorb(post: Post, agent: str, *, yes: bool = False) -> Told:
    """The Primary takes the feature itself, once its own is done; AMB-FLEET-15."""
    if agent == PRIMARY:
        raise Usage(f"{PRIMARY} has its feature already.", hint="Name the agent that is gone.")
    known = _known(post, agent)
    if not yes:
        _refuse_unless_dead(known)
    parting = Parting(known, "absorbed", PRIMARY, "crashed")
    claim = _claim(PRIMARY, agent, "", "primary_absorbs")
    told = _end(parting, parting.ownership(claim))
    primary = post.agent(PRIMARY)
    if primary.state["checkpoint"] is not None:
        step = f"Resume {parting.feature} from {parting.archive}"
        steps = [*primary.state["checkpoint"].get("next_steps", []), step]
        primary.execute({"do": "beat", "set": {"next_steps": steps}})
    told.lines += [
        f"{PRIMARY} takes {parting.feature}: finish your own feature first, then go on from",
        f"Stage: {parting.saved.get('stage')}",
        f"Step: {parting.saved.get('current_step')}",
        f"Instructions: {parting.saved.get('recovery_instructions')}",
    ]
    return told


def _known(post: Post, agent: str) -> Known:
    known = post.agent(agent)
    known.look()
    saved = known.state["checkpoint"]
    if saved is None:
        raise known.unknown()
    if saved.get("status") == "COMPLETE":
        raise HoldfastError(
            f"{agent} is complete: there is nothing to go on with.",
            hint=f"From scratch: holdfast agent restart {agent} --yes",
            kind="agent_complete",
        )
    return known


def _claim(agent: str, before: str, session: str, decision: str) -> dict[str, str]:
    return {
        "do": "claim",
        "agent": agent,
        "from": before,
        "session": session,
        "decision": decision,
    }


def _end(parting: Parting, *others: Order) -> Told:
    """End a life that no other follows; its fence is taken from it."""
    known = parting.known
    ending = Order(known.stream, parting.command, grant=True)
    outcomes = known.writer.execute_together(
        [ending, *others], actor=known.post.actor, now=known.post.now
    )
    told = Told(known)
    told.has_news = True
    told.take(outcomes[0])
    told.lines = parting.finish(told)
    known.reload()
    return told


def _free_archive(known: Known, kind: Literal["crashed", "aborted"]) -> str:
    """The archive's name; the next second when somebody else has this one."""
    now = known.post.now
    while os.path.lexists(known.epic.file(archive_path(known.id, kind, now))):
        now += 1000
    return archive_path(known.id, kind, now)


def _refuse_unless_dead(known: Known) -> None:
    seen_at = known.head["seen_at"] if known.head else ""
    found = judge(known.state, known.post.now, seen_at, sight=known.post.sight)
    if not may_replace(found):
        dead = ", ".join(found["dead_signals"]) or "nothing"
        alive = found["life_signals"]
        signs = f" Signs of life: {', '.join(alive)}." if alive else ""
        raise HoldfastError(
            f"{known.id} is not known to be dead. What says so: {dead}.{signs}",
            hint="It takes two independent signals, or your word: --yes",
            kind="not_known_dead",
        )


def _refuse_much_work(known: Known) -> None:
    """FLEET-73"""
    last = instant_of((known.state["checkpoint"] or {}).get("last_checkpoint"))
    if last is None:
        return
    began = backups.work_began(known.epic, known.id, last)
    if not is_minimal_work(began, last):
        raise HoldfastError(
            f"{known.id} has worked for {(last - began) // clock.MINUTE} minutes; "
            "a restart would throw that away.",
            hint="Resume or take over instead; or say that you mean it: --yes",
            kind="much_work",
        )
