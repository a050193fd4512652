"""The records of a session in the words of people. A checkpoint says what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.parts import Words
from holdfast.session.rules.fields import FIELDS
from holdfast.session.rules.progress import NO_STATUS
from holdfast.session.rules.prompt import is_stated, next_action_of

if TYPE_CHECKING:
    from holdfast.journal.interface import Record
    from holdfast.session.rules.model import Progress, SessionState

# Why an automated checkpoint was made.
_REASONS = {
    "session-split": "the session ended",
    "context-threshold": "before a compaction",
    "handoff": "the agent stopped",
}


def _tell_change(before: SessionState, body: dict[str, Any]) -> str:
    known = before["progress"]
    return _compare(known, body["set"]) or _tell_next_action(known, body) or _tell_commit(body)


def _compare(before: Progress, changed: dict[str, Any]) -> str:
    """Return what a checkpoint says for the first time, such as `Renderer: half done → done`."""
    task, status = before["current"], before["status"]
    parts = []
    for done in changed.get("completed") or []:
        if done not in before["completed"]:
            was = f"{status} → " if done == task and status else ""
            parts.append(f"{done}: {was}done")
    current = changed.get("current", task)
    if current and current != task:
        parts.append(f"{current}: {changed.get('status') or NO_STATUS}")
    elif current and changed.get("status"):
        was = f"{status} → " if status else ""
        parts.append(f"{current}: {was}{changed['status']}")
    for field in FIELDS:
        if field.in_history and changed.get(field.name):
            known: Any = before.get(field.name, field.begin())
            value = changed[field.name]
            new = [one for one in value if one not in known] if field.is_list else [value]
            parts += [f"{field.in_history}: {field.name_of(one)}" for one in new]
    if "blockers" in changed and not changed["blockers"]:
        parts.append("no longer blocked")
    if not parts and changed.get("remaining"):
        parts.append(f"left: {', '.join(changed['remaining'])}")
    return " · ".join(parts)


def _tell_next_action(before: Progress, body: dict[str, Any]) -> str:
    """Return the next action that a person or an agent stated, where it is another one. Automated checkpoints
    name one at every turn."""
    action = next_action_of(body["set"].get("prompt") or "")
    is_new = is_stated(action) and action != next_action_of(before["prompt"])
    return f"next: {action}" if is_new and body["profile"] != "automated" else ""


def _tell_commit(body: dict[str, Any]) -> str:
    """Return the commit at which a checkpoint was asked for that says nothing new of the work."""
    if body["profile"] == "automated" or body["reason"] != "handoff":
        return ""  # the reason says more
    commit = body["world"]["commit"]
    return f"no new task or next action{f', at commit {commit[:8]}' if commit else ''}"


def _tell_checkpoint(record: Record, body: dict[str, Any]) -> str:
    reason = body["reason"] or body["profile"]
    if body["profile"] == "automated":
        reason = _REASONS.get(reason, reason)
    done = body["set"].get("completed")
    parts = (reason, body["set"].get("current"), f"{len(done)} done" if done else "")
    return " · ".join(filter(None, parts))


def _tell_observation(record: Record, body: dict[str, Any]) -> str:
    """Return what was new in the transcript: a request, edited files, what fails, tasks, commits."""
    change = body["change"]
    put, members = change.get("put", {}), change.get("members", {})
    seen = {**put, **{name: one["put"] for name, one in members.items()}}
    parts = []
    if request := (put.get("request") or {}).get("text"):
        parts.append(f"asked: {' '.join(request.split())[:90]}")
    edited = [path for path, file in (seen.get("files") or {}).items() if file.get("edits")]
    if edited:
        more = f" and {len(edited) - 3} more" if len(edited) > 3 else ""
        parts.append(f"edited {', '.join(edited[:3])}{more}")
    if put.get("failures"):
        parts.append(f"failing: {', '.join(one['text'] for one in put['failures'][:2])}")
    if done := sum(one.get("state") == "done" for one in put.get("tasks") or []):
        parts.append(f"{done} of {len(put['tasks'])} tasks done")
    if put.get("commits"):
        parts.append(f"committed: {put['commits'][-1]['text']}")
    if not parts and "calls" in put:
        parts.append(f"{put['calls']} tool calls so far")
    return " · ".join(parts) or "the work tree changed"


WORDS = Words(
    unnamed=["session"],
    words={
        "captured": "checkpoint",
        "observed": "seen at work",
        "surveyed": "work tree looked at",
        "commented": "tracker updated",
        "answered": "asked after its end",
        "adopted": "taken over",
    },
    texts={
        "captured": _tell_checkpoint,
        "observed": _tell_observation,
        "adopted": lambda record, body: f"by session {body['by'][:12]}",
        "answered": lambda record, body: " ".join(body["text"].split())[:90],
    },
    compared={"captured": _tell_change},
)
