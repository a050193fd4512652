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
from holdfast.session.rules.handover import title_of as describe
from holdfast.web import figures
from holdfast.web.readers import SessionView, find_unrecorded
from holdfast.web.record_text import read_last, show_records
from holdfast.web.table import PageContext, find_sections

if TYPE_CHECKING:
    from holdfast.clients.discovery import FoundSession
    from holdfast.journal.interface import Record
    from holdfast.session.rules.model import SessionState


MOST_TASKS = 60
MOST_EVENTS, MOST_FILES = 60, 12
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
    seen = state["observed"]["seen"] if state["observed"] else {}
    request = (seen.get("request") or {}).get("text", "")
    return {
        **_shared(page, state, view, request),
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


def _shared(
    page: PageContext, state: SessionState, view: SessionView | None, title: str = ""
) -> dict[str, Any]:
    """What both pages show. There is no chart while the transcript is being read."""
    session = state["session"]
    return {
        "workspace": page.place.key,
        "session": state,
        "name": title or describe(state) or f"Session {session[:8]}",
        "story": _story(state),
        "spent": page.meter.figures(page.place.root, session=session)._asdict(),
        "course": figures.draw_course(view.moments, view.messages) if view else None,
        "unread": view.problem if view else "",
        "next": f"holdfast resume --session {quote(session[:8])}",
        "sections": find_sections("session", page),
    }


def find(workspace: Workspace, id: str) -> SessionState:
    """A session by its id, or by a beginning of the id among the newest sessions."""
    sessions.check_id(id)
    if not workspace.exists():
        raise NotFound(f"There is no session {id}.", hint="Nothing was written here yet.")
    state: SessionState = load(workspace.journal, rules, rules.stream_of(id))[0]
    return state if state["last"] is not None else sessions.find_session(workspace, id)


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


def _handoff(workspace: Workspace, state: SessionState, now: int) -> dict[str, str]:
    """The text for the next session. The page runs neither git nor probes for it."""
    try:
        found = resume.resume(workspace, {"session": state["session"], "look": False}, now=now)
    except NotFound:  # a pack is made of the newest sessions only
        return {"prompt": state["progress"]["prompt"], "pack": "", "problem": ""}
    except (HoldfastError, OSError) as error:
        return {"prompt": state["progress"]["prompt"], "pack": "", "problem": str(error)}
    return {"prompt": found["prompt"], "pack": found["pack"], "problem": ""}
