"""CCC: capture a session in four fail-forward steps, and hand it over with a prompt.

The rules of the `session:<id>` streams. What a step does outside (git, the tracker, the terminal) is
composed in `holdfast.session.checkpoint`; here is what a session knows and how that changes.
"""

from __future__ import annotations

from holdfast.kernel import clock, conflicts
from holdfast.kernel.errors import Conflict, Usage
from holdfast.kernel.rules import Decision, Unparsable
from holdfast.session.rules import progress as progress_file
from holdfast.session.rules.fields import LINE, STORED, one_line, read_lines
from holdfast.session.rules.handover import progress_of
from holdfast.session.rules.model import PROGRESS_FILE, clip_handover, empty_progress
from holdfast.session.rules.prompt import (
    compose,
    files_in,
    is_composed,
    is_planned,
    lines_by_hand,
    next_action_of,
    planned_action,
    position_in,
    position_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.journal.interface import Event
    from holdfast.kernel.views.reconcile import Change
    from holdfast.session.rules.model import (
        Blocker,
        Comment,
        Handover,
        Observed,
        Progress,
        SessionState,
        Stated,
    )

# The kind of effect that a capture asks for.
TRACKER = "tracker"
__all__ = ["TRACKER", "Unparsable", "absorb", "apply", "decide", "initial", "render", "stream_of"]
MOST_TASKS = 20_000
# Milliseconds: a client that fires twice does so at once.
SAME_MOMENT = 5_000
# Of the files that differ from HEAD, so many are named where no file was.
MOST_FILES = 5
MOST_HIDDEN = 200
# What says where a session stands; the work tree is looked at later.
_PLACE = ("worktree", "repository", "commit", "branch")
# How the blocker ends that a conflict of edits makes.
CHOICE = "choosing one of them"


def stream_of(session: str) -> str:
    return f"session:{session}"


def initial(stream: str) -> SessionState:
    return {
        "session": stream.partition(":")[2],
        "folder": "",
        "begun_at": "",
        "progress": empty_progress(),
        "last": None,
        "captures": 0,
        "fresh": [],
        "resumed": False,
        "resuming": False,
        "comment": None,
        "told": "",
        "ended_at": "",
        "adopts": "",
        "adopted_by": "",
        "observed": None,
        "stated": None,
        "hidden": [],
    }


def decide(state: SessionState, command: Any, now: int) -> Decision:
    """`capture`, `survey`, `observe`, `settle` (a conflict of edits), `answer` (to what a session was asked),
    `commented`, `ended`, `adopted` (by another session), `resumed`."""
    what = command["do"]
    if what in ("survey", "observe") and state["adopted_by"]:
        # Another session has its work and its file by now: what is seen late of this one stays away.
        return Decision()
    if what == "capture":
        return _capture_decision(state, command, now)
    if what == "survey":
        return Decision([("surveyed", {"world": command["world"]})])
    if what == "observe":
        return _observe(state, command, now)
    if what == "settle":
        return conflicts.decide(state, command)
    if what == "answer":
        text = clip_handover(command["text"])
        known = {name: command[name] for name in ("by", "calls", "cost")}
        return Decision([("answered", {"text": text, "at": clock.stamp(now), **known})])
    if what == "commented":
        return Decision([("commented", {"id": command["id"], "issue": command["issue"]})])
    if what == "ended":
        if state["ended_at"]:
            return Decision()
        return Decision([("ended", {"at": clock.stamp(now), "reason": command.get("reason", "")})])
    if what == "resumed":
        return Decision([("resumed", {"by": command["by"]})])
    if what == "adopted":
        if state["adopted_by"]:
            raise Conflict(
                f"Session {state['session']} was adopted by {state['adopted_by']} already.",
                hint="`holdfast resume --session ID` reads any session without adopting it.",
                kind="adopted",
            )
        return Decision([("adopted", {"by": command["by"]})])
    raise Usage(f"A session cannot {what!r}.")


def _observe(state: SessionState, command: Any, now: int) -> Decision:
    """What the client's transcript says by now, and the work tree if it was looked at."""
    known = _seen_before(state, command["client"], command.get("of", ""))
    change = _find_change(known, command["seen"])
    last = state["last"]
    world = command.get("world")
    if last is None or (world is not None and world == last["world"]):
        world = None
    if not change and world is None:
        return Decision()
    body: dict[str, Any] = {
        "at": clock.stamp(now),
        "client": command["client"],
        "path": command["path"],
        "change": change,
    }
    if command.get("of"):
        body["session"] = command["of"]
    if world is not None:
        body["world"] = world
    return Decision([("observed", body)])


def _capture_decision(state: SessionState, command: Any, now: int) -> Decision:
    """The checkpoint's record, and the status comment that it wants on the issue."""
    body = _capture(state, command, now)
    if not command.get("tracker") and _is_repeated(state, body, now):
        return Decision()
    if not command.get("tracker"):
        return Decision([("captured", body)])
    from holdfast.session.rules import comment

    event: Event = {"id": "", "kind": "captured", "body": body, "at": body["at"], "actor": ""}
    after = apply(state, event)
    gist = comment.gist(after)
    if command["tracker"] == "changed" and gist == state["told"]:
        return Decision([("captured", body)])
    body["told"] = gist
    issue = after["progress"]["issue"]
    wish = {"session": state["session"], "issue": issue, "body": comment.write(after)}
    return Decision([("captured", body)], [{"kind": TRACKER, "key": issue, "body": wish}])


def _is_repeated(state: SessionState, body: dict[str, Any], now: int) -> bool:
    """Whether the same event asked for the same capture a moment ago: clients fire twice."""
    last = state["last"]
    if last is None or state["ended_at"] or body["profile"] != "automated" or body["set"]:
        return False
    if body["claims"] or any(body[name] != last[name] for name in ("profile", "reason")):
        return False
    world: Any = last["world"]
    if any(body["world"][name] != world[name] for name in _PLACE):
        return False
    return 0 <= now - clock.parse(last["at"]) < SAME_MOMENT


def _capture(state: SessionState, command: Any, now: int) -> dict[str, Any]:
    """The record of a checkpoint: what changed, and what was true around it."""
    before = state["progress"]
    known = _take_up(before, command["begins"]) if command.get("begins") else before
    after = _merge(known, command["given"])
    after["prompt"] = _prompt(known, after, command)
    changed = {name: value for name, value in after.items() if value != before.get(name)}
    hidden, profile = _list_cleared(state, command["given"]), command["profile"]
    handover = clip_handover(command["given"].get("handover") or "")
    return {
        "set": changed,
        **({"handover": handover} if handover else {}),
        **({"shown": True} if command.get("shown") and profile == "automated" else {}),
        **({"hidden": hidden} if hidden else {}),
        "folder": command["folder"],
        "at": clock.stamp(now),
        "profile": profile,
        "reason": command["reason"],
        "adopts": command.get("adopts", ""),
        "world": command["world"],
        "claims": command["claims"],
        **({"inherits": command["inherits"]} if command.get("inherits") else {}),
        **({"resumed": True} if command.get("resumed") else {}),
    }


def _take_up(own: Progress, source: Progress) -> Progress:
    """The progress of the session before, below what a new session has of its own: a person may have edited the
    file before its first checkpoint."""
    taken: Any = {**own}
    for field in STORED:
        mine, theirs = taken[field.name], source[field.name]  # type: ignore[literal-required]
        if field.adds:
            taken[field.name] = [*(one for one in theirs if one not in mine), *mine]
        elif mine == field.begin():
            taken[field.name] = theirs
    result: Progress = taken
    return result


def _list_cleared(state: SessionState, given: Any) -> list[str]:
    """The commands that were seen to fail, where it is said that nothing blocks any more."""
    observed = state.get("observed")
    if given.get("blockers") != [] or observed is None:
        return []
    return [failure["text"] for failure in observed["seen"]["failures"]]


def _prompt(before: Progress, after: Progress, command: Any) -> str:
    """Return the prompt as it is now. What a person wrote in its place stays, a new next action above it; an
    empty one clears the last, and the lists of tasks say what is next."""
    kept, given = before["prompt"], command["given"].get("next")
    if kept and given is None and not is_composed(kept):
        return kept
    action = one_line(given or "")
    if given is None and not is_planned(next_action_of(kept), before):
        action = next_action_of(kept)
    tasks = ("completed", "current", "remaining")
    moved = any(before[name] != after[name] for name in tasks)  # type: ignore[literal-required]
    said = None if moved else position_in(kept)
    composed = compose(
        after["issue"],
        command.get("position") or said or position_of(after),
        command.get("files") or files_in(kept) or command["world"]["dirty_files"][:MOST_FILES],
        action or planned_action(after),
    )
    return "\n".join([composed, *(lines_by_hand(kept) if action else ())])


def _merge(before: Progress, given: Any) -> Progress:
    """What is not given is kept; completed tasks only grow."""
    after: Any = {**empty_progress(), **before}
    for field in STORED:
        if given.get(field.name) is not None:
            after[field.name] = field.merge(after[field.name], given[field.name])
    if given.get("done"):
        _finish(after, read_lines(given["done"]))
    if after["current"] != before["current"] and given.get("status") is None:
        after["status"] = ""  # it was the status of another task
    if given.get("remaining") is None:
        after["remaining"] = [task for task in after["remaining"] if task != after["current"]]
    tasks = len(after["completed"]) + len(after["remaining"])
    if tasks > MOST_TASKS:
        raise Usage(f"{tasks} tasks are more than the {MOST_TASKS} a session can hold.")
    result: Progress = after
    return result


def _finish(after: Any, done: list[str]) -> None:
    """Tasks that were finished: out of the others, into the completed."""
    known, finished = set(after["completed"]), set(done)
    after["completed"] = after["completed"] + [task for task in done if task not in known]
    after["remaining"] = [task for task in after["remaining"] if task not in finished]
    if after["current"] in finished:
        after["current"] = after["remaining"].pop(0) if after["remaining"] else ""
        after["status"] = ""


def apply(state: SessionState, event: Event) -> SessionState:
    kind, body = event["kind"], event["body"]
    if kind == "captured":
        return _apply_capture(state, event)
    if kind == "edited_outside":
        return {
            **state,
            "progress": {**state["progress"], **body["set"]},
            "stated": _make_statement(state, event["at"], event["actor"]),
            "hidden": _join_hidden(state, body),
            **conflicts.after(state, body),  # type: ignore[typeddict-item]
        }
    if kind == "settled":
        return _apply_settlement(state, body)
    if kind == "observed":
        return _apply_observation(state, body)
    if kind == "answered":
        answer: Any = {name: body[name] for name in ("text", "at", "by", "calls", "cost")}
        return {**state, "handover": answer}
    if kind == "surveyed" and state["last"] is not None:
        return {**state, "last": {**state["last"], "world": body["world"]}}
    if kind == "commented":
        comment: Comment = {"id": body["id"], "issue": body["issue"]}
        return {**state, "comment": comment, "owed": False}
    if kind == "ended":
        return {**state, "ended_at": body["at"]}
    if kind == "resumed":
        return {**state, "resumed": True, "ended_at": ""}
    if kind == "adopted":
        return {**state, "adopted_by": body["by"]}
    return state


def _join_hidden(state: SessionState, body: dict[str, Any]) -> list[str]:
    return [*(state.get("hidden") or []), *body.get("hidden", [])][-MOST_HIDDEN:]


def _apply_settlement(state: SessionState, body: dict[str, Any]) -> SessionState:
    """The state after a person chose: the conflict's blocker goes with it."""
    over = [one for one in state.get("conflicts") or [] if one["id"] in body["settled"]]
    gone = [_blocker_of(one) for one in over]
    progress = state["progress"]
    left = [one for one in progress["blockers"] if one not in gone]
    return {
        **state,
        "progress": {**progress, "blockers": left},
        **conflicts.after(state, body),  # type: ignore[typeddict-item]
    }


def _apply_observation(state: SessionState, body: dict[str, Any]) -> SessionState:
    base = _seen_before(state, body["client"], body.get("session", ""))
    observed: Observed = {
        "client": body["client"],
        "path": body["path"],
        "at": body["at"],
        "seen": _apply_change(base, body["change"]),
    }
    if "session" in body:
        observed["session"] = body["session"]
    after: SessionState = {**state, "observed": observed}
    if state["last"] is not None and "world" in body:
        after["last"] = {**state["last"], "world": body["world"]}
    return after


def _seen_before(state: SessionState, client: str, session: str) -> dict[str, Any]:
    """What was known of the same client's session, which `session` names if it is another one."""
    known = state.get("observed")
    if known is None or (known["client"], known.get("session", "")) != (client, session):
        return {}
    return known["seen"]


def _find_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What turns `before` into `after`. Tables are compared member by member, other values as one."""
    put: dict[str, Any] = {}
    members: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if old == value:
            continue
        if isinstance(value, dict) and isinstance(old, dict):
            members[name] = {
                "put": {key: one for key, one in value.items() if old.get(key) != one},
                "drop": [key for key in old if key not in value],
            }
        else:
            put[name] = value
    change: dict[str, Any] = {}
    if put:
        change["put"] = put
    if members:
        change["members"] = members
    return change


def _apply_change(before: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """`before` with a difference applied. Neither argument is modified."""
    after = {**before, **change.get("put", {})}
    for name, member in change.get("members", {}).items():
        dropped = set(member["drop"])
        old = before.get(name) or {}
        after[name] = {
            **{key: one for key, one in old.items() if key not in dropped},
            **member["put"],
        }
    return after


def _calls_seen(state: SessionState) -> int:
    observed = state.get("observed")
    return int(observed["seen"]["calls"]) if observed else 0


def _make_statement(state: SessionState, at: str, by: str) -> Stated:
    observed = state.get("observed")
    seen = observed["seen"] if observed else {"calls": 0, "edits": 0}
    return {"at": at, "by": by, "calls": seen["calls"], "edits": seen["edits"]}


def _apply_capture(state: SessionState, event: Event) -> SessionState:
    body = event["body"]
    is_statement = body["profile"] == "manual"
    # An automated capture keeps the claims of the statement before it.
    claims, stated = body["claims"], state.get("stated")
    if is_statement:
        stated = _make_statement(state, body["at"], event["actor"])
    elif state["last"] is not None:
        claims = claims or state["last"]["claims"]
    elif "inherits" in body:
        # The work of this session began after all that.
        inherited: Stated = body["inherits"]["stated"]
        stated = {**inherited, "calls": 0, "edits": 0}
        claims = claims or body["inherits"]["claims"]
    after: Progress = {**state["progress"], **body["set"]}
    known = state["progress"]["decisions"]
    # Decisions of a comment that has not arrived belong to the next one.
    owed = state["fresh"] if state.get("owed") else []
    fresh = [one for one in after["decisions"] if one not in known or one in owed]
    resumed = state["resumed"] or "resumed" in body
    if "shown" in body:
        state = {**state, "shown": True}
    if "handover" in body:
        said: Handover = {
            "text": body["handover"],
            "at": body["at"],
            "by": event["actor"],
            "calls": _calls_seen(state),
        }
        state = {**state, "handover": said}
    return {
        **state,
        "folder": body["folder"],
        "begun_at": state["begun_at"] or body["at"],
        "progress": after,
        "fresh": fresh,
        "owed": "told" in body or bool(state.get("owed")),
        # The first checkpoint after a resume says so, the next no more; AMB-CCC-20.
        "resuming": resumed or (bool(body["adopts"]) and state["captures"] == 0),
        "resumed": False,
        "adopts": body["adopts"] or state["adopts"],
        "told": body.get("told") or state["told"],
        "ended_at": "",
        "captures": state["captures"] + 1,
        "last": {
            "id": event["id"],
            "at": body["at"],
            "profile": body["profile"],
            "reason": body["reason"],
            "world": body["world"],
            "claims": claims,
        },
        "stated": stated,
        "hidden": _join_hidden(state, body),
    }


def absorb(
    state: SessionState, base: SessionState, change: Change, now: int
) -> list[tuple[str, Any]]:
    """A hand-edited progress file: what it says, field by field, where it differs from what it said."""
    if change["kind"] != "edited":
        return []
    read: Any = progress_file.parse(change["text"])
    # Read back, because not every value reads as it was written: `a — b` in a task's name does not.
    shown: Any = progress_file.parse(progress_file.write(progress_of(base), ""))
    present: Any = {**empty_progress(), **progress_of(state)}
    newer: Any = progress_file.parse(progress_file.write(present, ""))
    changed = {
        name: value
        for name, value in read.items()
        if value != shown[name] and value not in (present[name], newer[name])
    }
    settled = conflicts.settled_by(base, change["path"], changed)
    # What the session said since the editor read the file, and the editor changed, too.
    both = [name for name in changed if newer[name] != shown[name]]
    met = []
    for field in STORED:
        name = field.name
        if name not in both:
            continue
        if field.is_list:
            changed[name] = conflicts.merge_lists(shown[name], newer[name], read[name])
        elif field.kind == LINE or (name == "prompt" and _says_more(newer[name], shown[name])):
            theirs = changed.pop(name)
            edit = {"path": change["path"], "set": {name: theirs}}
            met.append(conflicts.find(change["path"], name, newer[name], theirs, edit))
        elif name == "extra":
            from holdfast.kernel.merge import merge_texts

            changed[name] = merge_texts(shown[name], newer[name], read[name])
    if "completed" in changed:
        listed = set(changed["completed"])
        known = [task for task in state["progress"]["completed"] if task not in listed]
        changed["completed"] = [*known, *changed["completed"]]
    fresh = [one for one in map(_blocker_of, met) if one not in present["blockers"]]
    if fresh:
        changed["blockers"] = [*changed.get("blockers", present["blockers"]), *fresh]
    # Who takes the blocker of a conflict out has chosen.
    gone = [one for one in shown["blockers"] if one not in read["blockers"]]
    chosen = [one["id"] for one in base.get("conflicts") or [] if _blocker_of(one) in gone]
    over = [*settled.get("settled", []), *chosen]
    if not changed and not over:
        return []
    body: dict[str, Any] = {"path": change["path"], "set": changed}
    body |= {"conflicts": met} if met else {}
    body |= {"settled": over} if over else {}
    hidden = [task for task in shown["remaining"] if task not in read["remaining"]]
    if hidden:
        body["hidden"] = hidden
    return [("edited_outside", body)]


def _says_more(prompt: str, before: str) -> bool:
    """Whether a prompt asks for something else than the one before it, and not only for another file or
    place: these are composed anew at each checkpoint."""
    return next_action_of(prompt) != next_action_of(before)


def _blocker_of(conflict: conflicts.EditConflict) -> Blocker:
    """Both changed one value: the file shows the session's, and the editor's as a blocker."""
    theirs, ours = one_line(conflict["theirs"]), one_line(conflict["ours"])
    what = f'{conflict["place"]} was edited by hand to "{theirs}"'
    return {"blocker": f'{what}, and the session said "{ours}" meanwhile', "until": CHOICE}


def render(state: SessionState) -> dict[str, str]:
    """The progress file. One that was taken over shows the session that took it over, and none shows a session
    that only hooks saw where the protocol is not in use."""
    if state["last"] is None or state["adopted_by"]:
        return {}
    if not state.get("stated") and not state.get("shown"):
        return {}
    path = f"{state['folder']}/{PROGRESS_FILE}" if state["folder"] else PROGRESS_FILE
    last = state["last"]
    return {path: progress_file.write(progress_of(state), last["at"], last["claims"])}
