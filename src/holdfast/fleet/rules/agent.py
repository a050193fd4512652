"""The rules of the `agent:<epic>/<agent>` streams: one agent, its checkpoint file, and its lives.

The streams of features are in `feature`, those of messages in `comms`.
"""

from __future__ import annotations

from holdfast.fleet.rules import checkpoint as file
from holdfast.fleet.rules import updates
from holdfast.fleet.rules.model import FIELDS, agent_of, checkpoint_path, stem_of
from holdfast.kernel import clock, conflicts
from holdfast.kernel.clock import instant_of
from holdfast.kernel.errors import Conflict, HoldfastError, NotFound, Usage
from holdfast.kernel.rules import Decision
from holdfast.kernel.text import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.fleet.rules.model import AgentLife, AgentState, Ending
    from holdfast.journal.interface import Event
    from holdfast.kernel.rules import Wish
    from holdfast.kernel.views.reconcile import Change

# How many earlier lives are remembered, to recognise their late writes.
LIVES_REMEMBERED = 50
# How a life ended whose file a person or a script moved into an archive.
BY_HAND = "archived_by_hand"


def initial(stream: str) -> AgentState:
    folder, _, stem = stream.partition(":")[2].rpartition("/")
    return {
        "agent": agent_of(stem),
        "folder": folder,
        "worktree": "",
        "checkpoint": None,
        "text": "",
        "life": None,
        "past": [],
        "file_notes": {},
        "has_status_file": False,
        "ready_for_sync": False,
        "sync": None,
    }


def decide(state: AgentState, command: Any, now: int) -> Decision:
    """`adopt`, `start`, `resume`, `end`, `restore`, `coordinate`, `settle` (a conflict of edits), `pushed`,
    and the updates of a life: see `updates`."""
    what = command["do"]
    if what == "adopt":
        return _adopt(state, command)
    if what == "start":
        body = _begin_life(state, command, now)
        begun = {**state, "agent": body["agent"], "worktree": body["worktree"]}
        told = _readme_edits(begun, command, body["checkpoint"], now)  # type: ignore[arg-type]
        return Decision([("started", body)], told)
    if what == "resume":
        return _resume(state, command, now)
    if what == "end":
        return _end(state, command, now)
    if what == "restore":
        if state["checkpoint"] is None and state["past"]:
            raise over(state)
        return Decision([("restored_backup", _restore(state, command))])
    if what == "coordinate":
        return _coordinate(state, command)
    if what == "settle":
        return conflicts.decide(state, command)
    if what not in (*updates.KINDS, "pushed"):
        raise Usage(f"An agent cannot {what!r}.")
    if is_late(state, command.get("session", "")):
        # From a life that is over: recorded, without an effect.
        return Decision([("late", {"command": command})])
    if state["checkpoint"] is None:
        raise unknown(state, state["agent"])
    if what == "pushed":
        pushed, known = command["snapshot"], state.get("snapshot")
        is_known = known is not None and known["commit"] == pushed["commit"]
        return Decision([] if is_known else [(what, {"snapshot": pushed})])
    body = updates.body_of(state, command, now)
    checkpoint = {**state["checkpoint"], **body["set"]}
    return Decision([(what, body)], _readme_edits(state, command, checkpoint, now))


def _coordinate(state: AgentState, command: Any) -> Decision:
    """Set fields of the coordination state after something happened: EPIC_README.md was written, or the
    inbox was read. The times of the checkpoint itself stay, because the agent said nothing about its work."""
    known = (state["checkpoint"] or {}).get("coordination_state")
    if not isinstance(known, dict):
        return Decision()
    changed = {name: value for name, value in command["set"].items() if known.get(name) != value}
    return Decision([("coordinated", {"set": changed})] if changed else [])


def _readme_edits(
    state: AgentState, command: Any, checkpoint: dict[str, Any], now: int
) -> list[Wish]:
    """The edits of EPIC_README.md that follow, if the file exists; a heartbeat seldom has any."""
    if not command.get("readme"):
        return []
    from holdfast.fleet.rules import epic_readme

    if command["do"] == "end":
        return epic_readme.edits_of_ending(state, command)
    return epic_readme.edits_of_update(state, command, checkpoint, now)


