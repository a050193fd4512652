"""The updates of a living agent: heartbeats, blockers, stages, sync points, completion."""

from __future__ import annotations

from holdfast.fleet.rules import checkpoint as file
from holdfast.fleet.rules.model import (
    BACKUPS_KEPT,
    COMPLETE_PHASE,
    PHASES,
    STAGES,
    STALE_AFTER,
    SYNC_POINTS,
    TASKS,
)
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage
from holdfast.kernel.text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from holdfast.fleet.rules.model import AgentState

# The updates that change the agent's section of EPIC_README.md; a heartbeat does not.
TOLD = ("start", "resume", "phase", "block", "unblock", "complete")
# The fields of a heartbeat that belong to the life, not to the checkpoint.
_OF_LIFE = ("process", "transcript", "busy_until", "doing", "awaits")


def body_of(state: AgentState, command: Any, now: int) -> dict[str, Any]:
    """The record of an update: the fields that changed, and its time."""
    before: dict[str, Any] = state["checkpoint"] or {}
    session = state["life"]["session"] if state["life"] else str(before.get("session_id", ""))
    if not before.get("feature"):
        raise Usage(
            f"The feature of {state['agent']} is not known any more.",
            hint=f"Say it: holdfast agent resume {quote(state['agent'])} --feature NAME",
        )
    after = file.heal(before, state["agent"], session, now)
    after.update(session_id=session, **command.get("set", {}))
    for name in ("completed_steps", "files_modified"):
        after[name] = add_new(after.get(name), command.get(name, []))
    clean = command.get("unchanged_files", [])
    after["files_modified"] = [name for name in after["files_modified"] if name not in clean]
    if command.get("committed"):
        after["files_modified"] = list(command.get("files_modified", []))
    body: dict[str, Any] = _CHANGES[command["do"]](state, after, command, now)
    after.update(file.times(now))
    _refuse_step_back(before, after)
    _coordinate(state, before, after, body, command, now)
    file.refuse_invalid(after)
    body["set"] = {name: value for name, value in after.items() if value != before.get(name)}
    body["life"] = {name: command[name] for name in _OF_LIFE if name in command}
    if command.get("backup"):
        body["backup"] = command["backup"]
    notes = command.get("file_notes")
    if notes:
        body["file_notes"] = notes
    return body


def add_backup(known: Sequence[str], name: str) -> list[str]:
    """The last backups in the order of writing, twice as many as are kept: of one that could not be removed
    it stays known that it is old."""
    others = [each for each in known if each != name]
    return [*others, *([name] if name else [])][-2 * BACKUPS_KEPT :]


def was_stale(state: AgentState, now: int) -> bool:
    """Whether an agent comes back after a silence that was, or could have been, reported."""
    try:
        last = clock.parse(str((state["checkpoint"] or {}).get("last_checkpoint")))
    except ValueError:
        return False
    return (now - last) // clock.MINUTE > STALE_AFTER


def add_new(known: Any, more: list[str]) -> list[str]:
    """A list that only grows, each entry once; FLEET-17, AMB-FLEET-14."""
    present = list(known) if isinstance(known, list) else []
    return [*present, *(each for each in dict.fromkeys(more) if each not in present)]


def _refuse_step_back(before: dict[str, Any], after: dict[str, Any]) -> None:
    """AMB-FLEET-23"""
    known = before.get("stage") in STAGES and after["stage"] in STAGES
    if known and STAGES.index(after["stage"]) < STAGES.index(before["stage"]):
        raise Usage(
            f"The stage is {before['stage']} and cannot go back to {after['stage']}.",
            hint="Only a restart begins again at S2.P1: holdfast agent restart AGENT",
            kind="stage_backwards",
        )


def _coordinate(
    state: AgentState,
    before: dict[str, Any],
    after: dict[str, Any],
    body: dict[str, Any],
    command: Any,
    now: int,
) -> None:
    """Update the coordination state; each time moves only when its action happened. FLEET-37"""
    known = after.get("coordination_state")
    coordination = dict(known) if isinstance(known, dict) else {}
    at = clock.stamp(now)
    for name in ("last_inbox_check", "last_epic_readme_update", "last_status_update"):
        coordination.setdefault(name, at)
    coordination.setdefault("unread_messages", 0)
    if "unread" in command:
        coordination["last_inbox_check"] = at
        coordination["unread_messages"] = command["unread"]
    if state["has_status_file"]:
        ready = body.get("ready_for_sync", state["ready_for_sync"])
        shown = file.status_gist(before, state["ready_for_sync"])
        if file.status_gist(after, ready) != shown:
            coordination["last_status_update"] = at
    after["coordination_state"] = coordination


