"""One session: its story, its progress, its checkpoints, and how to continue it elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.clients.table import title_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotFound
from holdfast.kernel.state import load
from holdfast.kernel.text import quote
from holdfast.kernel.workspace import Workspace
from holdfast.session import resume, sessions
from holdfast.session.rules import session as rules
from holdfast.session.rules.fields import UNKNOWN_ISSUE
from holdfast.web import figures
from holdfast.web.readers import SessionView, find_unrecorded
from holdfast.web.record_text import read_last, show_records
from holdfast.web.table import PageContext, list_beside

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.journal.interface import Record
    from holdfast.session.rules.model import SessionState


MOST_TASKS = 60
MOST_EVENTS, MOST_FILES = 60, 12
LONGEST_NAME = 120
LOOKED_BACK = 400


def gather(page: PageContext) -> dict[str, Any]:
    place = page.place
    workspace = place.workspace
    try:
        state = find(workspace, page.words["id"])
    except NotFound:
        found = find_unrecorded(workspace, sessions.check_id(page.words["id"]))
        if found is None:
            raise
        return _unrecorded(page, found)
    stream = rules.stream_of(state["session"])
    recent = read_last(workspace, stream, LOOKED_BACK)
    completed = state["progress"]["completed"]
    return {
        **_shared(page, state, page.meter.session(place.root, state["session"], recorded=True)),
        "recorded": True,
        "completed": completed[-MOST_TASKS:],
        "earlier": max(0, len(completed) - MOST_TASKS),
        "checkpoints": [_checkpoint(one) for one in recent if one["kind"] == "captured"][::-1][:40],
        "work": figures.draw_bars(_work(recent, state), page.now),
        "handoff": _handoff(workspace, state, page.now),
        "is_reading": False,
        "timeline": show_records(place, stream, page.number("before")),
    }


def _unrecorded(page: PageContext, found: FoundSession) -> dict[str, Any]:
    """The page of a session that the journal does not know: its story and its pack, from its transcript."""
    session = found["session"]
    view = page.meter.session(page.place.root, session, recorded=False)
    state: Any = {
        **rules.initial(rules.stream_of(session)),
        "observed": view.observed if view else None,
    }
    return {
        **_shared(page, state, view),
        "recorded": False,
        "found": {
            "client": found["client"],
            "path": found["path"],
            "cwd": found["cwd"],
            "at": clock.stamp(found["modified"]),
        },
        "client": title_of(found["client"]),
        "handoff": (view.handoff if view else None) or {"prompt": "", "pack": "", "problem": ""},
        "is_reading": view is None,
    }


def _shared(page: PageContext, state: SessionState, view: SessionView | None) -> dict[str, Any]:
    """What both pages show. There is no chart while the transcript is being read."""
    session = state["session"]
    return {
        "workspace": page.place.key,
        "session": state,
        "name": _name(state),
        "story": _story(state),
        "spent": page.meter.figures(page.place.root, session=session)._asdict(),
        "course": figures.draw_course(view.moments, view.messages) if view else None,
        "unread": view.problem if view else "",
        "next": f"holdfast resume --session {quote(session[:8])}",
        "beside": list_beside("session", workspace=page.place.key, id=session),
    }


def find(workspace: Workspace, id: str) -> SessionState:
    """A session by its id, or by a beginning of the id among the newest sessions."""
    sessions.check_id(id)
    if not workspace.exists():
        raise NotFound(f"There is no session {id}.", hint="Nothing was written here yet.")
    state: SessionState = load(workspace.journal, rules, rules.stream_of(id))[0]
    return state if state["last"] is not None else sessions.find_session(workspace, id)


def _name(state: SessionState) -> str:
    """What people would call this work: its title, its issue, or the request under way."""
    progress, observed = state["progress"], state.get("observed")
    issue = progress["issue"] if progress["issue"] != UNKNOWN_ISSUE else ""
    request = (observed["seen"].get("request") or {}).get("text", "") if observed else ""
    return progress["title"] or issue or request or f"Session {state['session'][:8]}"


def _story(state: SessionState) -> dict[str, Any] | None:
    """What was seen in the client's transcript: events in the order of the work, files by their edits,
    tasks. None for a session of which nothing was seen."""
    observed = state.get("observed")
    if not observed:
        return None
    seen = observed["seen"]
    asked = [*([seen["first"]] if seen.get("first") else []), *seen.get("earlier", [])]
    asked += [seen["request"]] if seen.get("request") else []
    events = [_event("asked", one, "wait") for one in asked]
    # A ruling that stands in a request that is shown needs no line of its own.
    shown = " ".join(" ".join(one["text"].split()) for one in asked)
    events += [
        _event("ruled", one)
        for one in seen.get("rulings", [])
        if " ".join(one["text"].split()) not in shown
    ]
    events += [
        _event("answered", {**one, "text": f"{one['about']}: {one['text']}"})
        for one in seen.get("answers", [])
    ]
    events += [_event("committed", one, "good") for one in seen.get("commits", [])]
    events += [
        {**_event("still fails", one, "bad"), "end": one["end"]} for one in seen.get("failures", [])
    ]
    events += [_event("said", one) for one in seen.get("said", [])[-1:]]
    # The same request may be the first and the last; the order of equal calls is that of the kinds.
    once = {(one["kind"], one["text"]): one for one in events}
    ordered = sorted(once.values(), key=lambda one: one["call"])
    edited = [(path, one["edits"]) for path, one in seen.get("files", {}).items() if one["edits"]]
    edited.sort(key=lambda pair: -pair[1])
    return {
        "client": observed["client"],
        "at": observed["at"],
        "calls": seen["calls"],
        "edits": seen["edits"],
        "compactions": seen.get("compactions", 0),
        "events": ordered[-MOST_EVENTS:],
        "files": [{"path": path, "edits": edits} for path, edits in edited[:MOST_FILES]],
        "more_files": max(0, len(edited) - MOST_FILES),
        "most_edits": edited[0][1] if edited else 0,
        "tasks": [{"text": one["text"], "state": one["state"]} for one in seen.get("tasks", [])],
    }


def _event(kind: str, one: Mapping[str, Any], tone: str = "") -> dict[str, Any]:
    return {
        "kind": kind,
        "text": one["text"],
        "call": one["call"],
        "at": one.get("at", ""),
        "end": "",
        "tone": tone,
    }


def _checkpoint(record: Record) -> dict[str, Any]:
    body = record["body"] or {}
    world = body.get("world") or {}
    claims = body.get("claims") or []
    return {
        "id": record["id"],
        "version": record["version"],
        "at": record["at"],
        "actor": record["actor"],
        "erased": record["erased"],
        "reason": body.get("reason") or body.get("profile") or "",
        "task": (body.get("set") or {}).get("current") or "",
        "changed": sorted(body.get("set") or {}),
        "commit": world.get("commit") or "",
        "branch": world.get("branch") or "",
        "dirty": len(world.get("dirty_files") or []),
        "claims": len(claims),
        "held": sum(bool(claim.get("ok")) for claim in claims),
    }


def _work(records: list[Record], state: SessionState) -> list[figures.WorkSpan]:
    """The time between checkpoints, by the current task."""
    captures = [one for one in records if one["kind"] == "captured" and one["body"] is not None]
    begun = state["begun_at"] or (captures[0]["at"] if captures else "")
    found: list[figures.WorkSpan] = []
    task = ""
    for record in captures[-24:]:
        task = record["body"]["set"].get("current", task)
        name = (task or "(no task named)")[:LONGEST_NAME]
        found.append(figures.WorkSpan(name, begun, record["at"], "good"))
        begun = record["at"]
    if captures and not state["ended_at"]:
        name = f"{task or 'work'}, since then"[:LONGEST_NAME]
        found.append(figures.WorkSpan(name, begun, "", "now"))
    return found


def _handoff(workspace: Workspace, state: SessionState, now: int) -> dict[str, str]:
    """The text for the next session. The page runs neither git nor probes for it."""
    try:
        found = resume.resume(workspace, {"session": state["session"], "look": False}, now=now)
    except NotFound:  # a pack is made of the newest sessions only
        return {"prompt": state["progress"]["prompt"], "pack": "", "problem": ""}
    except (HoldfastError, OSError) as error:
        return {"prompt": state["progress"]["prompt"], "pack": "", "problem": str(error)}
    return {"prompt": found["prompt"], "pack": found["pack"], "problem": ""}