def over(state: AgentState) -> Conflict:
    """The error for an agent whose last life ended."""
    last = state["past"][-1]
    by = f" by {last['by']}" if last["by"] and last["by"] != state["agent"] else ""
    archive = f" Its file is {last['archive']}." if last["archive"] else ""
    return Conflict(
        f"{state['agent']} was {last['how'].replace('_', ' ')}{by} at {last['at']}.{archive}",
        hint=f"A new life: holdfast agent start {quote(state['agent'])} --feature FEATURE",
        kind="agent_over",
    )


def unknown(state: AgentState, id: str) -> HoldfastError:
    """The error for an agent without a checkpoint."""
    if state["past"]:
        return over(state)
    begin = f"Begin with: holdfast agent start {quote(id)} --feature FEATURE"
    return NotFound(f"{id} has no checkpoint.", hint=begin)


def is_late(state: AgentState, session: str) -> bool:
    """Whether a session is not the present life."""
    return bool(session) and (state["life"] is None or state["life"]["session"] != session)


def is_over(state: AgentState, session: str) -> bool:
    """Whether a session is a life that ended."""
    return any(ending["session"] == session for ending in state["past"])


def _adopt(state: AgentState, command: Any) -> Decision:
    """Take in the file of an agent that wrote it without holdfast."""
    saved = file.parse(command["text"])
    if state["checkpoint"] is not None or is_over(state, str(saved.get("session_id", ""))):
        return Decision()
    body = {
        "path": _path(state),
        "set": saved,
        "unset": [],
        "text": command["text"],
        "worktree": command["worktree"],
        **_known_of(command, "machine"),
    }
    return Decision([("edited_outside", body)])


def refuse_at_work(state: AgentState, *, takes_over: bool) -> None:
    """Refuse a new life of an agent that has one."""
    present = state["checkpoint"]
    if present is not None and present.get("status") != "COMPLETE":
        life = state["life"]
        since = f" since {life['started_at']}" if life else ""
        raise Conflict(
            f"{state['agent']} is at work{since} on {present.get('feature')}.",
            hint="Choose an agent that is free, or a new id."
            if takes_over
            else f"The same agent again: holdfast agent resume {quote(state['agent'])}. "
            f"Another: holdfast agent takeover {quote(state['agent'])} --by NEW",
            kind="agent_at_work",
        )


def _begin_life(state: AgentState, command: Any, now: int) -> dict[str, Any]:
    """The record of a new life; refused while the agent has one."""
    refuse_at_work(state, takes_over="from" in command)
    present = state["checkpoint"]
    agent, session = command["agent"], command["life"]["session"]
    saved = command.get("from")
    if saved is None:
        checkpoint = file.create_first(agent, session, command["feature"], now)
    else:
        checkpoint = _continue(saved, agent, session, now)
    file.refuse_invalid(checkpoint)
    ended = [] if present is None else [_ending(state, "completed", agent, now)]
    return {
        "agent": agent,
        "worktree": command["worktree"],
        "checkpoint": checkpoint,
        "life": command["life"],
        "ended": ended,
        "file_notes": command.get("file_notes", {}),
        "has_status_file": command["has_status_file"],
        **_known_of(command, "machine", "origin"),
    }


def _known_of(command: Any, *names: str) -> dict[str, Any]:
    """Return what a command says of a life: nothing of `machine` when there is one only, of `origin` when the work
    stays where it is, of `backup` when there was no file."""
    return {name: command[name] for name in names if command.get(name)}


def _continue(saved: dict[str, Any], agent: str, session: str, now: int) -> dict[str, Any]:
    """The checkpoint of a new session that goes on: same feature, same stage. FLEET-64, FLEET-72"""
    taken = file.heal(saved, agent, session, now)
    taken.update(file.times(now))
    taken.update(session_id=session, status="IN_PROGRESS", can_resume=True)
    return taken