def _recovery_at(checkpoint: dict[str, Any]) -> str:
    """Return the instructions of an agent that states none, once it has begun."""
    return f"Resume from {checkpoint.get('stage')}: {checkpoint.get('current_step')}"


def _beat(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    if after["status"] == "COMPLETE" != (state["checkpoint"] or {}).get("status"):
        raise Usage(
            "A heartbeat does not complete a feature.",
            hint=f"holdfast agent complete {quote(state['agent'])}",
        )
    before: dict[str, Any] = state["checkpoint"] or {}
    is_unstated = after["recovery_instructions"] in (file.FIRST_RECOVERY, _recovery_at(before))
    if is_unstated and after["current_step"] != before.get("current_step"):
        after["recovery_instructions"] = _recovery_at(after)
    return {}


def _block(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    """FLEET-22"""
    if not command["blocker"].strip():
        raise Usage("A blocker needs a text.", hint="Say what keeps the agent from working.")
    after["status"] = "BLOCKED"
    after["blockers"] = add_new(after.get("blockers"), [command["blocker"]])
    return {}


def _unblock(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    resolved = command.get("blocker")
    left = [each for each in after.get("blockers", []) if resolved and each != resolved]
    if resolved and resolved not in after.get("blockers", []):
        raise Usage(
            f"There is no blocker {resolved!r}.",
            hint="Without a text, all blockers are resolved.",
            kind="no_such_blocker",
        )
    after["blockers"] = left
    if not left and after.get("status") == "BLOCKED":
        after["status"] = "IN_PROGRESS"
    return {}


def _phase(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    """The last checkpoint of a phase carries the next stage already; FLEET-21, FLEET-85."""
    stage = command["stage"]
    before = after.get("stage")
    if stage not in STAGES[1:]:
        raise Usage(f"There is no transition to {stage}.", hint="To S2.P2 or S2.P3.")
    if before == stage:
        return {}
    after["stage"] = stage
    after["phase"] = PHASES[stage]
    after["completed_steps"] = add_new(after["completed_steps"], [f"{before} complete"])
    after["next_steps"] = command.get("next_steps") or list(TASKS[stage])
    after["recovery_instructions"] = f"Resume from beginning of {stage}"
    after["current_step"] = command.get("step") or f"Reading {stage} guide"
    return {}


def _complete(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    after.update(
        stage="S2.P3",
        phase=COMPLETE_PHASE,
        status="COMPLETE",
        current_step="Complete",
        recovery_instructions="S2 is complete. Nothing is left to resume.",
        can_resume=False,
        blockers=[],
        next_steps=[],
        completed_steps=add_new(after["completed_steps"], ["S2.P3 complete"]),
    )
    return {"ready_for_sync": True}


def _arrive(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    """Before a sync point; FLEET-23."""
    point = command["point"]
    if point not in SYNC_POINTS:
        raise Usage(f"There is no sync point {point}.", hint=f"One of {', '.join(SYNC_POINTS)}.")
    arrival = state["sync"]
    if arrival is None or arrival["point"] != point:
        arrival = {"point": point, "at": clock.stamp(now)}
    if after.get("status") != "COMPLETE":
        after["status"] = "WAITING"
    return {"sync": arrival, "ready_for_sync": True}


def _leave(state: AgentState, after: dict[str, Any], command: Any, now: int) -> dict[str, Any]:
    """After a sync point."""
    if state["sync"] is None:
        raise Usage(f"{state['agent']} waits at no sync point.", kind="no_sync")
    if after.get("status") == "WAITING":
        after["status"] = "IN_PROGRESS"
    step = f"Sync {state['sync']['point']} complete"
    after["completed_steps"] = add_new(after["completed_steps"], [step])
    return {"sync": None, "ready_for_sync": False}


_CHANGES = {
    "beat": _beat,
    "block": _block,
    "unblock": _unblock,
    "phase": _phase,
    "complete": _complete,
    "arrive": _arrive,
    "leave": _leave,
}
KINDS = tuple(_CHANGES)


def apply(state: AgentState, kind: str, body: Any) -> AgentState:
    """The state after an update; a record of another kind changes nothing."""
    if kind not in _CHANGES:
        return state
    checkpoint = {**(state["checkpoint"] or {}), **body["set"]}
    updated: AgentState = {**state, "checkpoint": checkpoint, "text": ""}
    if body["life"] and state["life"] is not None:
        updated["life"] = {**state["life"], **body["life"]}
    if "backup" in body:
        updated["backups"] = add_backup(state.get("backups", []), body["backup"])
    if "file_notes" in body:
        updated["file_notes"] = {**state["file_notes"], **body["file_notes"]}
    if "sync" in body:
        updated["sync"] = body["sync"]
    if "ready_for_sync" in body:
        updated["ready_for_sync"] = body["ready_for_sync"]
    return updated