def refuse_resume(state: AgentState, feature: str) -> str:
    """Refuse to resume a life that cannot be; return its feature."""
    saved = state["checkpoint"]
    if saved is None:
        raise NotFound(f"{state['agent']} has no checkpoint to resume from.")
    if saved.get("can_resume") is False:
        raise Conflict(
            f"{state['agent']} cannot be resumed: its checkpoint says can_resume false "
            f"(status {saved.get('status')}).",
            hint=f"Begin again: holdfast agent restart {quote(state['agent'])}",
            kind="cannot_resume",
        )
    known = saved.get("feature") or feature
    if not known:
        raise Usage(f"The feature of {state['agent']} is not known.", hint="Say it: --feature NAME")
    return str(known)


def _resume(state: AgentState, command: Any, now: int) -> Decision:
    """The same agent in a fresh session: scenario 1, FLEET-64."""
    feature = refuse_resume(state, command["feature"])
    saved = state["checkpoint"] or {}
    session = command["life"]["session"]
    checkpoint = _continue({**saved, "feature": feature}, state["agent"], session, now)
    file.refuse_invalid(checkpoint)
    body = {
        "life": command["life"],
        "worktree": command["worktree"],
        "checkpoint": checkpoint,
        "has_status_file": command["has_status_file"],
        "ended": _ending(state, "resumed", state["agent"], now),
        **_known_of(command, "backup", "machine", "origin"),
    }
    return Decision([("resumed", body)], _readme_edits(state, command, checkpoint, now))


def _end(state: AgentState, command: Any, now: int) -> Decision:
    """End a life: its file becomes an archive. With `then`, the same id begins again at once."""
    seen = (state["checkpoint"] or {}).get("last_checkpoint")
    if seen != command["seen"]:
        raise Conflict(
            f"{state['agent']} has just updated its checkpoint ({seen}): it lives.",
            hint="Look again: holdfast agent list",
            kind="agent_lives",
        )
    ending = _ending(state, command["how"], command["by"], now, command["archive"])
    records: list[tuple[str, Any]] = [("ended", ending)]
    if "then" in command:
        over: AgentState = {**state, "checkpoint": None, "life": None}
        records.append(("started", _begin_life(over, command["then"], now)))
    moves = [(_path(state), _in_folder(state, command["archive"]))]
    return Decision(records, _readme_edits(state, command, {}, now), moves)


def _ending(state: AgentState, how: str, by: str, now: int, archive: str = "") -> Ending:
    session = str((state["checkpoint"] or {}).get("session_id", ""))
    at = clock.stamp(now)
    return {"how": how, "by": by, "at": at, "session": session, "archive": archive}


def _restore(state: AgentState, command: Any) -> dict[str, Any]:
    """The content of a backup for the present life. With `keep`, steps that are done stay done."""
    present = state["checkpoint"] or {}
    known = {name: present[name] for name in FIELDS if name in present}
    restored = {**known, **command["checkpoint"]}
    if state["life"] is not None:
        restored["session_id"] = state["life"]["session"]
    if command.get("keep"):
        for name in ("completed_steps", "files_modified"):
            restored[name] = updates.add_new(restored.get(name), present.get(name) or [])
    return {"checkpoint": restored, "backup": command["backup"]}


def apply(state: AgentState, event: Event) -> AgentState:
    kind, body = event["kind"], event["body"]
    if kind == "started":
        return {
            **initial(f"agent:{state['folder']}/{stem_of(body['agent'])}"),
            "agent": body["agent"],
            "worktree": body["worktree"],
            "checkpoint": body["checkpoint"],
            "life": body["life"],
            "past": [*state["past"], *body["ended"]][-LIVES_REMEMBERED:],
            "file_notes": body["file_notes"],
            "has_status_file": body["has_status_file"],
            "machine": body.get("machine"),
            "origin": body.get("origin"),
            "backups": state.get("backups", []),
        }
    if kind == "resumed":
        past = [*state["past"], body["ended"]][-LIVES_REMEMBERED:]
        return {
            **state,
            "worktree": body["worktree"],
            "life": body["life"],
            "checkpoint": body["checkpoint"],
            "text": "",
            "past": past,
            "has_status_file": body["has_status_file"],
            "sync": None,
            "machine": body.get("machine"),
            "origin": body.get("origin") or state.get("origin"),
            "backups": updates.add_backup(state.get("backups", []), body.get("backup", "")),
        }
    if kind == "ended":
        past = [*state["past"], body][-LIVES_REMEMBERED:]
        return {**state, "life": None, "checkpoint": None, "text": "", "past": past, "sync": None}
    if kind == "pushed":
        return {**state, "snapshot": body["snapshot"]}
    if kind == "coordinated" and state["checkpoint"] is not None:
        known = state["checkpoint"]["coordination_state"]
        saved = {**state["checkpoint"], "coordination_state": {**known, **body["set"]}}
        return {**state, "checkpoint": saved, "text": ""}
    if kind == "restored_backup":
        return {**state, "checkpoint": body["checkpoint"], "text": ""}
    if kind == "edited_outside":
        return _apply_edit(state, body)
    if kind == "settled":
        return {**state, **conflicts.after(state, body)}  # type: ignore[typeddict-item]
    return updates.apply(state, kind, body)


def _apply_edit(state: AgentState, body: Any) -> AgentState:
    checkpoint = _merge(state["checkpoint"] or {}, body["set"], body["unset"])
    life = state["life"]
    session = checkpoint.get("session_id")
    if isinstance(session, str) and (life is None or life["session"] != session):
        life = _life_from_outside(session, str(checkpoint.get("last_checkpoint", "")))
    elif life is not None and life.get("awaits"):
        life = {**life, "awaits": False}
    agent = checkpoint.get("agent_id")
    known = isinstance(agent, str) and stem_of(agent) == stem_of(state["agent"])
    return {
        **state,
        "agent": agent if known and isinstance(agent, str) else state["agent"],
        "worktree": state["worktree"] or body.get("worktree", ""),
        "machine": state.get("machine") if state["worktree"] else body.get("machine"),
        "checkpoint": checkpoint,
        "text": body.get("text", "") if body["path"] == _path(state) else state["text"],
        "life": life,
        "ready_for_sync": body.get("ready_for_sync", state["ready_for_sync"]),
        **conflicts.after(state, body),  # type: ignore[typeddict-item]
    }


def _life_from_outside(session: str, at: str) -> AgentLife:
    """The life of an agent that writes its own file: only the file tells about it."""
    return {
        "session": session,
        "started_at": at,
        "worktree": "",
        "process": None,
        "transcript": "",
        "busy_until": "",
        "doing": "",
    }


def absorb(state: AgentState, base: AgentState, change: Change, now: int) -> list[tuple[str, Any]]:
    """The records for a file that the agent itself or a person wrote. The file of a life that is over is
    recorded, without an effect."""
    if change["kind"] != "edited":
        return []
    if change["path"] != _path(state):
        return _status_edits(state, base, change)
    theirs = file.parse(change["text"])
    session = theirs.get("session_id")
    if isinstance(session, str) and is_over(state, session):
        return [("late", {"session": session, "text": change["text"]})]
    seen, ours = base["checkpoint"] or {}, state["checkpoint"] or {}
    if _is_earlier_copy(theirs, seen, ours):
        return [("late", {"session": session, "text": change["text"], "earlier": True})]
    done = ours.get("completed_steps")
    if done and isinstance(theirs.get("completed_steps", []), list):
        # Steps stay done: a script may write back a list that it read earlier.
        theirs = {**theirs, "completed_steps": updates.add_new(theirs.get("completed_steps"), done)}
    changed = {
        name: value
        for name, value in theirs.items()
        if value != seen.get(name) and value != ours.get(name)
        if name not in ours or file.is_plausible(name, value)
    }
    # A missing field of the protocol was forgotten; a missing field of others was removed.
    gone = [name for name in seen if name not in theirs and name in ours]
    gone = [name for name in gone if name not in FIELDS]
    body = _three_way(change["path"], seen, ours, changed, gone)
    changed, gone = body["set"], body["unset"]
    if not changed and not gone and "conflicts" not in body:
        return []
    body |= conflicts.settled_by(base, change["path"], (*changed, *gone))
    if _merge(ours, changed, gone) == file.parse(change["text"]):
        body["text"] = change["text"]
    return [("edited_outside", body)]


def _three_way(
    path: str, seen: dict[str, Any], ours: dict[str, Any], changed: dict[str, Any], gone: list[str]
) -> dict[str, Any]:
    """The body of an edit's record. Fields that the agent changed, too, since the editor read the file are
    merged, if they are lists or times, and are conflicts otherwise. A file that we never wrote shows
    nothing of what its author has seen: all of it counts."""
    counts: dict[str, Any] = {}
    met: list[conflicts.EditConflict] = []
    for name in (*changed, *gone):
        before, present = seen.get(name), ours.get(name)
        theirs = changed.get(name, conflicts.MISSING)
        if not seen or present == before:
            counts[name] = theirs
        elif all(isinstance(each, list) for each in (before, present, theirs)):
            counts[name] = conflicts.merge_lists(before, present, theirs)  # type: ignore[arg-type]
        elif name in file.TIMES:
            counts[name] = max(str(present), str(theirs))
        elif name == "coordination_state":
            continue  # counted and stamped by holdfast at each update
        else:
            edit = {"path": path, "set": {name: theirs}, "unset": []}
            if theirs is conflicts.MISSING:
                edit = {"path": path, "set": {}, "unset": [name]}
            met.append(conflicts.find(path, name, present, theirs, edit))
    body: dict[str, Any] = {
        "path": path,
        "set": {name: value for name, value in counts.items() if name in changed},
        "unset": [name for name in gone if name in counts],
    }
    return {**body, "conflicts": met} if met else body


def _is_earlier_copy(theirs: dict[str, Any], seen: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether a file is an older version, as git checks it out: its time is older than the file's before
    it, and all its steps are known."""
    earlier, shown, present = (
        instant_of(each.get("last_checkpoint")) for each in (theirs, seen, ours)
    )
    if earlier is None or present is None or theirs.get("session_id") != ours.get("session_id"):
        return False
    done, known = theirs.get("completed_steps"), ours.get("completed_steps") or []
    is_subset = isinstance(done, list) and all(step in known for step in done)
    return earlier != shown and earlier < present and is_subset


def _merge(ours: dict[str, Any], changed: dict[str, Any], gone: list[str]) -> dict[str, Any]:
    return {name: value for name, value in {**ours, **changed}.items() if name not in gone}


def _status_edits(state: AgentState, base: AgentState, change: Change) -> list[tuple[str, Any]]:
    """The records for an edit of the feature's STATUS file; a file from before the agent is recorded."""
    if state["checkpoint"] is None:
        return [("found_status", {"path": change["path"], "said": change["text"]})]
    said = file.parse_status(change["text"])
    seen, ours = base["checkpoint"] or {}, state["checkpoint"] or {}
    changed = {}
    if said.get("STATUS") and said["STATUS"] not in (ours.get("status"), seen.get("status")):
        changed["status"] = said["STATUS"]
    body = _three_way(change["path"], seen, ours, changed, [])
    body |= conflicts.settled_by(base, change["path"], changed)
    ready = said.get("READY_FOR_SYNC", "").lower() == "true"
    if seen and ready == base["ready_for_sync"]:
        ready = state["ready_for_sync"]
    return [("edited_outside", {**body, "said": change["text"], "ready_for_sync": ready})]


def _path(state: AgentState) -> str:
    return _in_folder(state, checkpoint_path(state["agent"]))


def _in_folder(state: AgentState, path: str) -> str:
    return f"{state['folder']}/{path}" if state["folder"] else path


def render(state: AgentState) -> dict[str, str]:
    saved = state["checkpoint"]
    if saved is None:
        return {}
    views = {_path(state): state["text"] or file.write(saved)}
    if state["has_status_file"]:
        path = _in_folder(state, f"{saved.get('feature')}/STATUS")
        views[path] = file.render_status(saved, state["ready_for_sync"])
    return views
